// `npm run build:viewer && npx node edge/benches/collection_page.mjs [entries]`: the page of a collection in the built Worker,
// opened by a phone with a slow processor and connection: when the first preview is visible, and when all in the window are.
// Previews are stand-ins of a typical size.

import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { newPage, startBrowser } from "../viewer/tests/browser.mjs";
import { serve } from "../viewer/tests/servers.mjs";
import { start } from "../tests/system.mjs";

const ENTRIES = Number(process.argv[2] ?? 100_000);
const LINES = 10_000;
const TIMES = 9;
/** Lighthouse's phone: a processor four times as slow, 1.6 Mbit/s with a latency of 150 ms. */
const SLOWER = 4;
const SLOW = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 };
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 3, isMobile: true, hasTouch: true };
/** Size of a photograph's thumbnail of 320 pixels. */
const PREVIEW_BYTES = 15_000;
const TYPES = { css: "text/css", js: "text/javascript", svg: "image/svg+xml", png: "image/png" };

/** The Worker, in which all entries are ready at once. */
const READY = `
  import edge, { CollectionObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  export class CollectionObject extends Inner {
    async alarm() {}
    async end(after) {
      for (const { id } of this.ctx.storage.sql.exec("SELECT id FROM entries WHERE number > ? ORDER BY number LIMIT ${LINES}", after).toArray()) {
        await this.note(JSON.stringify({ id, at: Date.now(), end: "ready" }));
      }
    }
  }

  export default {
    queue() {},
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/ready") return new Response(await env.COLLECTIONS.getByName("bench").end(Number(searchParams.get("after"))));
      return edge.fetch(request, env, context);
    },
  };
`;

/** Runs in the page: records when the first preview in the window is visible, and when all are. */
function watch() {
  const look = () => {
    const inWindow = [...document.querySelectorAll(".entries img")].filter((picture) => picture.getBoundingClientRect().top < innerHeight);
    const seen = inWindow.filter(({ complete, naturalWidth }) => complete && naturalWidth > 0);
    if (seen.length > 0) globalThis.first ??= performance.now();
    if (seen.length > 0 && seen.length === inWindow.length) globalThis.all = performance.now();
    else requestAnimationFrame(look);
  };
  addEventListener("DOMContentLoaded", look);
}

const preview = await previewOf();
let system;
const front = await serve(async ({ pathname, search }) => {
  if (pathname.endsWith("/thumbnail.jpg")) return { type: "image/jpeg", body: preview };
  const [, ending] = /^\/assets\/.*\.(\w+)$/.exec(pathname) ?? [];
  const headers = { "Content-Encoding": "gzip" };
  if (ending) return { type: TYPES[ending] ?? "application/octet-stream", headers, body: gzipSync(await readFile(new URL(`../build/assets${pathname}`, import.meta.url))) };
  const { status, type, body, headers: sent } = await system.send(pathname + search);
  const policy = sent.get("content-security-policy");
  return { status, type, headers: { ...headers, ...(policy && { "Content-Security-Policy": policy }) }, body: gzipSync(body) };
});

/** Returns a JPEG with noise, of about the typical size. */
async function previewOf() {
  const browser = await startBrowser();
  const page = await newPage(browser);
  const base64 = await page.evaluate((bytes) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 240 });
    const context = canvas.getContext("2d");
    let seed = 1;
    for (let y = 0; y < 240; y += 2) {
      for (let x = 0; x < 320; x += 2) {
        seed = (seed * 48271) % 0x7fffffff;
        context.fillStyle = `hsl(${x} 50% ${40 + (y / 12) + (seed % 16)}%)`;
        context.fillRect(x, y, 2, 2);
      }
    }
    const made = Array.from({ length: 19 }, (_, step) => canvas.toDataURL("image/jpeg", 0.95 - step / 20).split(",")[1]);
    return made.find((one) => one.length * 0.75 < bytes);
  }, PREVIEW_BYTES);
  await browser.close();
  return Buffer.from(base64, "base64");
}

system = await start({ BASE_URL: front.origin }, READY);
const headers = { Authorization: `Bearer ${"a key of the benchmark ".repeat(2)}` };
await system.send("/v1/collections/bench", { method: "PUT", headers, body: '{"title":"Bench"}' });
for (let from = 0; from < ENTRIES; from += LINES) {
  const line = (_, index) => JSON.stringify({ url: `https://host-${index % 500}.museum.example/${from + index}.tif`, title: `Drawing ${from + index} of a bridge`, alt: "A stone bridge" });
  await system.send("/v1/collections/bench/entries", { method: "POST", headers, body: Array.from({ length: LINES }, line).join("\n") });
  await system.send(`/ready?after=${from}`);
}
const { counts } = JSON.parse((await system.send("/v1/collections/bench")).body);
const browser = await startBrowser();
const seen = [];
for (let time = 0; time < TIMES; time += 1) {
  const page = await newPage(browser, PHONE);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", SLOW);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  await page.addInitScript(watch);
  await page.goto(`${front.origin}/c/bench`, { waitUntil: "commit" });
  seen.push(await (await page.waitForFunction(() => globalThis.all && { first: globalThis.first, all: globalThis.all })).jsonValue());
  await page.context().close();
}
const median = (name) => seen.map((one) => one[name]).sort((a, b) => a - b)[Math.floor(TIMES / 2)].toFixed(0);
console.log(`${counts.ready} pictures, previews of ${preview.length} bytes: the first preview is visible after ${median("first")} ms, all in the window after ${median("all")} ms (medians of ${TIMES})`);
await Promise.all([browser.close(), system.close(), front.close()]);
