// A page as vectors in an engine: its edges are sharp, and where the pixels have them. The picture is a page of black
// bars on a grey ground, as a pyramid and as the five elements that the tiler writes.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

import { decodePng, encodePng } from "../../png.mjs";
import { assertEventually } from "../browser.mjs";
import { pyramidOf } from "../pyramid.mjs";
import { serve } from "../servers.mjs";

const SIZE = { width: 1600, height: 1200 };
const PAGE = { x: 150, y: 100, width: 1301, height: 1000 };
/** The bars, in pixels of the picture: x, y, width, height. Their edges are within pixels, which are grey there. */
const BARS = [[200.25, 200.25, 400, 9], [300.25, 150.25, 9, 300], [650.25, 590.25, 200, 20], [800.25, 500.25, 16, 300], [1200.25, 300.25, 9, 400], [1000.25, 1000.25, 300, 9]];
/** Units of an SVG in a pixel. Its width and height are in points of two pixels, so the width is no whole number. */
const UNITS = 100;

/** Returns an SVG of bars, `[x, y, width, height]` in pixels of a page of this size. */
export function lean(width, height, bars) {
  const rectangle = ([x, y, across, down]) => `M${x * UNITS} ${y * UNITS}h${across * UNITS}v${down * UNITS}h${-across * UNITS}z`;
  const dot = encodePng({ width: 1, height: 1, channels: 3, pixels: Uint8Array.of(255, 255, 255) }, 1).toString("base64");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width / 2}" height="${height / 2}" viewBox="0 0 ${width * UNITS} ${height * UNITS}" preserveAspectRatio="none"><set attributeName="class" begin="indefinite"/><clipPath id="c"><path d="${rectangle([0, 0, width, height])}"/></clipPath><g clip-path="url(#c)"><image width="100" height="100" href="data:image/png;base64,${dot}"/><path d="${bars.map(rectangle).join("")}"/></g></svg>`;
}

/** Returns the same as pixels. */
function raster() {
  const pixels = new Uint8Array(SIZE.width * SIZE.height * 3).fill(150);
  const covered = (pixel, from, length) => Math.max(Math.min(pixel + 1, from + length) - Math.max(pixel, from), 0);
  function fill([x, y, width, height], value) {
    for (let row = Math.floor(y); row < y + height; row += 1) {
      for (let column = Math.floor(x); column < x + width; column += 1) {
        const share = covered(column, x, width) * covered(row, y, height);
        const at = (row * SIZE.width + column) * 3;
        pixels.fill(pixels[at] * (1 - share) + value * share, at, at + 3);
      }
    }
  }
  fill([PAGE.x, PAGE.y, PAGE.width, PAGE.height], 255);
  for (const bar of BARS) fill(bar, 0);
  return { ...SIZE, pixels };
}

/**
 * Serves the viewer, in a page with `show(content, style)`, which loads `vector.js` and the vectors itself, and
 * `look({ x, y, scale, turn })`. Returns the server with `asked`, the paths of all requests, `files`, and the `content`.
 */
export async function startVectors() {
  const contents = `
    import { mountViewer } from "./zoom/viewer.js";
    globalThis.show = async (content, style, options = {}) => {
      globalThis.viewer?.destroy();
      globalThis.host?.remove();
      globalThis.host = document.body.appendChild(document.createElement("div"));
      host.style.cssText = "position: fixed; inset: 0; " + style;
      globalThis.viewer = mountViewer(host, content, options).viewer;
      await resting();
    };
    globalThis.vectors = () => viewer.canvas.querySelectorAll("canvas")[1];
    globalThis.painted = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    globalThis.resting = async () => {
      do await painted(); while (viewer.element.dataset.atRest === undefined);
    };
    globalThis.look = async ({ x, y, scale, turn = 0 }) => {
      const { viewport, world } = viewer;
      const item = world.getItemAt(0);
      viewport.setRotation(turn, true);
      viewport.zoomTo(item.imageToViewportZoom(scale), null, true);
      viewport.panTo(item.imageToViewportCoordinates(x, y), true);
      await resting();
      const { left, top, width, height } = viewer.canvas.getBoundingClientRect();
      return { left, top, width, height, density: devicePixelRatio, most: item.viewportToImageZoom(viewport.getMaxZoom()) };
    };
    globalThis.isDrawn = () => vectors()?.width > 0 && vectors().style.transform === "none" && vectors().getAnimations().every(({ playState }) => playState === "finished");
    globalThis.showVectors = (visibility) => {
      if (vectors()) vectors().style.visibility = visibility;
      return painted();
    };`;
  const bundled = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL("../../", import.meta.url)) },
    bundle: true,
    write: false,
    format: "iife",
    loader: { ".css": "text" },
    external: ["./text.js", "./vector.js"],
    define: { define: "undefined" },
    logLevel: "warning",
  });
  const { dzi, tiles } = pyramidOf(raster(), 256, 0);
  const bars = BARS.map(([x, y, width, height]) => [x - PAGE.x, y - PAGE.y, width, height]);
  const files = new Map([...tiles].map(([path, body]) => [`/plan_files/${path}`, { type: "image/png", body }]));
  files.set("/", { body: `<!doctype html><meta charset="utf-8"><title>Vectors</title><link rel="icon" href="data:,"><body></body><script>${bundled.outputFiles[0].text.replaceAll("</script", "<\\/script")}</script>` });
  files.set("/vector.js", { type: "text/javascript", body: await readFile(new URL("../../../build/assets/assets/vector.js", import.meta.url)) });
  files.set("/vector.json", { type: "application/json", body: JSON.stringify({ pages: [null, { ...PAGE, url: "plan.svg" }] }) });
  files.set("/plan.svg", { type: "image/svg+xml", body: lean(PAGE.width, PAGE.height, bars) });
  const asked = [];
  const server = await serve(({ pathname }) => {
    asked.push(pathname);
    return files.get(pathname);
  });
  return { ...server, asked, files, content: { dzi: { ...dzi, url: `${server.origin}/plan.dzi` }, vector: `${server.origin}/vector.json` } };
}

