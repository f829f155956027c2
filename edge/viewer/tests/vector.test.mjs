// Pages as vectors: sharp, where the pixels are, loaded only where they are seen, and never a burden. `engines/core.mjs`
// tests the first two in Firefox and WebKit, and `site.test.mjs` a site with vectors in all three.

import assert from "node:assert/strict";
import { test } from "node:test";

import { aroundTests } from "../../tests/around.mjs";
import { assertEventually, newPage, startBrowser } from "./browser.mjs";
import { openChromium } from "./engines/chromium.mjs";
import { assertVectors, lean, startVectors } from "./engines/vector.mjs";

const VIEW = { x: 790, y: 600 };

let browser;
let server;
aroundTests(async () => {
  [browser, server] = await Promise.all([startBrowser(), startVectors()]);
}, () => Promise.all([browser?.close(), server?.close()]));

/** Opens the viewer's page. `prepare` runs in it before the viewer's script. Returns what tests do in it. */
async function open(content = server.content, { prepare, ...options } = {}) {
  const page = await newPage(browser, { reducedMotion: "reduce", ...options });
  if (prepare) await page.addInitScript(prepare);
  await page.goto(server.origin);
  server.asked.length = 0;
  await page.evaluate(([content]) => show(content, ""), [content]);
  return {
    page,
    look: (view) => page.evaluate((view) => look(view), view),
    isDrawn: () => page.evaluate(() => isDrawn()),
    drawn: () => assertEventually(() => page.evaluate(() => isDrawn()), "no vectors are drawn"),
    async close() {
      assert.deepEqual(page.wrongs, []);
      await page.context().close();
    },
  };
}

const asked = () => server.asked.filter((path) => /vector|svg/.test(path));

for (const [name, options, style] of [
  ["a window", {}, ""],
  ["a box of any size on a dense screen", { deviceScaleFactor: 1.5 }, "inset: auto; left: 20px; top: 10px; width: 901.4px; height: 633.3px"],
]) {
  test(`vectors are sharp, and where the pixels are, in ${name}`, async () => {
    const engine = await openChromium(browser, options);
    await assertVectors(engine, style);
    assert.deepEqual(engine.wrongs, []);
    await engine.close();
  });
}

test("nothing is loaded before the picture is enlarged, and then once", async () => {
  const { look, drawn, close } = await open();
  await look({ ...VIEW, scale: 1.45 });
  assert.deepEqual(asked(), []);
  await look({ ...VIEW, scale: 1.55 });
  await drawn();
  await look({ ...VIEW, scale: 1.45 });
  await look({ ...VIEW, scale: 5 });
  await drawn();
  assert.deepEqual(asked().sort(), ["/plan.svg", "/vector.js", "/vector.json"]);
  await close();
});

test("without vectors nothing is loaded, and the picture is enlarged eightfold at most", async () => {
  const { look, isDrawn, close } = await open({ ...server.content, vector: undefined });
  const { most } = await look({ ...VIEW, scale: 7 });
  assert.ok(Math.abs(most - 8) < 0.01, `${most}`);
  assert.equal(await isDrawn(), false);
  assert.deepEqual(asked(), []);
  await close();
});

test("a place of 64 times in a URL is shown", async () => {
  const { page, close } = await open();
  const zoom = await page.evaluate(async ([content]) => {
    await show(content, "", { search: `?at=800,500,${((64 * 1600) / innerWidth).toFixed(3)}` });
    return viewer.world.getItemAt(0).viewportToImageZoom(viewer.viewport.getZoom());
  }, [server.content]);
  page.wrongs.length = 0; // OpenSeadragon says so of tiles that it no longer needs
  assert.ok(Math.abs(zoom - 64) < 0.01, `${zoom}`);
  await close();
});

test("without vectors that load, the pixels are shown", async () => {
  for (const path of ["/plan.svg", "/vector.json"]) {
    const file = server.files.get(path);
    server.files.delete(path);
    const { page, look, isDrawn, close } = await open();
    await look({ ...VIEW, scale: 3 });
    await assertEventually(() => page.wrongs.length > 0, `${path} was not requested`);
    assert.equal(await isDrawn(), false);
    page.wrongs.length = 0;
    server.files.set(path, file);
    await close();
  }
});

/** Makes each drawing of an SVG take `window.slow` milliseconds, by the page's clock, and counts them. */
function slowDown() {
  const { drawImage } = CanvasRenderingContext2D.prototype;
  const now = performance.now.bind(performance);
  let late = 0;
  window.slow = 0;
  window.draws = 0;
  performance.now = () => now() + late;
  CanvasRenderingContext2D.prototype.drawImage = function (source, ...rest) {
    if (source instanceof HTMLImageElement && source.src.endsWith(".svg")) {
      window.draws += 1;
      late += window.slow;
    }
    return drawImage.call(this, source, ...rest);
  };
}

