// Colours of a page, for tests of pictures that are grids of colours.

import { PATIENCE_MS } from "../../edge/tests/patience.mjs";
import { decodePng } from "../../edge/viewer/png.mjs";

/**
 * Returns the colours at the centres of a 4×4 grid over the window, once they are as expected and `holds()`, or when that
 * `cannotCome()`, or after `PATIENCE_MS`.
 */
export async function look(page, expected, holds = () => true, cannotCome = () => false) {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    const colours = await coloursOf(page);
    if ((holds() && alike(colours, expected)) || cannotCome() || Date.now() > end) return colours;
  }
}

function alike(colours, expected) {
  return expected.every(([x, y, colour]) => isNear(colours[y][x], colour));
}

export function isNear(shown, colour) {
  return colour.every((value, channel) => Math.abs(value - shown[channel]) <= 8);
}

/** Returns the colours at the centres of a grid over the window. */
export async function coloursOf(page, side = 4) {
  // Hiding the caret would take an inline style.
  const { width, height, channels, pixels } = decodePng(await page.screenshot({ type: "png", caret: "initial" }));
  const centres = Array.from({ length: side }, (_, index) => (index + 0.5) / side);
  const colourAt = (x, y) => [...pixels.subarray((Math.floor(y * height) * width + Math.floor(x * width)) * channels).subarray(0, 3)];
  return centres.map((y) => centres.map((x) => colourAt(x, y)));
}