/**
 * Adds the files of a site that `tiler convert --viewer` wrote to a server of `startVectors`, below a path. Returns its
 * content for `show`.
 */
export async function addSite({ files, origin }, folder, path) {
  const types = { svg: "image/svg+xml", jpg: "image/jpeg", png: "image/png" };
  for (const name of await readdir(folder, { recursive: true })) {
    const type = types[name.split(".").at(-1)];
    if (type) files.set(`${path}/${name}`, { type, body: await readFile(join(folder, name)) });
  }
  const page = await readFile(join(folder, "index.html"), "utf8");
  const { dzi, vector } = JSON.parse(/ id="content">(.*?)<\/script>/s.exec(page)[1]);
  files.set(`${path}/vector.json`, { type: "application/json", body: JSON.stringify(vector) });
  return { dzi: { ...dzi, url: `${origin}${path}/${dzi.url}` }, vector: vector && `${origin}${path}/vector.json` };
}

/** Fails if vectors are blurred or elsewhere than the pixels. `style` places the viewer in the page. */
export async function assertVectors(engine, style = "") {
  const server = await startVectors();
  const edges = BARS.flatMap((bar) => edgesOf(bar));
  try {
    await engine.open(`${server.origin}/`);
    await engine.evaluate((content, style) => show(content, style), server.content, style);
    await assertNoJump(engine, edges, { x: 400, y: 300, turn: 0 }, [1.3, 1.45, 1.55, 1.7, 1.55, 1.45]);
    for (const turn of [0, 90, 30]) {
      await assertAsPixels(engine, edges, { x: 790, y: 600, scale: 3, turn });
      const [left, top] = BARS[4];
      const distances = await assertDeep(engine, edges, { x: left + 2, y: top + 2, turn });
      assert.ok(distances.every((distance) => Math.abs(distance) <= 1), `${turn}°: ${distances}`);
    }
  } finally {
    await server.close();
  }
}

/**
 * Returns four edges of a black rectangle, `[x, y, width, height]` in pixels of the picture, that is turned about its first
 * corner: places on its left and its upper side, with the direction from white to black.
 */
export function edgesOf([x, y, width, height], turn = 0) {
  const [cos, sin] = [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)];
  const place = (right, down) => [x + right * cos - down * sin, y + right * sin + down * cos];
  return [
    ...[3, height - 3].map((down) => ({ at: place(0, down), turn })),
    ...[3, width - 3].map((right) => ({ at: place(right, 0), turn: turn + 90 })),
  ];
}

/** Fails if an edge moves by more than a screen pixel while the view goes from pixels to vectors and back. */
export async function assertNoJump(engine, edges, view, scales) {
  const density = await engine.evaluate(() => devicePixelRatio);
  let before = [];
  for (const scale of scales) {
    const { shown } = await edgesIn(engine, edges, { ...view, scale: scale / density });
    assert.ok(shown.length >= 4, `${shown.length} edges`);
    for (const { at, off } of shown) {
      const moved = off - (before.find((edge) => edge.at === at)?.off ?? off);
      assert.ok(Math.abs(moved) <= 1, `at ${at} an edge moves by ${moved} to ${scale} times`);
    }
    before = shown;
  }
}

