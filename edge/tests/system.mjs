// The built Worker in miniflare, as clients, tilers and the operator see it. The Worker under test is the deployed one;
// by default an entry module around its own counts reads of KV and queued messages.

import { readFile, statfs } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import { parse } from "smol-toml";
import { BEGIN, clocked } from "./clock.mjs";
import { PATIENCE_MS } from "./patience.mjs";

// Not imported: Node.js would parse its six megabytes a second time, for the names of its exports.
export const { Miniflare, convertV4MiniflareOptions } = createRequire(import.meta.url)("miniflare");

/**
 * Durable Objects flush each write, so tests would wait for the disk most of their time. Miniflare's files are in memory
 * if that has room for the largest uploads of three tests.
 */
const MEMORY = "/dev/shm";
const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
if (process.argv[1].endsWith(".test.mjs") && bavail * bsize > 2e9) process.env.TMPDIR = MEMORY;

export const TOKEN = "token-of-the-tests";
export const ADMIN_TOKEN = "operators-token-of-the-tests";
export const ORIGIN = "http://zoom.test";

const COUNTING = `
  import edge from "./index.js";
  export * from "./index.js";

  let reads = 0;
  const jobs = []; // ids of the queued contents
  const messages = []; // whole messages

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

/** An entry module that counts nothing. */
export const PLAIN = `export { default } from "./index.js"; export * from "./index.js";`;

/**
 * Returns an entry module that records calls of bindings, of the Worker and of the conversions' objects, as
 * `<binding>.<method>`, and those of the operator's object by its own methods: every isolate reads its lists each ten
 * seconds, whatever is requested. `/calls` returns and clears the record. Requests with `Through-Cache` use the
 * platform's cache.
 */
export const countingCalls = (bindings) => `
  import edge, { ConversionObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  let calls = [];

  /** The Worker checks the class of a binding by its constructor. */
  function counted(name, binding) {
    return new Proxy(binding, {
      get(target, property) {
        const value = target[property];
        if (property === "constructor" || typeof value !== "function") return value;
        if (name === "OPERATOR" && property === "getByName") return (...of) => counted(name, target.getByName(...of));
        // Methods of stubs have no apply().
        return (...of) => (calls.push(name + "." + property), target[property](...of));
      },
    });
  }
  const countedAll = (env) => ({ ...env, ...Object.fromEntries(${JSON.stringify(bindings)}.map((name) => [name, counted(name, env[name])])) });

  export class ConversionObject extends Inner {
    constructor(state, env) {
      super(state, countedAll(env));
    }
  }

  export default {
    queue() {},
    fetch(request, env, context) {
      if (new URL(request.url).pathname !== "/calls") return edge.fetch(request, countedAll(env), request.headers.has("Through-Cache") ? context : undefined);
      const made = calls;
      calls = [];
      return Response.json(made);
    },
  };
`;

const built = (name) => readFile(new URL(`../build/worker/${name}`, import.meta.url));

/** The modules of the Worker that emulates parts of Cloudflare on a developer's machine. */
export const LOCAL = await Promise.all(
  ["local/worker.js", "local/measurements.js", "local/stale_kv.js", "local/status.js", "queue/messages.js", "queue/queue.js"].map(async (path) => ({
    type: "ESModule",
    path,
    contents: await readFile(new URL(`../${path}`, import.meta.url), "utf8"),
  })),
);

/** Connections of all tests. The runtime closes one after five idle seconds. */
const AGENT = new Agent({ keepAlive: true, timeout: 4000 });

/** The date that says how the runtime behaves. */
export const { compatibility_date: DATE } = parse(await readFile(new URL("../../wrangler.toml", import.meta.url), "utf8"));

/** Settings of every Worker: one KV store for all, and a socket of its own. */
const COMMON = {
  compatibilityDate: DATE,
  kvNamespaces: ["FINISHED"],
  unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
};

const CLASSES = {
  BACKLOG: "BacklogObject",
  COLLECTIONS: "CollectionObject",
  CONTENTS: "ContentsObject",
  OPERATOR: "OperatorObject",
  CONVERSIONS: "ConversionObject",
  MESSAGES: "MessagesObject",
  TILERS: "TilerObject",
  UPLOADS: "UploadsObject",
};

/** Requests a minute that the rate limiters admit. */
const LIMITS = { CREATIONS: 20, CREATIONS_56: 30, CREATIONS_48: 40, RENDERINGS: 20, RENDERINGS_56: 30, RENDERINGS_48: 40 };

/** Places in an archive, for contents whose archive no test reads. */
const PLACES = { archive: { indexOffset: 90, indexLength: 9 }, previews: { large: { offset: 60, length: 9 }, thumbnail: { offset: 70, length: 9 } } };

/** The claim of a tiler without other jobs. */
export const ALONE = { tiler: 7, alone: true };

/** Description of a picture, as a tiler reports it. */
export const PICTURE = { width: 8000, height: 6000, tileSize: 512, tileOverlap: 0, tileFormat: "jpg" };

/** Returns the path that requests a content by its URL. */
export const byUrl = (url, parameters = "") => `/v1/content/?url=${encodeURIComponent(url)}${parameters}`;

/**
 * Starts a separate system. `bindings` override its variables, `entry` is its main module, and `others` are Workers
 * beside it.
 */
export const start = (bindings = {}, entry = COUNTING, ...others) => startWith({ bindings, entry, others });

/** Starts a separate system with a simulated clock. `limits` override the requests a minute of its rate limiters. */
export const startWithClock = (bindings, entry, limits) => startWith({ bindings, entry, limits: { ...LIMITS, ...limits }, hasClock: true });

/** Starts a separate system whose tilers run in containers of Docker's API at a socket. */
export const startWithContainers = (bindings, socket) => startWith({ bindings: { DEVELOPMENT: "off", ...bindings }, entry: PLAIN, socket });

/** Starts a separate system; with `isQueueOurs` without Cloudflare's queue, as for containers. */
export async function startWith({ bindings, entry = COUNTING, others = [], socket, isQueueOurs = Boolean(socket), limits = LIMITS, hasClock = false }) {
  const edgezoom = {
    ...COMMON,
    name: "edgezoom",
    modules: [
      ...(hasClock ? [{ type: "ESModule", path: "clock.mjs", contents: clocked(CLASSES, limits) }] : []),
      { type: "ESModule", path: "entry.mjs", contents: entry },
      { type: "ESModule", path: "index.js", contents: await built("index.js") },
      { type: "CompiledWasm", path: "index_bg.wasm", contents: await built("index_bg.wasm") },
      { type: "ESModule", path: "shared.js", contents: await built("shared.js") },
      { type: "ESModule", path: "objects.js", contents: await built("objects.js") },
      { type: "ESModule", path: "regions.js", contents: await built("regions.js") },
      { type: "CompiledWasm", path: "regions_bg.wasm", contents: await built("regions_bg.wasm") },
      { type: "ESModule", path: "collections.js", contents: await built("collections.js") },
      { type: "CompiledWasm", path: "collections_bg.wasm", contents: await built("collections_bg.wasm") },
    ],
    bindings: { TILER_TOKEN: TOKEN, ADMIN_TOKENS: `anna:${ADMIN_TOKEN}`, BASE_URL: ORIGIN, DEVELOPMENT: "on", ...bindings },
    r2Buckets: ["PYRAMIDS"],
    ...(!isQueueOurs && {
      queueProducers: { JOBS: "edgezoom-jobs" },
      queueConsumers: { "edgezoom-jobs": { maxBatchSize: 1, maxBatchTimeout: 0 } },
    }),
    durableObjects: Object.fromEntries(
      Object.entries(CLASSES).map(([binding, className]) => {
        const container = socket && binding === "TILERS" ? { imageName: "edgezoom-tiler:test" } : undefined;
        return [binding, { className, useSQLite: true, container }];
      }),
    ),
    ratelimits: Object.fromEntries(Object.entries(limits).map(([name, limit], number) => [name, { namespace_id: `${1001 + number}`, simple: { limit, period: 60 } }])),
  };
  // The emulator of `cargo xtask dev` provides the dataset.
  if (others.some(({ name }) => name === "edgezoom-local")) {
    edgezoom.serviceBindings = { METRICS: { name: "edgezoom-local", entrypoint: "Metrics" } };
  }
  const workers = [edgezoom, ...others.map((other) => ({ ...COMMON, ...other }))];
  const engine = socket && { containerEngine: { localDocker: { socketPath: `unix://${socket}`, containerEgressInterceptorImage: "sidecar:1" } } };
  const miniflare = new Miniflare(convertV4MiniflareOptions({ workers, ...engine }));

  const fetch = (path, init) => miniflare.dispatchFetch(ORIGIN + path, { redirect: "manual", ...init });
  await miniflare.ready;
  const direct = await miniflare.unsafeGetDirectURL("edgezoom");
  /**
   * Sends a request with a short body or none, and returns its whole response. It goes past Miniflare's own Worker, which
   * takes half of the time, and has the address that this one would add.
   */
  async function request(path, { method = "GET", headers, body } = {}) {
    const { pathname, search, host } = new URL(ORIGIN + path);
    const options = { agent: AGENT, method, headers: { Host: host, Accept: "*/*", "CF-Connecting-IP": "127.0.0.1", ...headers } };
    const response = await new Promise((resolve, reject) => httpRequest(new URL(pathname + search, direct), options, resolve).on("error", reject).end(body));
    const chunks = await Array.fromAsync(response);
    return new Response(chunks.length > 0 ? Buffer.concat(chunks) : null, { status: response.statusCode, headers: Object.entries(response.headers) });
  }
  /** Announces a body of this length. Returns the status of the answer, which does not wait for the body. */
  async function announced(path, method, length, headers) {
    const options = { method, headers: { "CF-Connecting-IP": "127.0.0.1", "Content-Length": length, ...headers } };
    const sent = httpRequest(new URL(path, direct), options);
    const answer = new Promise((resolve, reject) => sent.on("response", resolve).on("error", reject));
    sent.flushHeaders();
    const { statusCode } = await answer;
    sent.destroy();
    return statusCode;
  }
  /** Returns a whole response. */
  async function send(path, init) {
    const response = await (init?.body === undefined ? request : fetch)(path, init);
    const { status, headers } = response;
    return { status, headers, type: headers.get("content-type"), body: await response.text() };
  }
  const call = (path, token, body) =>
    request(path, { method: "POST", headers: { Authorization: `Bearer ${token}` }, body: body && JSON.stringify(body) });
  const tell = (id, what, body) => call(`/internal/content/${id}/${what}`, TOKEN, body);
  const ask = async (url) => (await request(byUrl(url))).json();
  const report = (id, attempt, { finished, ...outcome }) =>
    tell(id, "report", { attempt, outcome: finished ? { finished: { ...PLACES, ...finished } } : outcome });

  /** Creates a content and brings it into a state: "queued", "rendering", "ready" or "failed". Returns its id. */
  async function content(url, state) {
    const { id } = await ask(url);
    if (state === "queued") return id;
    await tell(id, "claim", ALONE);
    await report(id, 1, { progress: { stage: "rendering", progress: 0.25 } });
    if (state === "ready") await report(id, 1, { finished: { dzi: PICTURE } });
    const failure = { code: "source-not-found", message: "There is nothing at the URL (404)." };
    if (state === "failed") await report(id, 1, { "gave-up": { failure } });
    return id;
  }

  const admin = (name, body = {}, token = ADMIN_TOKEN) => call(`/internal/admin/${name}`, token, body);
  /** Sends an operator's call that must succeed and returns its result. */
  async function operate(name, body) {
    const response = await admin(name, body);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${name}: ${response.status} ${text}`);
    return JSON.parse(text);
  }

  let now = BEGIN;
  return {
    origin: ORIGIN,
    /** Address on the network, for clients with an HTTP stack of their own. */
    address: (await miniflare.ready).origin,
    /** Address of each Worker by its name. */
    addresses: Object.fromEntries(await Promise.all(workers.map(async ({ name }) => [name, (await miniflare.unsafeGetDirectURL(name)).origin]))),
    fetch,
    request,
    announced,
    send,
    content,
    /** Returns the counts of the default entry. */
    seen: async () => (await request("/seen")).json(),
    /** Requests a content by its URL. */
    ask,
    /** Requests a content by its id. */
    find: async (id) => (await request(`/v1/content/${id}`)).json(),
    /** Sends a tiler's claim; without a body, that of a tiler without other jobs. */
    claim: (id, body = ALONE) => tell(id, "claim", body),
    /** Sends a tiler's report. A finished one has made-up places, unless it names its own. */
    report,
    reset: (id) => tell(id, "reset"),
    /** Reports the length of the queue, as tilers do. */
    reportBacklog: (body) => call("/internal/backlog", TOKEN, body),
    /** Sends a call of the operator and returns its response. */
    admin,
    operate,
    /** Returns the time of the simulated clock. */
    now: () => now,
    /** Advances the simulated clock. What is due by then has happened, except for what a timer has started. */
    async advance(ms) {
      now += ms;
      const { status, body } = await send(`/advance?ms=${ms}`);
      if (status !== 200) throw new Error(`the clock: ${body}`);
    },
    /** Forgets the alarm of a content's object, as a platform that gives it up. */
    async lose(id) {
      const { body } = await send(`/lose?name=${id}`);
      if (body !== "1") throw new Error(`${body} alarms are lost`);
    },
    /** Waits until a number of timers in the system have this time left by the simulated clock. */
    timers: (number, ms) => eventually(async () => JSON.parse((await send("/timers")).body).filter((left) => left === ms).length >= number),
    finished: atFirstUse(() => miniflare.getKVNamespace("FINISHED")),
    pyramids: atFirstUse(() => miniflare.getR2Bucket("PYRAMIDS")),
    close: () => miniflare.dispose(),
  };
}

/** Returns a binding with asynchronous methods. Miniflare starts a thread for its first one. */
function atFirstUse(open) {
  let binding;
  return new Proxy({}, { get: (_, method) => async (...of) => (await (binding ??= open()))[method](...of) });
}

/** Repeats `check` until it returns something true. */
export async function eventually(check) {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    const result = await check();
    if (result) return result;
    if (Date.now() > end) throw new Error(`never came true: ${check}`);
    await pause(10);
  }
}
