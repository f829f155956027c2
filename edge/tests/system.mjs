// The built Worker in miniflare, with counters for tests: how often KV was read, and what was queued. The Worker under
// test is the one that is deployed; another entry module around its own counts.

import { readFile } from "node:fs/promises";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";

export const TOKEN = "token-of-the-tests";
export const ADMIN_TOKEN = "operators-token-of-the-tests";
export const ORIGIN = "http://zoom.test";

const COUNTING = `
  import edge from "./index.js";
  export * from "./index.js";

  let reads = 0;
  const jobs = []; // what is queued: the contents
  const messages = []; // and the whole messages

  export default {
    queue(batch) {
      jobs.push(...batch.messages.map(({ body }) => body.id));
      messages.push(...batch.messages.map(({ body }) => body));
    },

    fetch(request, env) {
      if (new URL(request.url).pathname === "/seen") return Response.json({ reads, jobs, messages });
      const get = (...of) => (reads++, env.FINISHED.get(...of));
      const put = (...of) => env.FINISHED.put(...of);
      const list = (...of) => env.FINISHED.list(...of);
      return edge.fetch(request, { ...env, FINISHED: Object.assign(Object.create(env.FINISHED), { get, put, list }) });
    },
  };
`;

/** The Worker as it is deployed, and nothing seen. */
export const PLAIN = `export { default } from "./index.js"; export * from "./index.js";`;

const built = (name) => readFile(new URL(`../build/worker/${name}`, import.meta.url));

/** What every Worker has: a KV store that is the same for all, and a socket of its own. */
const COMMON = {
  compatibilityDate: "2026-11-01",
  kvNamespaces: ["FINISHED"],
  unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
};

/** A system of its own; `bindings` override its variables, `entry` is the module that starts it, `others` are Workers beside it. Close
 * it with `close`. */
export async function start(bindings = {}, entry = COUNTING, ...others) {
  const edgezoom = {
    ...COMMON,
    name: "edgezoom",
    modules: [
      { type: "ESModule", path: "entry.mjs", contents: entry },
      { type: "ESModule", path: "index.js", contents: await built("index.js") },
      { type: "CompiledWasm", path: "index_bg.wasm", contents: await built("index_bg.wasm") },
    ],
    bindings: { TILER_TOKEN: TOKEN, ADMIN_TOKENS: `anna:${ADMIN_TOKEN}`, BASE_URL: ORIGIN, ...bindings },
    r2Buckets: ["PYRAMIDS"],
    queueProducers: { JOBS: "edgezoom-jobs" },
    queueConsumers: { "edgezoom-jobs": { maxBatchSize: 1, maxBatchTimeout: 0 } },
    durableObjects: {
      BACKLOG: { className: "BacklogObject", useSQLite: true },
      CONTENTS: { className: "ContentsObject", useSQLite: true },
      OPERATOR: { className: "OperatorObject", useSQLite: true },
      CONVERSIONS: { className: "ConversionObject", useSQLite: true },
    },
    ratelimits: {
      CREATIONS: { namespace_id: "1001", simple: { limit: 20, period: 60 } },
      CREATIONS_56: { namespace_id: "1002", simple: { limit: 30, period: 60 } },
      CREATIONS_48: { namespace_id: "1003", simple: { limit: 40, period: 60 } },
    },
  };
  // The emulator of `cargo xtask dev` has the dataset.
  if (others.some(({ name }) => name === "edgezoom-local")) {
    edgezoom.serviceBindings = { METRICS: { name: "edgezoom-local", entrypoint: "Metrics" } };
  }
  const workers = [edgezoom, ...others.map((other) => ({ ...COMMON, ...other }))];
  const miniflare = new Miniflare(convertV4MiniflareOptions({ workers }));

  const fetch = (path, init) => miniflare.dispatchFetch(ORIGIN + path, { redirect: "manual", ...init });
  const tell = (id, what, body) =>
    fetch(`/internal/content/${id}/${what}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${TOKEN}` },
      body: body && JSON.stringify(body),
    });

  return {
    /** Where it listens, for clients that bring their own HTTP. */
    address: (await miniflare.ready).origin,
    /** Where each Worker listens by itself, by its name. */
    addresses: Object.fromEntries(await Promise.all(workers.map(async ({ name }) => [name, (await miniflare.unsafeGetDirectURL(name)).origin]))),
    fetch,
    /** What the counting entry saw. */
    seen: async () => (await fetch("/seen")).json(),
    /** The content object of a source, asked for by its URL. */
    ask: async (url) => (await fetch(`/v1/content/?url=${encodeURIComponent(url)}`)).json(),
    /** The content object with an id. */
    find: async (id) => (await fetch(`/v1/content/${id}`)).json(),
    /** A tiler's claim; without a request it is that of an older tiler. */
    claim: (id, request) => tell(id, "claim", request),
    report: (id, attempt, outcome) => tell(id, "report", { attempt, outcome }),
    reset: (id) => tell(id, "reset"),
    /** A call of the operator. */
    admin: (call, body = {}, token = ADMIN_TOKEN) =>
      fetch(`/internal/admin/${call}`, { method: "POST", headers: { Authorization: `Bearer ${token}` }, body: JSON.stringify(body) }),
    finished: await miniflare.getKVNamespace("FINISHED"),
    pyramids: await miniflare.getR2Bucket("PYRAMIDS"),
    close: () => miniflare.dispose(),
  };
}

/** Tries again until `check` gives something true; fails after five seconds. */
export async function eventually(check) {
  for (const end = Date.now() + 5000; ; ) {
    const result = await check();
    if (result) return result;
    if (Date.now() > end) throw new Error(`never came true: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The description of a picture, as a tiler reports it. */
export const PICTURE = { width: 8000, height: 6000, tileSize: 512, tileOverlap: 0, tileFormat: "jpg" };
