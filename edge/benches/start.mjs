// How long a new isolate takes to its first response: the time of the first request to a Worker that the runtime has
// just loaded, without that of the second. Worker Loader makes as many isolates as are asked for in one process
// (https://developers.cloudflare.com/workers/runtime-apis/bindings/worker-loader/).

import { readFile } from "node:fs/promises";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";

const built = (name) => readFile(new URL(`../build/worker/${name}`, import.meta.url));

/** Loads the Worker `name` as a new isolate under each `id`, and sends it a request that needs no binding. */
const HOST = `
  import edgezoom from "./edgezoom.txt";
  import minimal from "./minimal.txt";
  import wasm from "./wasm.bin";

  const COMMON = { compatibilityDate: "2026-11-01", env: { TILER_TOKEN: "token-of-the-benchmark" }, mainModule: "index.js" };
  const WORKERS = {
    edgezoom: { ...COMMON, modules: { "index.js": edgezoom, "index_bg.wasm": { wasm } } },
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

/** Milliseconds from a new isolate to its first response, for each Worker: one figure an isolate. */
export async function startTimes(minimal, isolates) {
  const host = {
    name: "host",
    compatibilityDate: "2026-11-01",
    modules: [
      { type: "ESModule", path: "host.mjs", contents: HOST },
      { type: "Text", path: "edgezoom.txt", contents: await built("index.js") },
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
  for (let id = -3; id < isolates; id++) {
    for (const [name, all] of Object.entries(times)) {
      const [first, second] = [await time(name, id), await time(name, id)];
      if (id >= 0) all.push(first - second); // the ones before warm up the process
    }
  }
  await miniflare.dispose();
  return times;
}
