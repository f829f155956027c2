// `npm run build:viewer && npx node edge/benches/vector.mjs <site>`: the viewer on a phone, with the vectors of a site that
// `tiler convert --viewer plan.pdf -o <site>/plan` has written. Chromium with a quarter of the processor: frames per second while
// the view moves, the time from rest to a sharp picture, and the memory of all its processes while the view goes from 1 to 64
// times and back for two minutes. The same without vectors says what they cost. `--quick` moves for ten seconds instead.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { newPage, startBrowser } from "../viewer/tests/browser.mjs";
import { startVectors } from "../viewer/tests/engines/vector.mjs";

/** Lighthouse's phone has a processor four times as slow. */
const SLOWER = 4;
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 3, isMobile: true, hasTouch: true };
const SCALES = [1.6, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/** Places that are looked at, as parts of the picture's sides. */
const PLACES = [[0.5, 0.5], [0.42, 0.55], [0.61, 0.37]];
const quick = process.argv.includes("--quick");
const folder = process.argv.slice(2).find((word) => !word.startsWith("--"));
if (!folder) throw new Error("name the folder of a site: npx node edge/benches/vector.mjs <site>");

/** Runs in the page: shows a view by an animation. Returns the times of its frames, and from the last change to a sharp picture. */
async function move(place, scale, hasVectors) {
  const { viewport, world } = viewer;
  const item = world.getItemAt(0);
  const { x, y } = item.getContentSize();
  const isSharp = () => vectors()?.width > 0 && vectors().style.transform === "none";
  const frames = [];
  let changed = performance.now();
  const change = () => (changed = performance.now());
  viewer.addHandler("update-viewport", change);
  viewport.zoomTo(item.imageToViewportZoom(scale / devicePixelRatio));
  viewport.panTo(item.imageToViewportCoordinates(place[0] * x, place[1] * y));
  let view = "";
  let still = 0;
  for (let before = performance.now(); still < 3;) {
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - before);
    before = now;
    const next = [viewport.getBounds(true), viewport.getZoom(true)].join();
    still = next === view ? still + 1 : 0;
    if (still === 0) change();
    view = next;
  }
  viewer.removeHandler("update-viewport", change);
  const rested = changed;
  if (!hasVectors) return { frames };
  while (!isSharp()) {
    if (performance.now() - rested > 3000) return { frames, sharp: Infinity };
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  return { frames, sharp: performance.now() - rested };
}

/** Adds the site's files to a server. Returns its content object. */
async function served({ files, origin }) {
  const types = { svg: "image/svg+xml", jpg: "image/jpeg", png: "image/png", dzi: "application/xml" };
  for (const path of await readdir(folder, { recursive: true })) {
    const type = types[path.split(".").at(-1)];
    if (type) files.set(`/${path}`, { type, body: await readFile(join(folder, path)) });
  }
  const page = await readFile(join(folder, "index.html"), "utf8");
  const { dzi, vector } = JSON.parse(/ id="content">(.*?)<\/script>/s.exec(page)[1]);
  files.set("/vector.json", { type: "application/json", body: JSON.stringify(vector) });
  return { dzi: { ...dzi, url: `${origin}/${dzi.url}` }, vector: `${origin}/vector.json` };
}

/** Returns the memory of all processes of a browser in MB. */
async function memory(session) {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sizes = await Promise.all(processInfo.map(async ({ id }) => {
    const status = await readFile(`/proc/${id}/smaps_rollup`, "utf8").catch(() => "");
    return Number(/^Pss:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1000;
  }));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const sorted = (values) => values.toSorted((a, b) => a - b);
const at = (values, part) => sorted(values)[Math.min(Math.floor(values.length * part), values.length - 1)];
const rounded = (value) => (Number.isFinite(value) ? Math.round(value) : value === Infinity ? "never" : "");

const server = await startVectors();
const content = await served(server);
const browser = await startBrowser();
const ofBrowser = await browser.newBrowserCDPSession();

/** Opens the viewer on a slow phone. Returns a function that shows a view there, and one that closes it. */
async function open(content) {
  const page = await newPage(browser, PHONE);
  await page.goto(server.origin);
  await page.evaluate(([content]) => show(content, ""), [content]);
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  return {
    go: (place, scale) => page.evaluate(`(${move})(${JSON.stringify(place)}, ${scale}, ${Boolean(content.vector)})`),
    close: () => page.context().close(),
  };
}

/** Shows each place at a scale. Returns the frames per second, the slowest frame and the times to a sharp picture. */
async function measure(phone, scale) {
  const moves = [];
  for (const place of PLACES) moves.push(await phone.go(place, scale));
  const intervals = moves.flatMap(({ frames }) => frames.slice(1));
  const rate = (1000 * intervals.length) / intervals.reduce((sum, one) => sum + one, 0);
  return { rate, slowest: at(intervals, 1), sharp: moves.map(({ sharp }) => sharp) };
}

const pixels = await open({ dzi: content.dzi });
const without = new Map();
for (const scale of SCALES) if (scale <= 8) without.set(scale, (await measure(pixels, scale)).rate);
await pixels.close();
const phone = await open(content);
const before = await memory(ofBrowser);
const first = await phone.go(PLACES[0], SCALES[0]);
console.log(`first drawing: sharp ${rounded(first.sharp)} ms after rest`);
console.log("| scale | frames per second | without vectors | slowest frame ms | sharp after rest ms |\n|---|---|---|---|---|");
const [rates, times] = [[], []];
for (const scale of SCALES) {
  const { rate, slowest, sharp } = await measure(phone, scale);
  rates.push(rate);
  times.push(...sharp);
  console.log(`| ${scale} | ${rounded(rate)} | ${rounded(without.get(scale) ?? NaN)} | ${rounded(slowest)} | ${sharp.map(rounded).join(", ")} |`);
}
console.log(`frames per second: ${rounded(at(rates, 0))} to ${rounded(at(rates, 1))}; sharp after rest: median ${rounded(at(times, 0.5))} ms, greatest ${rounded(at(times, 1))} ms`);

const sizes = [];
const start = performance.now();
for (let round = 0; performance.now() - start < (quick ? 10_000 : 120_000); round += 1) {
  for (const scale of [...SCALES, ...SCALES.toReversed()]) await phone.go(PLACES[round % PLACES.length], scale);
  sizes.push(await memory(ofBrowser));
}
console.log(`memory of all processes: ${rounded(before)} MB before, ${sizes.map(rounded).join(", ")} after each round`);
await phone.close();
await Promise.all([browser.close(), server.close()]);
