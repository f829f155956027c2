// `cargo xtask bench worker`: requests per second and CPU time per request of the built Worker, for a finished content
// and for its share page, beside a minimal Worker in JavaScript that reads the same value from KV; and the time from a
// new isolate to its first response. The Workers are in one process and take short turns, because the machine's speed
// varies.

import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";
import { DATE, PICTURE, PLAIN, start } from "../tests/system.mjs";

const TURNS = 300;
const TURN_SECONDS = 0.1;
const WARM_UP_SECONDS = 3;
const CONNECTIONS = 20;
const ISOLATES = 40;

/**
 * A Worker that loads the Worker `name` as a new isolate for each `id`, and sends it a request that needs no binding.
 */
const HOST = `
  import edgezoom from "./edgezoom.txt";
  import shared from "./shared.txt";
  import minimal from "./minimal.txt";
  import wasm from "./wasm.bin";

  const COMMON = { compatibilityDate: "${DATE}", env: { TILER_TOKEN: "token-of-the-benchmark" }, mainModule: "index.js" };
  const WORKERS = {
    edgezoom: { ...COMMON, modules: { "index.js": edgezoom, "shared.js": shared, "index_bg.wasm": { wasm } } },
    minimal: { ...COMMON, modules: { "index.js": minimal } },
  };

  export default {
    fetch(request, env) {
      const { searchParams } = new URL(request.url);
      const [name, id] = [searchParams.get("name"), searchParams.get("id")];
      return env.LOADER.get(name + id, () => WORKERS[name]).getEntrypoint().fetch("http://localhost/health");
    },
  };
`;

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const minimal = await readFile(new URL("minimal.js", import.meta.url), "utf8");

await measureRequests();
await measureStarts();

async function measureRequests() {
  const edge = await start({}, PLAIN, { name: "minimal", modules: true, script: minimal });
  const id = await edge.content("http://example.com/finished.jpg", "ready");
  const { edgezoom, minimal: other } = edge.addresses;
  const urls = { content: `${edgezoom}/v1/content/${id}`, "share page": `${edgezoom}/${id}`, minimal: `${other}/v1/content/${id}` };
  for (const url of [urls.content, urls.minimal]) {
    const { dzi } = await (await fetch(url)).json();
    if (dzi.width !== PICTURE.width) throw new Error(`${url} has a wrong response`);
  }
  for (const url of Object.values(urls)) await load(url, WARM_UP_SECONDS);
  const turns = Object.fromEntries(Object.keys(urls).map((name) => [name, []]));
  for (let turn = 0; turn < TURNS; turn++) {
    // The order alternates: later turns find the machine warmer.
    const inTurn = Object.entries(urls);
    for (const [name, url] of turn % 2 ? inTurn.reverse() : inTurn) turns[name].push(await load(url, TURN_SECONDS));
  }
  const cost = (name) => sum(turns[name].map(({ cpu }) => cpu)) / sum(turns[name].map(({ responses }) => responses));
  for (const [name, all] of Object.entries(turns)) {
    const rates = middle(all.map(({ rate }) => rate), 0);
    console.log(`${name.padEnd(10)} ${rates} requests/s, ${cost(name).toFixed(0)} us of CPU time per request`);
  }
  const ratios = turns.content.map(({ rate }, turn) => rate / turns.minimal[turn].rate);
  console.log(`content to minimal: ${middle(ratios, 2)} of the rate, ${(cost("content") / cost("minimal")).toFixed(2)} of the CPU time`);
  console.log(`${TURNS} turns of ${TURN_SECONDS} s each, ${CONNECTIONS} connections; medians, with the middle half`);
  agent.destroy();
  await edge.close();
}

/** Keeps all connections busy. Returns the number of responses, their rate per second, and CPU time in microseconds. */
async function load(url, seconds) {
  const [begin, cpu] = [performance.now(), await cpuTime()];
  let responses = 0;
  async function keepAsking() {
    while (performance.now() < begin + seconds * 1000) {
      await ask(url);
      responses++;
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, keepAsking));
  const rate = (responses * 1000) / (performance.now() - begin);
  return { responses, rate, cpu: (await cpuTime()) - cpu };
}

function ask(url) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.on("end", resolve).on("error", reject).resume();
    });
    asked.on("error", reject).end();
  });
}

/** Returns the CPU time of workerd, our only child, in microseconds. A tick of Linux is 10 ms. */
async function cpuTime() {
  const [child] = (await readFile(`/proc/self/task/${process.pid}/children`, "utf8")).split(" ");
  const fields = (await readFile(`/proc/${child}/stat`, "utf8")).split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/**
 * Measures the first request to a Worker that was just loaded, minus the second one. Worker Loader makes any number of
 * isolates in one process (https://developers.cloudflare.com/workers/runtime-apis/bindings/worker-loader/).
 */
async function measureStarts() {
  const built = (name) => readFile(new URL(`../build/worker/${name}`, import.meta.url));
  const host = {
    name: "host",
    compatibilityDate: DATE,
    modules: [
      { type: "ESModule", path: "host.mjs", contents: HOST },
      { type: "Text", path: "edgezoom.txt", contents: await built("index.js") },
      { type: "Text", path: "shared.txt", contents: await built("shared.js") },
      { type: "Text", path: "minimal.txt", contents: minimal },
      { type: "Data", path: "wasm.bin", contents: await built("index_bg.wasm") },
    ],
    workerLoaders: { LOADER: {} },
  };
  const miniflare = new Miniflare(convertV4MiniflareOptions({ workers: [host] }));
  async function time(name, id) {
    const begin = performance.now();
    await (await miniflare.dispatchFetch(`http://bench.test/?name=${name}&id=${id}`)).text();
    return performance.now() - begin;
  }
  const times = { edgezoom: [], minimal: [] };
  for (let id = -3; id < ISOLATES; id++) {
    for (const [name, all] of Object.entries(times)) {
      const [first, second] = [await time(name, id), await time(name, id)];
      if (id >= 0) all.push(first - second); // those below 0 warm up the process
    }
  }
  await miniflare.dispose();
  for (const [name, all] of Object.entries(times)) {
    console.log(`${name.padEnd(10)} ${middle(all, 1)} ms from a new isolate to its first response, of ${ISOLATES} isolates`);
  }
}

/** Returns the median and the middle half. */
function middle(figures, digits) {
  const sorted = figures.toSorted((a, b) => a - b);
  const [low, median, high] = [1, 2, 3].map((quarter) => sorted[(sorted.length * quarter) >> 2].toFixed(digits));
  return `${median} (${low} to ${high})`;
}

function sum(figures) {
  return figures.reduce((total, figure) => total + figure, 0);
}
