// Acts as a visitor: pastes a URL on the home page, watches the progress and the picture, and zooms in. Arguments: {
// browser, service, source, whole, closer, level }: the expected colours of the whole picture and near its centre, as
// `[x, y, colour]` in a 4×4 grid, and the level expected there.

import { decodePng } from "../../edge/viewer/png.mjs";
import { run } from "./chromium.mjs";

const PATIENCE_MS = 60_000;

await run(async (browser, { service, source, whole, closer, level }) => {
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

  const bar = page.getByRole("progressbar");
  await bar.waitFor();
  const progress = [];
  while (await bar.isVisible()) {
    const value = await bar.evaluate((element) => element.value, undefined, { timeout: 1000 }).catch(() => null);
    if (value !== null && value !== progress.at(-1)) progress.push(value);
    await page.waitForTimeout(20);
  }
  const address = page.url();

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
  return { progress, address, seen: seenWhole, closer: seenCloser, levels: { before, after: highest() }, failedTiles, complaints };
});

/**
 * Returns the colours at the centres of a 4×4 grid over the window, once they are as expected and `holds()`, or after a
 * minute.
 */
async function look(page, expected, holds = () => true) {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    await page.waitForTimeout(250);
    // Hiding the caret would take an inline style.
    const screenshot = await page.screenshot({ type: "png", caret: "initial" });
    const colours = gridOf(decodePng(screenshot));
    const isThere = ([x, y, colour]) => colour.every((value, channel) => Math.abs(value - colours[y][x][channel]) <= 8);
    if ((holds() && expected.every(isThere)) || Date.now() > end) return colours;
  }
}

function gridOf({ width, height, channels, pixels }) {
  const centres = [1, 3, 5, 7].map((eighth) => eighth / 8);
  const colourAt = (x, y) => [...pixels.subarray((Math.floor(y * height) * width + Math.floor(x * width)) * channels).subarray(0, 3)];
  return centres.map((y) => centres.map((x) => colourAt(x, y)));
}
