// `cargo xtask bench regions`, second half: CPU time, memory and bytes of the regions that the built module renders, in
// V8 alone (Node) and in workerd. The first half (`tests/benches/regions.rs`) has written the tiles.

import { readFile, readdir } from "node:fs/promises";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";
import { DATE } from "../tests/system.mjs";

const ROUNDS = 40;
const BUILT = new URL("../build/worker/", import.meta.url);
const TILES = new URL("../../target/bench/regions/", import.meta.url);

/** A Worker that holds a case's tiles and renders them as often as it is asked to. */
const HOST = `
  import { render } from "./render.js";
  let held;
  export default {
    async fetch(request) {
      const { searchParams } = new URL(request.url);
      if (request.method === "POST") {
        const { words, lengths } = JSON.parse(searchParams.get("case"));
        const bytes = new Uint8Array(await request.arrayBuffer());
        let end = 0;
        held = { words: Uint32Array.from(words), tiles: lengths.map((length) => bytes.subarray(end, (end += length))) };
      }
      let picture;
      for (let round = Number(searchParams.get("rounds")); round > 0; round--) picture = await render(held.words, held.tiles);
      return new Response(picture);
    },
  };
`;

if (isMainThread) await main();
else parentPort.postMessage(await inV8(workerData));

async function main() {
  const cases = await readCases();
  const workerd = await startWorkerd();
  console.log("| picture, rendering | V8: first | V8: warm ms | workerd: warm ms | memory MB | KB |");
  console.log("|---|---|---|---|---|---|");
  for (const one of cases) {
    // Cold: a new isolate, whose code V8 has not optimised.
    const { first, warm, megabytes, length } = await new Promise((resolve, reject) =>
      new Worker(new URL(import.meta.url), { workerData: one }).on("message", resolve).on("error", reject),
    );
    const inWorkerd = await workerd.measure(one);
    const figures = [first, warm, inWorkerd, megabytes, length / 1000].map((figure) => figure.toFixed(figure < 20 ? 1 : 0));
    console.log(`| ${[one.name, ...figures].join(" | ")} |`);
  }
  await workerd.stop();
}

async function readCases() {
  const cases = [];
  for (const picture of ["grain", "photograph"]) {
    for (const number of (await readdir(new URL(`${picture}/`, TILES))).filter((name) => /^\d$/.test(name)).sort()) {
      const folder = new URL(`${picture}/${number}/`, TILES);
      const names = (await readdir(folder)).filter((name) => name.endsWith(".tile")).sort();
      const [name, words] = await Promise.all(["name", "words"].map((file) => readFile(new URL(file, folder), "utf8")));
      const tiles = await Promise.all(names.map(async (file) => new Uint8Array(await readFile(new URL(file, folder)))));
      cases.push({ name, words: words.split(" ").map(Number), tiles });
    }
  }
  return cases;
}

/**
 * Compiles the module and renders a case, the first time and then many times. Times in milliseconds: the first one's
 * wall time, the others' CPU time.
 */
async function inV8({ words, tiles }) {
  const wasm = await readFile(new URL("regions_bg.wasm", BUILT));
  const script = await readFile(new URL("regions.js", BUILT), "utf8");
  const begin = performance.now();
  globalThis.compiled = new WebAssembly.Module(wasm);
  // Node imports no wasm modules. The script tells its memory to nobody.
  const own = script
    .replace(/import (\w+) from\s*"\.\/regions_bg\.wasm";/, "const $1=globalThis.compiled;")
    .replace(/new WebAssembly\.Instance\(/g, "globalThis.instance=$&");
  const { __wbg_reset_state: startInstance, render } = await import(`data:text/javascript,${encodeURIComponent(own)}`);
  startInstance();
  const all = new Uint8Array(tiles.reduce((sum, { length }) => sum + length, 0));
  tiles.reduce((end, tile) => (all.set(tile, end), end + tile.length), 0);
  const lengths = Uint32Array.from(tiles, ({ length }) => length);
  const picture = render(Uint32Array.from(words), all, lengths);
  const first = performance.now() - begin;
  const { memory } = globalThis.instance.exports;
  const megabytes = memory.buffer.byteLength / 1e6;
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    render(Uint32Array.from(words), all, lengths);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return { first, warm: times.toSorted((a, b) => a - b)[ROUNDS >> 1], megabytes, length: picture.length };
}

async function startWorkerd() {
  const [render, script, wasm] = await Promise.all([
    readFile(new URL("../src/regions/render.js", import.meta.url)),
    readFile(new URL("regions.js", BUILT)),
    readFile(new URL("regions_bg.wasm", BUILT)),
  ]);
  const host = {
    name: "host",
    compatibilityDate: DATE,
    modules: [
      { type: "ESModule", path: "host.mjs", contents: HOST },
      { type: "ESModule", path: "render.js", contents: render },
      { type: "ESModule", path: "regions.js", contents: script },
      { type: "CompiledWasm", path: "regions_bg.wasm", contents: wasm },
    ],
  };
  const miniflare = new Miniflare(convertV4MiniflareOptions({ workers: [host] }));
  const ask = async (query, body) => {
    const response = await miniflare.dispatchFetch(`http://bench.test/?${new URLSearchParams(query)}`, body && { method: "POST", body });
    return (await response.arrayBuffer()).byteLength;
  };
  return {
    /** Returns the CPU time of a rendering in milliseconds. */
    async measure({ words, tiles }) {
      const one = JSON.stringify({ words, lengths: tiles.map(({ length }) => length) });
      await ask({ case: one, rounds: ROUNDS }, Buffer.concat(tiles));
      const before = await cpuTime();
      await ask({ rounds: ROUNDS });
      return ((await cpuTime()) - before) / ROUNDS;
    },
    stop: () => miniflare.dispose(),
  };
}

/** Returns the CPU time of workerd, our only child, in milliseconds. A tick of Linux is 10 ms. */
async function cpuTime() {
  const [child] = (await readFile(`/proc/self/task/${process.pid}/children`, "utf8")).split(" ");
  const fields = (await readFile(`/proc/${child}/stat`, "utf8")).split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
