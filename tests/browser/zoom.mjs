// A visitor: pastes an address on the home page, sees the progress, sees the picture, and looks closer. Prints what was
// seen as JSON; whether that is right is for the test to say. Argument: { browser, service, source, whole, closer, level }: what
// is to be seen of the whole picture and closer to its middle, as places in a 4×4 grid with their colours, and the level there.

import { chromium } from "playwright-core";

const { browser: executablePath, service, source, ...wanted } = JSON.parse(process.argv[2]);
const PATIENCE_MS = 60_000;

const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : []; // Chromium's own does not work for root
const browser = await chromium.launch({ executablePath, args: [...sandbox, "--disable-quic"] });
try {
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
    // The page closes its stream of events when it has heard the last one.
    const isClosed = why === "net::ERR_ABORTED" && request.resourceType() === "eventsource";
    if (!isClosed) complaints.push(`${request.url()} failed: ${why}`);
  });
  const tiles = [];
  page.on("response", (response) => {
    const level = response.url().match(/_files\/(\d+)\//)?.[1];
    if (level) tiles.push({ level: Number(level), status: response.status() });
  });

  // What the home page still loads when it is left would count as failed.
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
  const reached = () => Math.max(...tiles.map(({ level }) => level));
  const seen = await look(page, wanted.whole);
  const before = reached();

  const middle = { x: 450, y: 350 };
  await page.mouse.move(middle.x, middle.y);
  for (let notch = 0; notch < 8; notch += 1) {
    await page.mouse.wheel(0, -240);
    await page.waitForTimeout(100);
  }
  const closer = await look(page, wanted.closer, () => reached() >= wanted.level);
  const after = reached();

  const failedTiles = tiles.filter(({ status }) => status !== 200);
  const seenWhole = { progress, address, seen, closer, levels: { before, after }, failedTiles, complaints };
  console.log(JSON.stringify(seenWhole));
} finally {
  await browser.close();
}

/** The colours at the centres of a 4×4 grid over the window, once they are the wanted ones and `holds`, or when that takes too long. */
async function look(page, wanted, holds = () => true) {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    await page.waitForTimeout(250);
    const screenshot = await page.screenshot({ type: "png", caret: "initial" }); // hiding it would be an inline style
    const colours = await sample(page, screenshot);
    const isThere = ([x, y, colour]) => colour.every((value, channel) => Math.abs(value - colours[y][x][channel]) <= 8);
    if ((holds() && wanted.every(isThere)) || Date.now() > end) return colours;
  }
}

/** Reads pixels of a screenshot in a page of its own, which nothing of the service can touch. */
async function sample(page, screenshot) {
  const reader = await page.context().newPage();
  try {
    return await reader.evaluate(async (base64) => {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      const context = canvas.getContext("2d");
      context.drawImage(bitmap, 0, 0);
      const centres = [1, 3, 5, 7].map((eighth) => eighth / 8);
      return centres.map((y) =>
        centres.map((x) => [...context.getImageData(x * bitmap.width, y * bitmap.height, 1, 1).data.slice(0, 3)]),
      );
    }, screenshot.toString("base64"));
  } finally {
    await reader.close();
  }
}
