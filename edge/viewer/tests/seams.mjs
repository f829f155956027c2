// How far the edges of tiles can be seen in a viewer: views of a picture in tiles are compared with the same views of the
// same picture in one piece. Where tiles meet, the difference between the two must not jump more than it does elsewhere.

import { build } from "esbuild";
import { fileURLToPath } from "node:url";

import { newPage } from "./browser.mjs";

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
      taken.push((await page.screenshot()).toString("base64"));
    }
    shots.push(taken);
  }
  const reader = await page.context().newPage();
  const results = [];
  for (const [number, view] of views.entries()) {
    const seams = [];
    for (const [which, dzi] of pyramids.entries()) {
      if (which === 0) continue;
      const lines = linesOf(dzi, view, density);
      seams.push(await reader.evaluate(excess, { shown: shots[which][number], whole: shots[0][number], lines, near: NEAR, far: FAR }));
    }
    results.push({ view, seams });
  }
  const wrongs = page.wrongs.filter((wrong) => !/GPU stall|swiftshader/i.test(wrong));
  if (wrongs.length > 0) throw new Error(wrongs.join("\n"));
  await page.context().close();
  return results;
}

/** The seams that are in view, in pixels of the screenshot: a point of each, its direction, and where to look along it. */
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
      const points = [];
      for (let along = 0; along < other * perPixel; along += 1) {
        const [u, v] = vertical ? [at, along / perPixel] : [along / perPixel, at];
        const [right, below] = [(u - x) * perPixel, (v - y) * perPixel];
        points.push([across / 2 + right * cos - below * sin, down / 2 + right * sin + below * cos]);
      }
      lines.push({ points, normal: vertical ? [cos, sin] : [-sin, cos] });
    }
  }
  return lines;
}

/**
 * For the page that reads: by how much the difference between two pictures jumps more at a seam than beside it, on average
 * along the seam; of all seams the worst.
 */
async function excess({ shown, whole, lines, near, far }) {
  const read = async (encoded) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${encoded}`)).blob());
    const context = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    context.drawImage(picture, 0, 0);
    return context.getImageData(0, 0, picture.width, picture.height);
  };
  const [one, other] = await Promise.all([shown, whole].map(read));
  const { width, height } = one;
  const difference = new Int16Array(width * height * 3);
  for (let at = 0; at < width * height; at += 1) {
    for (let channel = 0; channel < 3; channel += 1) difference[at * 3 + channel] = one.data[at * 4 + channel] - other.data[at * 4 + channel];
  }
  let worst = null;
  for (const { points, normal } of lines) {
    const sums = new Float64Array(2 * far);
    let count = 0;
    for (const [x, y] of points) {
      const place = (distance) => [Math.floor(x + normal[0] * distance), Math.floor(y + normal[1] * distance)];
      const isIn = ([column, row]) => column >= 0 && row >= 0 && column < width && row < height;
      if (!isIn(place(-far - 1)) || !isIn(place(far + 1))) continue;
      count += 1;
      for (let distance = -far; distance < far; distance += 1) {
        const [before, after] = [place(distance + 0.5), place(distance + 1.5)].map(([column, row]) => (row * width + column) * 3);
        for (let channel = 0; channel < 3; channel += 1) sums[distance + far] += Math.abs(difference[after + channel] - difference[before + channel]) / 3;
      }
    }
    if (count < 50) continue;
    const jumps = [...sums].map((sum) => sum / count);
    // Each jump is an average of noise: the worst of some is compared with the worst of as many.
    const worstOf = (from) => Math.max(...jumps.slice(from, from + near));
    const starts = jumps.keys().filter((from) => from + near <= far - near || (from >= far + near && from + near <= 2 * far));
    const beside = [...starts].map(worstOf).sort((a, b) => a - b);
    const here = worstOf(far - near / 2);
    worst = Math.max(worst ?? -Infinity, here - beside[Math.floor(beside.length / 2)]);
  }
  return worst;
}
