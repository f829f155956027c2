// `npm run build:viewer && npx node edge/benches/vector.mjs <site>`: the viewer with the vectors of a site that
// `tiler convert --viewer plan.pdf -o <site>/plan` has written. First on a phone, which is Chromium with a quarter of the processor:
// frames per second while the view moves, with and without vectors, and the time from rest to a sharp picture. Then the memory of
// all processes of Chromium, Firefox and WebKit while the view goes from 1 to 64 times and back for two minutes. `--quick` moves for
// ten seconds instead; `--memory` leaves the phone out, and `--without` shows pixels alone. Fails if memory keeps growing.

import { readdir, readFile } from "node:fs/promises";

import { startBrowser } from "../viewer/tests/browser.mjs";
import { openChromium, startChromium } from "../viewer/tests/engines/chromium.mjs";
import { startFirefox } from "../viewer/tests/engines/firefox.mjs";
import { addSite, startVectors } from "../viewer/tests/engines/vector.mjs";
import { startWebKit } from "../viewer/tests/engines/webkit.mjs";

/** Lighthouse's phone has a processor four times as slow. */
const SLOWER = 4;
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 3, isMobile: true, hasTouch: true };
const ENGINES = { Chromium: startChromium, Firefox: startFirefox, WebKit: startWebKit };
/** Maximum of the memory after a round, as a multiple of that after the first one. */
const MOST_GROWTH = 1.5;
const SCALES = [1.6, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/** Places that are looked at, as parts of the picture's sides. */
const PLACES = [[0.5, 0.5], [0.42, 0.55], [0.61, 0.37]];
const [quick, memoryOnly, without] = ["--quick", "--memory", "--without"].map((flag) => process.argv.includes(flag));
const folder = process.argv.slice(2).find((word) => !word.startsWith("--"));
if (!folder) throw new Error("name the folder of a site: npx node edge/benches/vector.mjs <site>");

/** Runs in the page: shows a view by an animation. Returns the times of its frames, and from the last change to a sharp picture: 3 s if there is none. */
async function move(place, scale, hasVectors) {
  const { viewport, world } = viewer;
  const item = world.getItemAt(0);
  const { x, y } = item.getContentSize();
  const isSharp = () => vectors()?.width > 0 && vectors().style.transform === "none";
  const frames = [];
  let changed = performance.now();
  const change = () => (changed = performance.now());
  viewer.addHandler("viewport-change", change);
  viewport.zoomTo(item.imageToViewportZoom(scale / devicePixelRatio));
  viewport.panTo(item.imageToViewportCoordinates(place[0] * x, place[1] * y));
  let view = "";
  let [still, sharp] = [0, null];
  for (let before = performance.now(); still < 3 || (hasVectors && sharp === null);) {
    const now = await new Promise(requestAnimationFrame);
    if (still < 3) frames.push(now - before);
    before = now;
    const { x, y, width } = viewport.getBounds(true); // as text, it would be rounded to hundredths
    const next = [x, y, width].join();
    still = next === view ? still + 1 : 0;
    view = next;
    if (still === 0) sharp = null;
    else if (isSharp()) sharp ??= now; // drawn in the frame before
    if (now - changed > 3000) sharp ??= now; // it is not waited for any longer
  }
  viewer.removeHandler("viewport-change", change);
  return { frames, sharp: sharp === null ? null : sharp - changed };
}

/** Returns the memory of all processes that this one has started, with their children, in MB. */
async function memory() {
  const parents = new Map();
  for (const id of await readdir("/proc")) {
    const stat = await readFile(`/proc/${id}/stat`, "utf8").catch(() => "");
    parents.set(id, /^.*\) \w (\d+) /s.exec(stat)?.[1]);
  }
  const isOurs = (id) => id !== undefined && (id === String(process.pid) || isOurs(parents.get(id)));
  const sizes = [...parents].filter(([, parent]) => isOurs(parent)).map(async ([id]) => {
    const rollup = await readFile(`/proc/${id}/smaps_rollup`, "utf8").catch(() => "");
    return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) / 1000;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

const sorted = (values) => values.toSorted((a, b) => a - b);
const at = (values, part) => sorted(values)[Math.min(Math.floor(values.length * part), values.length - 1)];
const rounded = (value) => (Number.isFinite(value) ? Math.round(value) : "");

const server = await startVectors();
const content = await addSite(server, folder, "/site");
const pixels = { dzi: content.dzi };

/** Shows a content in a page. Returns a function that shows a view there. */
async function open(engine, content) {
  await engine.open(server.origin);
  await engine.evaluate((content) => show(content, ""), content);
  return (place, scale) => engine.evaluate(move, place, scale, Boolean(content.vector) && scale > 1.5);
}

/** Shows each place at a scale. Returns the frames per second, the slowest frame and the times to a sharp picture. */
async function measure(go, scale) {
  const moves = [];
  for (const place of PLACES) moves.push(await go(place, scale));
  const intervals = moves.flatMap(({ frames }) => frames.slice(1));
  const rate = (1000 * intervals.length) / intervals.reduce((sum, one) => sum + one, 0);
  return { rate, slowest: at(intervals, 1), sharp: moves.map(({ sharp }) => sharp) };
}

/** Measures moves on a slow phone. */
async function measurePhone() {
  const browser = await startBrowser();
  const onPhone = async (content) => {
    const engine = await openChromium(browser, PHONE);
    const go = await open(engine, content);
    const session = await engine.page.context().newCDPSession(engine.page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
    return { go, close: engine.close };
  };
  const plain = await onPhone(pixels);
  const rateOfPixels = new Map();
  for (const scale of SCALES) if (scale <= 8) rateOfPixels.set(scale, (await measure(plain.go, scale)).rate);
  await plain.close();
  const { go } = await onPhone(content);
  const first = await go(PLACES[0], SCALES[0]);
  console.log(`first drawing: sharp ${rounded(first.sharp)} ms after rest`);
  console.log("| scale | frames per second | without vectors | slowest frame ms | sharp after rest ms |\n|---|---|---|---|---|");
  const [rates, times] = [[], []];
  for (const scale of SCALES) {
    const { rate, slowest, sharp } = await measure(go, scale);
    rates.push(rate);
    times.push(...sharp);
    console.log(`| ${scale} | ${rounded(rate)} | ${rounded(rateOfPixels.get(scale) ?? NaN)} | ${rounded(slowest)} | ${sharp.map(rounded).join(", ")} |`);
  }
  console.log(`frames per second: ${rounded(at(rates, 0))} to ${rounded(at(rates, 1))}; sharp after rest: median ${rounded(at(times, 0.5))} ms, greatest ${rounded(at(times, 1))} ms`);
  await browser.close();
}

/** Measures the memory of an engine after each round of views. */
async function measureMemory(name, start) {
  const engine = await start();
  await engine.resize(1200, 800);
  const go = await open(engine, without ? pixels : content);
  const sizes = [];
  const before = await memory();
  for (let begin = performance.now(); performance.now() - begin < (quick ? 10_000 : 120_000);) {
    const place = PLACES[sizes.length % PLACES.length];
    for (const scale of [1, ...SCALES, ...SCALES.toReversed()]) await go(place, scale);
    sizes.push(await memory());
  }
  console.log(`memory of ${name}: ${rounded(before)} MB before, ${sizes.map(rounded).join(", ")} after each round`);
  if (at(sizes, 1) > MOST_GROWTH * sizes[0]) process.exitCode = 1;
  await engine.close();
}

if (!memoryOnly) await measurePhone();
for (const [name, start] of Object.entries(ENGINES)) await measureMemory(name, start);
await server.close();
