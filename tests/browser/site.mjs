// Opens a site of `tiler convert --viewer` from a disk. Arguments: { browser, page, whole }, its URL and the expected colours
// as `[x, y, colour]` in a 4×4 grid. Reports the colours and the messages in the browser's console.

import { PATIENCE_MS } from "../../edge/tests/patience.mjs";
import { run } from "./chromium.mjs";
import { look } from "./colours.mjs";

await run(async (browser, { page: url, whole }) => {
  const page = await (await browser.newContext({ viewport: { width: 900, height: 700 } })).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(url);
  return { seen: await look(page, whole, () => true, () => complaints.length > 0), complaints };
});
