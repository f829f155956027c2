// Visits pages that echo text of a hostile source. Reports for each page what a script of the source could have done,
// and the text that a reader sees. Arguments: { browser, pages }.

import { run } from "./chromium.mjs";

await run(async (browser, { pages }) => {
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  const seen = [];
  for (const url of pages) {
    const page = await context.newPage();
    const complaints = [];
    let dialogs = 0;
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      dialogs += 1;
      void dialog.dismiss();
    });
    await page.goto(url);
    await page.locator("canvas").first().waitFor();
    const inside = await page.evaluate(() => ({
      title: document.title,
      ran: "hostile" in window,
      elements: document.querySelectorAll("marquee, [onerror], script:not([src]):not([type$=json])").length,
      texts: document.documentElement.innerText,
    }));
    seen.push({ ...inside, dialogs, complaints });
    await page.close();
  }
  return seen;
});
