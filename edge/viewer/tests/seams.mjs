// How far the edges of tiles can be seen in a viewer: views of a picture in tiles are compared with the same views of the
// same picture in one piece. Where tiles meet, the difference between the two must not jump more than it does elsewhere.

import { build } from "esbuild";
import { fileURLToPath } from "node:url";

import { newPage } from "./browser.mjs";
import { readPng } from "./png.mjs";

const VIEWER = fileURLToPath(new URL("../zoom/seadragon.js", import.meta.url));
const SIZE = { width: 503, height: 401 };
/** How far from a seam its surroundings are looked at, in pixels of the screen. */
const [NEAR, FAR] = [6, 24];

/** The page that shows one picture: the viewer's set-up of OpenSeadragon, with any of its drawers, and no controls. */
export async function seamsPage() {
  const contents = `
    import OpenSeadragon from "openseadragon";
    import { openPicture } from ${JSON.stringify(VIEWER)};
    globalThis.show = (dzi, drawer) => new Promise((resolve) => {
      globalThis.viewer?.destroy();
      const element = document.body.appendChild(document.createElement("div"));
      element.style.cssText = "position: fixed; inset: 0; background: #f0f";
      globalThis.viewer = openPicture(element, dzi, { still: true, cooperative: false, drawer });
      Object.assign(viewer.viewport, { minZoomLevel: 0, maxZoomLevel: Infinity, visibilityRatio: 0 });
      viewer.addHandler("open", () => resolve(viewer.drawer.getType()));
    });
    globalThis.look = async ({ x, y, scale, turn }) => {
      const { viewport, world } = viewer;
      const item = world.getItemAt(0);
      viewport.setRotation(turn, true);
      viewport.zoomTo(item.imageToViewportZoom(scale), null, true);
      viewport.panTo(item.imageToViewportCoordinates(x, y), true);
      const painted = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      for (let frames = 0; !item.getFullyLoaded(); frames += 1) {
        if (frames > 300) throw new Error("the tiles do not load");
        await painted();
      }
      viewer.forceRedraw();
      await painted();
    };`;
  const resolveDir = fileURLToPath(new URL("../", import.meta.url));
  const { outputFiles } = await build({ stdin: { contents, resolveDir }, bundle: true, write: false, format: "iife" });
  return `<!doctype html><link rel="icon" href="data:,"><body></body><script>${outputFiles[0].text}</script>`;
}

/**
 * Shows pyramids at `views`, each `{ x, y, scale, turn }`, and gives for each how much the seams of each but the first, which
 * is in one piece, stand out, in steps of 255: `[{ view, seams: [...] }]`. `scale` is CSS pixels for each of the picture's.
 */
export async function seamsOf(browser, address, pyramids, { drawer, density, views }) {
  const page = await newPage(browser, { viewport: SIZE, deviceScaleFactor: density });
  await page.goto(address);
  const shots = [];
  for (const dzi of pyramids) {
    const used = await page.evaluate(([dzi, drawer]) => globalThis.show(dzi, drawer), [dzi, drawer]);
    if (used !== (drawer ?? "canvas")) throw new Error(`${used} was used in place of ${drawer}`);
    const taken = [];
    for (const view of views) {
      await page.evaluate((view) => globalThis.look(view), view);
      taken.push(readPng(await page.screenshot()));
    }
    shots.push(taken);
  }
  const results = views.map((view, number) => {
    const seamsOf = (dzi, which) => excess(shots[which + 1][number], shots[0][number], linesOf(dzi, view, density));
    return { view, seams: pyramids.slice(1).map(seamsOf) };
  });
  const wrongs = page.wrongs.filter((wrong) => !/GPU stall|swiftshader/i.test(wrong));
  if (wrongs.length > 0) throw new Error(wrongs.join("\n"));
  await page.context().close();
  return results;
}

/** The seams, in pixels of the screenshot: where each starts, its direction, its length, and where to look along it. */
function linesOf({ width, height, tileSize }, { x, y, scale, turn }, density) {
  const perPixel = scale * density;
  const [cos, sin] = [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)];
  const [across, down] = [SIZE.width * density, SIZE.height * density];
  // OpenSeadragon takes the smallest level that has at least half as many pixels as the screen.
  let step = tileSize;
  for (let level = 1; perPixel * level * 2 <= 1; level *= 2) step *= 2;
  const lines = [];
  for (const vertical of [true, false]) {
    const [side, other] = vertical ? [width, height] : [height, width];
    for (let at = step; at < side; at += step) {
      const [right, below] = [((vertical ? at : 0) - x) * perPixel, ((vertical ? 0 : at) - y) * perPixel];
      const start = [across / 2 + right * cos - below * sin, down / 2 + right * sin + below * cos];
      const [along, normal] = vertical ? [[-sin, cos], [cos, sin]] : [[cos, sin], [-sin, cos]];
      lines.push({ start, along, length: other * perPixel, normal });
    }
  }
  return lines;
}

/**
 * By how much the difference between two pictures jumps more at a seam than beside it, on average along the seam; of all seams
 * the worst, and null where none is in view.
 */
function excess(shown, whole, lines) {
  const { width, height } = shown;
  const differences = differencesOf(shown, whole);
  /** Where in `differences` a place is, or -1 out of view. */
  const indexOf = (x, y) => (x >= 0 && y >= 0 && x < width && y < height ? (Math.floor(y) * width + Math.floor(x)) * 3 : -1);
  let worst = null;
  for (const { start, along, length, normal } of lines) {
    const sums = new Float64Array(2 * FAR);
    let count = 0;
    for (let step = 0; step < length; step += 1) {
      const [x, y] = [start[0] + along[0] * step, start[1] + along[1] * step];
      const place = (distance) => indexOf(x + normal[0] * distance, y + normal[1] * distance);
      if (place(-FAR - 1) < 0 || place(FAR + 1) < 0) continue;
      count += 1;
      let before = place(-FAR + 0.5);
      for (let distance = 0; distance < 2 * FAR; distance += 1) {
        const after = place(distance - FAR + 1.5);
        for (let channel = 0; channel < 3; channel += 1) sums[distance] += Math.abs(differences[after + channel] - differences[before + channel]) / 3;
        before = after;
      }
    }
    if (count < 50) continue;
    const jumps = [...sums].map((sum) => sum / count);
    // Each jump is an average of noise: the worst of some is compared with the worst of as many.
    const worstOf = (from) => Math.max(...jumps.slice(from, from + NEAR));
    const starts = jumps.keys().filter((from) => from + NEAR <= FAR - NEAR || (from >= FAR + NEAR && from + NEAR <= 2 * FAR));
    const beside = [...starts].map(worstOf).sort((a, b) => a - b);
    const here = worstOf(FAR - NEAR / 2);
    worst = Math.max(worst ?? -Infinity, here - beside[Math.floor(beside.length / 2)]);
  }
  return worst;
}

/** One picture's red, green and blue minus the other's. */
function differencesOf(one, other) {
  const differences = new Int16Array(one.width * one.height * 3);
  for (let pixel = 0; pixel < one.width * one.height; pixel += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      differences[pixel * 3 + channel] = one.pixels[pixel * one.channels + channel] - other.pixels[pixel * other.channels + channel];
    }
  }
  return differences;
}