test("a drawing that is not quick is moved with the view, and drawn anew at rest", async () => {
  const { page, look, drawn, close } = await open(server.content, { prepare: slowDown });
  await page.evaluate(() => (window.slow = 20));
  await look({ ...VIEW, scale: 3 });
  await drawn();
  await assertEventually(() => page.evaluate(() => vectors().style.transform === "none"), "it is not drawn");
  const { before, after, right } = await page.evaluate(async () => {
    const moved = new Promise((resolve) => viewer.addOnceHandler("update-viewport", () => resolve([window.draws, vectors().style.transform])));
    const before = window.draws;
    const centre = viewer.viewport.getCenter();
    centre.x += 0.05;
    viewer.viewport.panTo(centre, true);
    const [after, transform] = await moved;
    return { before, after, right: new DOMMatrix(transform).e };
  });
  assert.equal(after, before);
  assert.ok(Math.abs(right + 0.05 * 3 * 1600) < 0.1, `${right}`);
  await assertEventually(() => page.evaluate((before) => window.draws === before + 1 && vectors().style.transform === "none", before), "it is not drawn anew");
  await close();
});

test("a page that is drawn slowly is drawn more coarsely, then left to its pixels", async () => {
  const { page, look, drawn, isDrawn, close } = await open(server.content, { prepare: slowDown, deviceScaleFactor: 2 });
  await page.evaluate(() => (window.slow = 400));
  // The first drawing of an image does not count.
  for (const [scale, width] of [[3, 2400], [4, 2400], [5, 1200]]) {
    await look({ ...VIEW, scale });
    await drawn();
    await assertEventually(() => page.evaluate((width) => vectors().width === width, width), `at ${scale} times the canvas is not ${width} pixels wide`);
  }
  await look({ ...VIEW, scale: 6 });
  await assertEventually(async () => !(await isDrawn()), "it is drawn for ever");
  await look({ ...VIEW, scale: 7 });
  assert.equal(await isDrawn(), false);
  assert.equal(await page.evaluate(() => window.draws), 4);
  await close();
});

test("a coarse drawing is moved with the view, too, and may be slow now and then", async () => {
  const { page, look, drawn, close } = await open(server.content, { prepare: slowDown, deviceScaleFactor: 2 });
  await page.evaluate(() => (window.slow = 400));
  for (const scale of [3, 4]) await look({ ...VIEW, scale }).then(drawn);
  await page.evaluate(() => (window.slow = 20));
  await look({ ...VIEW, scale: 5 });
  await assertEventually(() => page.evaluate(() => vectors().width === 1200 && window.draws === 3), "it is not drawn coarsely");
  const drawsAfterMove = await page.evaluate(async () => {
    const moved = new Promise((resolve) => viewer.addOnceHandler("update-viewport", () => resolve(window.draws)));
    const centre = viewer.viewport.getCenter();
    centre.x += 0.02;
    viewer.viewport.panTo(centre, true);
    return moved;
  });
  assert.equal(drawsAfterMove, 3);
  await assertEventually(() => page.evaluate(() => window.draws === 4), "it is not drawn anew");
  // A slow one and another after a quick one are not two in turn.
  for (const [scale, slow] of [[6, 400], [7, 20], [8, 400], [9, 20]]) {
    await page.evaluate((slow) => (window.slow = slow), slow);
    await look({ ...VIEW, scale });
    await drawn();
  }
  await close();
});

/** Returns the number of images of SVGs in a page's memory. */
async function imagesAlive(page) {
  const session = await page.context().newCDPSession(page);
  const { result } = await session.send("Runtime.evaluate", { expression: "HTMLImageElement.prototype" });
  const { objects } = await session.send("Runtime.queryObjects", { prototypeObjectId: result.objectId });
  const counting = `function () { return this.filter(({ src }) => src.endsWith(".svg")).length; }`;
  const { result: count } = await session.send("Runtime.callFunctionOn", { objectId: objects.objectId, functionDeclaration: counting, returnByValue: true });
  await session.detach();
  return count.value;
}

test("of many pages four at most are in memory, of those in view, and none after the viewer", async () => {
  const pages = Array.from({ length: 48 }, (_, index) => ({ x: (index % 8) * 200, y: Math.floor(index / 8) * 200, width: 180, height: 180, url: `${index}.svg` }));
  pages.forEach(({ url }, index) => server.files.set(`/${url}`, { type: "image/svg+xml", body: lean(180, 180, [[index, 20, 9, 100]]) }));
  server.files.set("/many.json", { type: "application/json", body: JSON.stringify({ pages }) });
  const { page, look, drawn, close } = await open({ ...server.content, vector: `${server.origin}/many.json` });
  for (const [x, y, scale, most] of [[800, 600, 1.6, 4], [300, 300, 1.6, 4], [1290, 690, 8, 1], [1290, 690, 1.2, 1]]) {
    await look({ x, y, scale });
    if (scale > 1.5) await drawn();
    await assertEventually(async () => (await imagesAlive(page)) <= most, `more than ${most} are in memory`);
    assert.ok((await imagesAlive(page)) > 0);
  }
  await page.evaluate(() => viewer.destroy());
  await assertEventually(async () => (await imagesAlive(page)) === 0, "they are in memory for ever");
  await page.evaluate(() => void dispatchEvent(new Event("beforeprint")));
  await close();
});

test("vectors are drawn more densely for paper", async () => {
  const { page, look, drawn, close } = await open();
  await look({ ...VIEW, scale: 3 });
  await drawn();
  const pdf = (await page.pdf()).toString("latin1");
  assert.ok(pdf.includes("/Width 3600\n"), "it is not three times as dense as the window");
  await drawn();
  assert.equal(await page.evaluate(() => vectors().width), 1200);
  await close();
});
