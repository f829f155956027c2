// Measures the visibility of seams between tiles: views of a tiled picture are compared with views of the same picture
// in one piece. At a seam, the difference between the two must not jump more than elsewhere.

import { build } from "esbuild";
import { fileURLToPath } from "node:url";

import { decodePng } from "../png.mjs";
import { newPage } from "./browser.mjs";

const VIEWER = fileURLToPath(new URL("../zoom/seadragon.js", import.meta.url));
const SIZE = { width: 503, height: 401 };
/** Distances from a seam, in screen pixels, between which its surroundings are measured. */
const [NEAR, FAR] = [6, 24];

/** Returns a page that shows one picture with the viewer's set-up of OpenSeadragon, any drawer, and no controls. */
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
      await painted();
      while (!item.getFullyLoaded()) await new Promise((resolve) => item.addOnceHandler("fully-loaded-change", resolve));
      viewer.forceRedraw();
      await painted();
    };`;
  const resolveDir = fileURLToPath(new URL("../", import.meta.url));
  const { outputFiles } = await build({ stdin: { contents, resolveDir }, bundle: true, write: false, format: "iife" });
  return `<!doctype html><link rel="icon" href="data:,"><body></body><script>${outputFiles[0].text}</script>`;
}

/**
 * Shows pyramids at `views`, each `{ x, y, scale, turn }`, and returns the visibility of their seams in steps of 255:
 * `[{ view, seams: [...] }]`. The first pyramid is the picture in one piece. `scale` is in CSS pixels per picture
 * pixel.
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
      taken.push(decodePng(await page.screenshot()));
    }
    shots.push(taken);
  }
  const results = views.map((view, number) => {
    const seamsOf = (dzi, which) => excess(shots[which + 1][number], shots[0][number], linesOf(dzi, view, density));
    return { view, seams: pyramids.slice(1).map(seamsOf) };
  });
  // A tile of the picture before may arrive late.
  const wrongs = page.wrongs.filter((wrong) => !/GPU stall|swiftshader|loaded before reset/i.test(wrong));
  if (wrongs.length > 0) throw new Error(wrongs.join("\n"));
  await page.context().close();
  return results;
}

/** Returns the seams in pixels of the screenshot: start, direction, length and normal of each. */
function linesOf({ width, height, tileSize }, { x, y, scale, turn }, density) {
  const perPixel = scale * density;
  const [cos, sin] = [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)];
  const [across, down] = [SIZE.width * density, SIZE.height * density];
  // OpenSeadragon uses the smallest level with at least half of the screen's pixels.
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
 * Returns how much more the difference between two pictures jumps at a seam than beside it, averaged along the seam;
 * the worst of all seams, or null if none is in view.
 */
function excess(shown, whole, lines) {
  const { width, height } = shown;
  const differences = differencesOf(shown, whole);
  /** Returns the index of a place in `differences`, or -1 if it is out of view. */
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
    // Each jump is an average of noise, so the worst of NEAR jumps is compared with the worst of NEAR others.
    const worstOf = (from) => Math.max(...jumps.slice(from, from + NEAR));
    const starts = jumps.keys().filter((from) => from + NEAR <= FAR - NEAR || (from >= FAR + NEAR && from + NEAR <= 2 * FAR));
    const beside = [...starts].map(worstOf).sort((a, b) => a - b);
    const here = worstOf(FAR - NEAR / 2);
    worst = Math.max(worst ?? -Infinity, here - beside[Math.floor(beside.length / 2)]);
  }
  return worst;
}

/** Returns one picture's red, green and blue minus the other's. */
function differencesOf(one, other) {
  const differences = new Int16Array(one.width * one.height * 3);
  for (let pixel = 0; pixel < one.width * one.height; pixel += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      differences[pixel * 3 + channel] = one.pixels[pixel * one.channels + channel] - other.pixels[pixel * other.channels + channel];
    }
  }
  return differences;
}
