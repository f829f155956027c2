// A site as `tiler convert --viewer` writes it, in each engine, from a web server and from a disk: the built viewer, the
// page with its placeholders filled as the program fills them, and a computed pyramid.

import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { aroundTests } from "../../tests/around.mjs";
import { decodePng } from "../png.mjs";
import { assertAccessible, newPage, startBrowser } from "./browser.mjs";
import { openChromium } from "./engines/chromium.mjs";
import { CONTROL, boxOf, inPage, painted, type, until } from "./engines/core.mjs";
import { startFirefox } from "./engines/firefox.mjs";
import { expressionOf } from "./engines/process.mjs";
import { edgeAt, lean } from "./engines/vector.mjs";
import { startWebKit } from "./engines/webkit.mjs";
import { line, manual } from "./manual.mjs";
import { pyramidOf, scene } from "./pyramid.mjs";
import { serve } from "./servers.mjs";

const BUILT = fileURLToPath(new URL("../../build/site/", import.meta.url));
/** A text that is more than text wherever it is not escaped. */
const HOSTILE = `</title></script><!--<script><img src=x onerror="hacked=1">{content}&lt;'"$&`;
const ALTERNATIVE = `Tides "of" <b>Brest</b>`;
const NAME = "50% of #1 Straße";
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", png: "image/png", svg: "image/svg+xml" };
/** A black bar of the first page's vectors, in pixels. */
const BAR = [300, 400, 500, 500];

let browser;
let folder;
let server;
/** Paths that the server was asked for and does not have. */
const missing = [];

aroundTests(async () => {
  folder = await mkdtemp(join(tmpdir(), "edgezoom-site-"));
  await writeSite(folder);
  browser = await startBrowser();
  server = await serve(async ({ pathname }) => {
    const path = pathname === "/" ? "index.html" : decodeURIComponent(pathname);
    const body = await readFile(join(folder, path)).catch(() => void missing.push(pathname));
    return body && { type: TYPES[path.split(".").at(-1)], body };
  });
}, () => Promise.all([browser?.close(), server?.close(), folder && rm(folder, { recursive: true })]));

/** Writes a site with a document of two pages, of which the first has vectors, and a scale. */
async function writeSite(site) {
  const { text, size } = manual(2);
  text.pages[0].blocks[2].lines = [line(HOSTILE, 100, 360)];
  const { dzi, tiles } = pyramidOf(scene(size.width, size.height), 256, 0);
  for (const [path, tile] of tiles) {
    const file = join(site, `${NAME}_files`, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, tile);
  }
  const [x, y, width, height] = text.pages[0].at;
  await mkdir(join(site, `${NAME}_files`, "vector"));
  await writeFile(join(site, `${NAME}_files`, "vector", "0.svg"), lean(width, height, [BAR]));
  const vector = { pages: [{ x, y, width, height, url: `${encodeURIComponent(NAME)}_files/vector/0.svg` }, null] };
  const url = `${encodeURIComponent(NAME)}.dzi`;
  const scale = { value: 2.5e-7, unit: "metre", basis: "MPP of the Aperio slide" };
  const content = { title: HOSTILE, alt: ALTERNATIVE, dzi: { url, ...dzi }, scale, pages: text.pages.length, text, vector };
  const values = {
    title: escapeHtml(HOSTILE),
    description: escapeHtml(ALTERNATIVE),
    preview: `${encodeURIComponent(NAME)}_files/8/0_0.png`,
    content: JSON.stringify(content).replaceAll("<", "\\u003c"),
  };
  await cp(BUILT, site, { recursive: true });
  const template = await readFile(join(BUILT, "index.html"), "utf8");
  await writeFile(join(site, "index.html"), template.replace(/\{(\w+)\}/g, (_, name) => values[name]));
}

const escapeHtml = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

/** Opens a page in Chromium. It notes all requests. */
async function startChromium() {
  const engine = await openChromium(browser);
  const { page } = engine;
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  return {
    ...engine,
    requests,
    async act({ actions }) {
      for (const { type: kind, value } of actions) await page.keyboard[kind === "keyDown" ? "down" : "up"](value === CONTROL ? "Control" : value);
    },
  };
}

for (const [name, start] of Object.entries({ Chromium: startChromium, Firefox: startFirefox, WebKit: startWebKit })) {
  test(`${name}: a site works from a web server and from a disk, and loads only its own files`, async () => {
    const engine = await start();
    try {
      await engine.resize(1440, 900);
      for (const base of [`${server.origin}/`, pathToFileURL(`${folder}/`).href]) {
        if (base.startsWith("file:")) await engine.page?.context().setOffline(true);
        await checkSite(engine, base);
      }
    } finally {
      await engine.close();
    }
  });
}

