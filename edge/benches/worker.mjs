// How many requests for a finished content the built Worker answers in a second, beside a minimal one in JavaScript that has the same
// KV record: under miniflare, 20 connections, in turns.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";
import { PICTURE, PLAIN, start } from "../tests/wire.mjs";

const ROUNDS = 12;
const SECONDS = 3;
const CONNECTIONS = 20;

const run = promisify(execFile);
const load = fileURLToPath(new URL("load.mjs", import.meta.url));

async function rate(url, seconds) {
  const { stdout } = await run(process.execPath, [load, url, String(CONNECTIONS), String(seconds)]);
  return Number(stdout);
}

const edge = await start({}, PLAIN);
const id = await edge.content("http://example.com/finished.jpg", "ready");
const minimal = new Miniflare(
  convertV4MiniflareOptions({
    modules: true,
    script: await readFile(new URL("minimal.js", import.meta.url), "utf8"),
    compatibilityDate: "2026-11-01",
    kvNamespaces: ["FINISHED"],
  }),
);
const store = await minimal.getKVNamespace("FINISHED");
await store.put(id, await edge.finished.get(id));

const urls = { edgezoom: edge.address, minimal: (await minimal.ready).origin };
for (const name of Object.keys(urls)) {
  urls[name] += `/v1/content/${id}`;
  const { dzi } = await (await fetch(urls[name])).json();
  if (dzi.width !== PICTURE.width) throw new Error(`${name} answers something else`);
  await rate(urls[name], 1); // warms up
}

const rates = { edgezoom: [], minimal: [] };
for (let round = 0; round < ROUNDS; round++) {
  // The one that comes second finds the machine warmer.
  const inTurn = Object.entries(urls);
  for (const [name, url] of round % 2 ? inTurn.reverse() : inTurn) rates[name].push(await rate(url, SECONDS));
}
const median = (figures) => figures.toSorted((a, b) => a - b)[figures.length >> 1];
const [ours, theirs] = [median(rates.edgezoom), median(rates.minimal)];
for (const [name, figures] of Object.entries(rates)) {
  console.log(`${name.padEnd(9)} ${median(figures).toFixed(0)} requests/s (${figures.map((figure) => figure.toFixed(0)).join(" ")})`);
}
console.log(`ratio     ${(ours / theirs).toFixed(2)} (median of ${ROUNDS} rounds of ${SECONDS} s, ${CONNECTIONS} connections)`);
await Promise.all([edge.close(), minimal.dispose()]);
