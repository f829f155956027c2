// Measures a share page on a slow connection, throttled by the browser: when the picture is visible, and what was
// loaded by then.

import { request } from "node:http";
import { gzipSync } from "node:zlib";

import { newPage } from "./browser.mjs";
import { serve } from "./servers.mjs";

/** Lighthouse's slow 4G: 1.6 Mbit/s with a latency of 150 ms. */
const LATENCY_S = 0.15;
const BYTES_PER_S = 1.6e6 / 8;
const SLOW = { offline: false, latency: LATENCY_S * 1000, downloadThroughput: BYTES_PER_S, uploadThroughput: 0.75e6 / 8 };

/** Typical size of a photograph's tile of 512 × 512 pixels. */
const TILE_BYTES = 50_000;

/**
 * Returns `{ seconds, network, bytes, rounds }`: the time until the picture is visible, and the network's part of it, for
 * the sequential requests and all bytes that are loaded by the end of the first tile, which shows the whole picture. What
 * is loaded later does not count: a busy machine paints late.
 */
export async function firstPaint(browser, address) {
  const page = await newPage(browser);
  const loads = new Map();
  const session = await page.context().newCDPSession(page);
  session.on("Network.requestWillBeSent", ({ requestId, timestamp, request }) => loads.set(requestId, { from: timestamp, url: request.url }));
  session.on("Network.loadingFinished", ({ requestId, timestamp, encodedDataLength }) => Object.assign(loads.get(requestId), { to: timestamp, bytes: encodedDataLength }));
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", SLOW);
  await page.addInitScript(watch);
  await page.goto(address, { waitUntil: "commit" });
  const seen = await page.waitForFunction(() => globalThis.pictureSeen);
  const seconds = (await seen.jsonValue()) / 1000;
  const loaded = [...loads.values()].filter(({ to }) => to !== undefined).sort((a, b) => a.to - b.to);
  const first = loaded.find(({ url }) => url.includes("_files/"));
  const needed = loaded.filter(({ to }) => to <= first.to);
  const bytes = needed.reduce((sum, load) => sum + load.bytes, 0);
  for (const load of needed) load.round = 1 + Math.max(0, ...needed.filter(({ to }) => to <= load.from).map(({ round }) => round));
  const rounds = Math.max(...needed.map(({ round }) => round));
  await page.context().close();
  return { seconds, network: (1 + rounds) * LATENCY_S + bytes / BYTES_PER_S, bytes, rounds }; // one more to connect
}

/** Runs in the page: records when the middle of the picture has a colour. */
function watch() {
  const look = () => {
    const canvas = document.getElementById("stage")?.shadowRoot?.querySelector("canvas");
    const { data } = canvas?.width ? canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 2, 1, 1) : {};
    if (data?.[3] === 255) globalThis.pictureSeen = performance.now();
    else requestAnimationFrame(look);
  };
  addEventListener("DOMContentLoaded", look);
}

/** Starts a proxy that compresses text, like Cloudflare. URLs in its pages lead to the proxy. */
export async function compressed(origin) {
  const server = await serve(async ({ pathname, search }) => {
    const { status, headers, body } = await fetched(origin + pathname + search);
    const type = headers["content-type"] ?? "";
    const isText = /text|json|javascript/.test(type);
    const own = { "Access-Control-Allow-Origin": "*" };
    if (!isText) return { status, type, headers: own, body: padded(body, pathname) };
    const text = Buffer.from(body.toString().replaceAll(origin, server.origin));
    return { status, type, headers: { ...own, "Content-Encoding": "gzip" }, body: gzipSync(text) };
  });
  return server;
}

/** Pads the fake's drawings of full tiles to the size of photographs: white space may follow an SVG. */
function padded(body, pathname) {
  const isWhole = /_files\/(9|\d\d)\//.test(pathname);
  return isWhole ? Buffer.concat([body, Buffer.alloc(Math.max(TILE_BYTES - body.length, 0), " ")]) : body;
}

/** Fetches without following redirects and without a browser's headers. */
function fetched(address) {
  return new Promise((resolve, reject) => {
    const asked = request(address, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part)).on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }));
    });
    asked.on("error", reject).end();
  });
}
