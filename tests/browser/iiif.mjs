// Other programs read the service by IIIF, from another site: OpenSeadragon by `info.json`, Mirador by the manifest. Prints what
// was seen as JSON; whether that is right is for the test to say. Argument: { browser, base, colours, mirador }, the last its
// script.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";

import { chromium } from "playwright-core";

const { browser: executablePath, base, colours, mirador } = JSON.parse(process.argv[2]);
const PATIENCE_MS = 60_000;
/** A tile of the full size. */
const FULL_SIZE = /,512,512\/512,512\/0\/default\.jpg$/;

const { resolve } = createRequire(import.meta.url);
const scripts = {
  "/openseadragon.js": resolve("openseadragon"),
  "/mirador.js": mirador,
};
const frame = (script, code) =>
  `<!doctype html><html lang="en"><link rel="icon" href="data:,"><body style="margin: 0"><div id="viewer" style="position: fixed; inset: 0"></div>
  <script src="${script}"></script><script>${code}</script></body></html>`;
const pages = {
  "/openseadragon": frame(
    "/openseadragon.js",
    `globalThis.viewer = OpenSeadragon({ id: "viewer", crossOriginPolicy: "Anonymous", drawer: "canvas", showNavigationControl: false,
      animationTime: 0, tileSources: ${JSON.stringify(`${base}/info.json`)} });
    globalThis.closer = () => viewer.viewport.zoomTo(viewer.viewport.imageToViewportZoom(1), null, true);`,
  ),
  "/mirador": frame(
    "/mirador.js",
    `Mirador.viewer({ id: "viewer", osdConfig: { crossOriginPolicy: "Anonymous", drawer: "canvas" },
      windows: [{ manifestId: ${JSON.stringify(`${base}/manifest.json`)} }] });
    globalThis.closer = () => { for (let press = 0; press < 3; press += 1) document.querySelector("[aria-label='Zoom in']").click(); };`,
  ),
};
const site = createServer(async ({ url }, response) => {
  const script = scripts[url];
  response.setHeader("Content-Type", script ? "text/javascript" : "text/html; charset=utf-8");
  response.end(script ? await readFile(script) : pages[url]);
});
await new Promise((listening) => site.listen(0, "127.0.0.1", listening));

const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : []; // Chromium's own does not work for root
const browser = await chromium.launch({ executablePath, args: [...sandbox, "--disable-quic"] });
// Of a context of its own, so that it does not come before the page with the viewer, which would then no longer be painted.
const reader = await (await browser.newContext()).newPage();
try {
  const seen = {};
  for (const name of ["openseadragon", "mirador"]) seen[name] = await visit(name);
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
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
  const whole = await settled(page);
  const fullSize = page.waitForResponse((response) => FULL_SIZE.test(response.url()));
  await page.evaluate(() => globalThis.closer());
  await fullSize;
  await settled(page);
  await page.context().close();
  return { whole, requests };
}

/** Where each of the colours is, on average, in parts of the window; null where it is not. Once two looks show the same. */
async function settled(page) {
  let last = "";
  for (let look = 0; look < 80; look += 1) {
    await page.waitForTimeout(250);
    const places = await placesIn(await page.screenshot());
    if (places.some(Boolean) && JSON.stringify(places) === last) return places;
    last = JSON.stringify(places);
  }
  throw new Error(`the picture does not settle: ${last}`);
}

function placesIn(screenshot) {
  return reader.evaluate(
    async ([encoded, colours]) => {
      const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${encoded}`)).blob());
      const { width, height } = picture;
      const context = new OffscreenCanvas(width, height).getContext("2d");
      context.drawImage(picture, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      return colours.map((colour) => {
        const sum = { x: 0, y: 0, count: 0 };
        for (let at = 0; at < width * height; at += 1) {
          if (colour.some((value, channel) => Math.abs(data[at * 4 + channel] - value) > 6)) continue;
          sum.x += at % width;
          sum.y += Math.floor(at / width);
          sum.count += 1;
        }
        return sum.count < 100 ? null : [sum.x / sum.count / width, sum.y / sum.count / height];
      });
    },
    [screenshot.toString("base64"), colours],
  );
}
