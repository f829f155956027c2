// Shows a content in other viewers on another site: OpenSeadragon and Leaflet-IIIF by `info.json`, Mirador by the
// manifest. Reports for each viewer the requests, and where colours of the picture are seen. With a `word`, it searches
// for that in Mirador, and reports the colours before and after. Arguments: { browser, base, colours, mirador, word }, of
// which `mirador` is the path of Mirador's script.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";

import { decodePng } from "../../edge/viewer/png.mjs";
import { run } from "./chromium.mjs";

const PATIENCE_MS = 60_000;
const TYPES = { css: "text/css", js: "text/javascript" };
/** Matches the request of a tile at full size. */
const FULL_SIZE = /,512,512\/512,512\/0\/default\.jpg$/;

await run(async (browser, { base, colours, mirador, word }) => {
  const site = await startSite(base, mirador);
  try {
    if (word) return await search();
    const seen = {};
    for (const name of ["openseadragon", "mirador", "leaflet"]) seen[name] = await visit(name);
    return seen;
  } finally {
    site.close();
  }

  async function visit(name) {
    const page = await (await browser.newContext({ viewport: { width: 900, height: 700 } })).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const requests = [];
    page.on("response", (response) => {
      if (response.url().startsWith(base)) requests.push({ path: response.url().slice(base.length + 1), status: response.status() });
    });
    await page.goto(`http://127.0.0.1:${site.address().port}/${name}`);
    const whole = await settled(page, colours);
    const fullSize = page.waitForResponse((response) => FULL_SIZE.test(response.url()));
    await page.evaluate(() => globalThis.closer());
    await fullSize;
    await settled(page, colours);
    await page.context().close();
    return { whole, requests };
  }

  async function search() {
    const page = await (await browser.newContext({ viewport: { width: 1200, height: 700 } })).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(`http://127.0.0.1:${site.address().port}/search`);
    const before = await settled(page, colours);
    await page.getByRole("searchbox").or(page.getByRole("combobox")).or(page.getByRole("textbox")).first().fill(word);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: word }).or(page.locator("li", { hasText: word })).last().click();
    for (let look = 0; ; look += 1) {
      const after = await settled(page, colours);
      if (JSON.stringify(after) !== JSON.stringify(before) || look === 20) return { before, after };
    }
  }
});

/** Starts a site with a page for each viewer, whose function `closer` zooms in. */
async function startSite(base, mirador) {
  const { resolve } = createRequire(import.meta.url);
  const files = {
    "/openseadragon.js": resolve("openseadragon"),
    "/mirador.js": mirador,
    "/leaflet.js": resolve("leaflet/dist/leaflet.js"),
    "/leaflet.css": resolve("leaflet/dist/leaflet.css"),
    "/leaflet-iiif.js": resolve("leaflet-iiif"),
  };
  const frame = (head, code) =>
    `<!doctype html><html lang="en"><link rel="icon" href="data:,"><body style="margin: 0"><div id="viewer" style="position: fixed; inset: 0"></div>
    ${head}<script>${code}</script></body></html>`;
  const script = (path) => `<script src="${path}"></script>`;
  const pages = {
    "/openseadragon": frame(
      script("/openseadragon.js"),
      `globalThis.viewer = OpenSeadragon({ id: "viewer", crossOriginPolicy: "Anonymous", drawer: "canvas", showNavigationControl: false,
        animationTime: 0, tileSources: ${JSON.stringify(`${base}/info.json`)} });
      globalThis.closer = () => viewer.viewport.zoomTo(viewer.viewport.imageToViewportZoom(1), null, true);`,
    ),
    "/mirador": frame(
      script("/mirador.js"),
      `Mirador.viewer({ id: "viewer", osdConfig: { crossOriginPolicy: "Anonymous", drawer: "canvas" },
        windows: [{ manifestId: ${JSON.stringify(`${base}/manifest.json`)} }] });
      globalThis.closer = () => { for (let press = 0; press < 3; press += 1) document.querySelector("[aria-label='Zoom in']").click(); };`,
    ),
    "/search": frame(
      script("/mirador.js"),
      `Mirador.viewer({ id: "viewer", osdConfig: { crossOriginPolicy: "Anonymous", drawer: "canvas" },
        windows: [{ manifestId: ${JSON.stringify(`${base}/manifest.json`)}, sideBarOpen: true, defaultSideBarPanel: "search", sideBarPanel: "search" }] });`,
    ),
    "/leaflet": frame(
      `<link rel="stylesheet" href="/leaflet.css">${script("/leaflet.js")}${script("/leaflet-iiif.js")}`,
      `const map = L.map("viewer", { center: [0, 0], zoom: 0, crs: L.CRS.Simple, fadeAnimation: false, zoomAnimation: false });
      const layer = L.tileLayer.iiif(${JSON.stringify(`${base}/info.json`)}).addTo(map);
      globalThis.closer = () => map.setZoom(layer.maxZoom);`,
    ),
  };
  const site = createServer(async ({ url }, response) => {
    const file = files[url];
    const [, ending] = file?.match(/\.(\w+)$/) ?? [];
    response.setHeader("Content-Type", TYPES[ending] ?? "text/html; charset=utf-8");
    response.end(file ? await readFile(file) : pages[url]);
  });
  await new Promise((listening) => site.listen(0, "127.0.0.1", listening));
  return site;
}

/** Waits until two screenshots show the colours in the same places, and returns these. */
async function settled(page, colours) {
  let last = "";
  for (let look = 0; look < 80; look += 1) {
    await page.waitForTimeout(250);
    const places = placesIn(decodePng(await page.screenshot()), colours);
    if (places.some(Boolean) && JSON.stringify(places) === last) return places;
    last = JSON.stringify(places);
  }
  throw new Error(`the picture does not settle: ${last}`);
}

/** Returns the average place of each colour in fractions of the window, or null if the colour is not visible. */
function placesIn({ width, height, channels, pixels }, colours) {
  return colours.map((colour) => {
    const sum = { x: 0, y: 0, count: 0 };
    for (let at = 0; at < width * height; at += 1) {
      if (colour.some((value, channel) => Math.abs(pixels[at * channels + channel] - value) > 6)) continue;
      sum.x += at % width;
      sum.y += Math.floor(at / width);
      sum.count += 1;
    }
    return sum.count < 100 ? null : [sum.x / sum.count / width, sum.y / sum.count / height];
  });
}