async function checkSite(engine, base) {
  const text = (selector) => engine.evaluate(inPage, selector, "text");
  const percent = async () => parseInt(await text(".scale"), 10);
  const index = base.startsWith("file:") ? `${base}index.html` : base;
  await engine.open(index);
  await painted(engine);
  assert.equal(await text("title"), HOSTILE);
  assert.equal(await text("h1"), HOSTILE);
  assert.equal(await text("#size"), "2,240 × 1,500");
  assert.equal(await engine.evaluate(() => document.querySelector("meta[name=description]").content), ALTERNATIVE);
  assert.equal(await engine.evaluate(() => document.querySelector("#stage").shadowRoot.querySelector("section").ariaLabel), `Zoomable picture: ${ALTERNATIVE}`);
  assert.match(await text(".bar span"), /^\d+\u202fµm$/);

  // The words: pages, and what screen readers get.
  await until("the words are there", async () => (await text(".reading"))?.includes(HOSTILE));
  assert.equal(await text(".pages span"), "of 2 (i)");
  const before = await percent();
  await type(engine, "+");
  await until("plus zooms in", async () => (await percent()) > before);
  await until("the place is in the address", () => engine.evaluate(() => location.search.startsWith("?at=")));
  await type(engine, CONTROL + "f", { held: 1 });
  await until("the field has the focus", () => engine.evaluate(inPage, ".find input", "focused"));
  await type(engine, "</script>");
  await until("the words are found", async () => (await text(".count")) === "1 of 1");
  await until("they are marked", () => boxOf(engine, ".current i"));

  await engine.open("about:blank");
  await engine.open(`${index}?page=2`);
  await until("the second page is open", () => engine.evaluate(inPage, ".pages input", "2"));
  await painted(engine);

  // The corner of the bar at 64 times, where a pixel of the tiles is 64 pixels of the screen.
  await engine.open("about:blank");
  const zoom = await engine.evaluate((width) => (64 * width) / innerWidth, 2240);
  await engine.open(`${index}?at=${BAR[0]},${BAR[1]},${zoom.toFixed(3)}`);
  const [middle, down] = await engine.evaluate(() => [innerWidth / 2, innerHeight / 2]);
  const isSharp = ({ off, blur }) => Math.abs(off) <= 1 && blur <= 2;
  await until("the vectors are sharp and in place", async () => {
    const shot = decodePng(await engine.screenshot());
    return isSharp(edgeAt(shot, [middle, down + 200], [1, 0])) && isSharp(edgeAt(shot, [middle + 400, down], [0, 1]));
  });
  assert.equal(await percent(), 6400);
  await until("the words are over the vectors", () => engine.evaluate(() => document.querySelector("#stage").shadowRoot.querySelector("canvas + canvas[aria-hidden=true] ~ .text") !== null));

  assert.equal(await engine.evaluate(() => typeof hacked), "undefined");
  assert.equal(await engine.evaluate(() => document.querySelectorAll("img").length), 0);
  const loaded = await engine.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name));
  const asked = [...loaded, ...(engine.requests ?? [])].filter((url) => url !== "about:blank" && url !== "data:,");
  assert.ok(asked.length > 0 || base.startsWith("file:"));
  assert.deepEqual(asked.filter((url) => !url.startsWith(server.origin) && !url.startsWith(pathToFileURL(folder).href)), []);
  assert.deepEqual(missing, []);
  assert.deepEqual(engine.wrongs, []);
}

for (const colorScheme of ["light", "dark"]) {
  test(`a site passes axe in ${colorScheme} colours, on a phone too`, async () => {
    for (const width of [1440, 390]) {
      const page = await newPage(browser, { viewport: { width, height: 800 }, colorScheme });
      await page.goto(server.origin);
      await page.getByRole("region", { name: "Text of the picture" }).waitFor({ state: "attached" });
      await painted({ evaluate: async (call, ...args) => JSON.parse(await page.evaluate(expressionOf(call, args))), screenshot: () => page.screenshot() });
      await assertAccessible(page);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      assert.deepEqual(page.wrongs, []);
      await page.context().close();
    }
  });
}

test("without JavaScript a site shows a small picture with its alternative text", async () => {
  const page = await newPage(browser, { javaScriptEnabled: false });
  await page.goto(server.origin);
  await page.getByRole("img", { name: ALTERNATIVE }).waitFor();
  await page.locator("noscript p").waitFor();
  assert.deepEqual(missing, []);
  await page.context().close();
});