/** Fails if the edges of vectors in a view are not sharp, or more than a screen pixel beside those of the pixels. */
export async function assertAsPixels(engine, edges, view) {
  const { shown, ...others } = await edgesIn(engine, edges, view);
  const pixels = await others.pixels();
  assert.ok(shown.length >= 3, `${shown.length} edges`);
  shown.forEach(({ at, off, blur }, index) => {
    const text = `at ${at}, ${view.turn}°: off by ${off} with ${blur}, pixels by ${pixels[index].off} with ${pixels[index].blur}`;
    assert.ok(Math.abs(off - pixels[index].off) <= 1 && Math.abs(off) <= 1 && blur <= 2, text);
    assert.ok(!(pixels[index].blur <= 2), text);
  });
}

/** Fails if edges are not sharp at 64 times. Returns their distances from their places, in screen pixels. */
export async function assertDeep(engine, edges, view) {
  const { shown, mostScale } = await edgesIn(engine, edges, { ...view, scale: 64 });
  assert.ok(Math.abs(mostScale - 64) < 0.01, `${mostScale}`);
  assert.ok(shown.length >= 2, `${shown.length} edges`);
  for (const { at, off, blur } of shown) assert.ok(blur <= 2, `at ${at}, 64 times, ${view.turn}°: off by ${off} with ${blur}`);
  return shown.map(({ off }) => off);
}

/**
 * Shows a view and waits for its vectors, if it has any. Returns its edges, with what `edgeAt` says of each, the greatest
 * scale, and a function for the edges of its pixels.
 */
async function edgesIn(engine, edges, view) {
  const sizes = await engine.evaluate((view) => look(view), view);
  const isEnlarged = view.scale * sizes.density >= 1.5;
  if (isEnlarged) await assertEventually(() => engine.evaluate(() => isDrawn()), "no vectors are drawn");
  else assert.equal(await engine.evaluate(() => isDrawn()), false);
  const taken = async (visibility) => {
    await engine.evaluate((visibility) => showVectors(visibility), visibility);
    // A screenshot may be of the frame before.
    return assertEventually(async () => {
      const measured = measure(decodePng(await engine.screenshot()), edges, view, sizes);
      return measured.every(({ off }) => Number.isFinite(off)) && measured;
    }, `no edges in ${JSON.stringify(view)}`);
  };
  return { mostScale: sizes.most, shown: await taken("visible"), pixels: () => taken("hidden") };
}

/** Measures those edges that a screenshot of a view shows clearly. */
function measure(shot, edges, { x, y, scale, turn }, { left, top, width, height, density }) {
  const [cos, sin] = [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)];
  return edges.flatMap(({ at, turn: own }) => {
    const [right, down] = [(at[0] - x) * scale, (at[1] - y) * scale];
    const place = { x: width / 2 + right * cos - down * sin, y: height / 2 + right * sin + down * cos };
    const isClear = place.x > 30 && place.x < width - 30 && place.y > 30 && place.y < height - 150; // controls and overview are below
    const normal = [Math.cos, Math.sin].map((part) => part(((turn + own) * Math.PI) / 180));
    return isClear ? [{ at, ...edgeAt(shot, [(left + place.x) * density, (top + place.y) * density], normal) }] : [];
  });
}

/** Distance from an edge, in screen pixels, to which it is measured. */
const REACH = 9;
const STEP = 0.1;

/**
 * Measures an edge from white to black, across a place of a screenshot in the direction of a normal. Returns its distance
 * from there, `off`, and the distance between a tenth and nine tenths of black, `blur`, both in pixels.
 */
export function edgeAt({ width, pixels, channels }, [x, y], [right, down]) {
  const valueAt = (column, row) => pixels[(row * width + column) * channels];
  /** Returns the value between the centres of four pixels. */
  function between(across, along) {
    const [left, top] = [Math.floor(across - 0.5), Math.floor(along - 0.5)];
    const [u, v] = [across - 0.5 - left, along - 0.5 - top];
    return (valueAt(left, top) * (1 - u) + valueAt(left + 1, top) * u) * (1 - v) + (valueAt(left, top + 1) * (1 - u) + valueAt(left + 1, top + 1) * u) * v;
  }
  const crossing = (share) => {
    for (let distance = -REACH; distance <= REACH; distance += STEP) {
      if (between(x + right * distance, y + down * distance) < 255 * (1 - share)) return distance;
    }
    return Infinity;
  };
  return { off: Number(crossing(0.5).toFixed(2)), blur: Number((crossing(0.9) - crossing(0.1)).toFixed(2)) };
}
