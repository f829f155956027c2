// Acts as a visitor: pastes a URL on the home page, watches the progress and the picture, and zooms in. Arguments: {
// browser, service, source, parts, whole, closer, level }: a source that is held in parts, the expected colours of the
// whole picture and near its centre, as `[x, y, colour]` in a 4×4 grid, and the level expected there.

import { PATIENCE_MS } from "../../edge/tests/patience.mjs";
import { run } from "./chromium.mjs";
import { coloursOf, isNear, look } from "./colours.mjs";

await run(async (browser, { service, source, parts, whole, closer, level }) => {
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on("console", (message) => {
    const { url, lineNumber, columnNumber } = message.location();
    if (message.type() === "error") complaints.push(`${message.text()} (${url}:${lineNumber}:${columnNumber})`);
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("requestfailed", (request) => {
    const why = request.failure()?.errorText;
    // The page closes its event stream after the last event.
    const isClosed = why === "net::ERR_ABORTED" && request.resourceType() === "eventsource";
    if (!isClosed) complaints.push(`${request.url()} failed: ${why}`);
  });
  const tiles = [];
  page.on("response", (response) => {
    const level = response.url().match(/_files\/(\d+)\//)?.[1];
    if (level) tiles.push({ level: Number(level), status: response.status() });
  });
  const highest = () => Math.max(...tiles.map(({ level }) => level));

  // Requests that the home page has not finished when it is left would count as failed.
  await page.goto(service, { waitUntil: "networkidle" });
  await page.getByRole("textbox").fill(source);
  await page.getByRole("textbox").press("Enter");

  // A part passes when the page shows the progress of the one before, so rows keep coming while pictures become due.
  const coarse = page.locator("img.coarse");
  const [progress, pictures] = [[], []];
  for (let part = 0; part < parts; part += 1) {
    if (pictures.length < 2) {
      progress.push(await changed(() => page.getByRole("progressbar").evaluate((bar) => bar.value), progress.at(-1)));
      const picture = (await coarse.count()) > 0 ? await coarse.getAttribute("src") : null;
      if (picture && picture !== pictures.at(-1)) pictures.push(picture);
    }
    await fetch(`${source}?pass`);
  }
  const address = page.url();
  let flashes = 0;
  const upper = whole.filter(([, y]) => y === 0);
  while ((await coarse.count()) > 0) {
    const colours = (await coloursOf(page, 40)).flat();
    if (!upper.every(([, , colour]) => colours.some((shown) => isNear(shown, colour)))) flashes += 1;
  }

  await page.locator("canvas").first().waitFor();
  const seenWhole = await look(page, whole);
  const before = highest();

  await page.mouse.move(450, 350);
  for (let notch = 0; notch < 8; notch += 1) {
    await page.mouse.wheel(0, -240);
    await page.waitForTimeout(100);
  }
  const seenCloser = await look(page, closer, () => highest() >= level);

  const failedTiles = tiles.filter(({ status }) => status !== 200);
  const seen = { progress, pictures: pictures.length, flashes, address, seen: seenWhole, closer: seenCloser, levels: { before, after: highest() }, failedTiles, complaints };
  // The server has no https, which is assumed for a URL without a scheme.
  const other = await context.newPage();
  other.setDefaultTimeout(PATIENCE_MS);
  await other.goto(service);
  await other.getByRole("textbox").fill(` "${source.replace("http://", "")}"`);
  await other.getByRole("textbox").press("Enter");
  await other.getByText("https:// did not work, so http:// is used.").waitFor();
  return { ...seen, assumed: other.url() };
});

/** Waits for another value, and returns it. */
async function changed(read, before) {
  for (;;) {
    const value = await read();
    if (value !== before) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
