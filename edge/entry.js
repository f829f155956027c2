// The module that the Workers runtime loads: it passes requests and alarms to Rust, which is compiled to wasm. After a
// panic or a trap the memory of the wasm instance is unreliable, so a new instance replaces it, and what waits for the
// old one ends with an error (docs/decisions/0089). The build aliases
// `wasm-bindgen-output` to the generated file. `__worker_init_state` is the `worker` crate's: its panic hook sets
// `criticalError`, and each new instance increments `instanceId`.

import { DurableObject, WorkerEntrypoint, waitUntil } from "cloudflare:workers";
import * as rust from "wasm-bindgen-output";
import * as lists from "./src/admin/lists.js";
import * as uses from "./src/admin/uses.js";
import { collectionOf, faceOf } from "./src/collections/face.js";
import { measure, readRecord, readRequest } from "./src/platform/bridge.js";

const wasm = rust.__worker_init_state();

addEventListener("error", ({ error }) => {
  if (error instanceof WebAssembly.RuntimeError) wasm.criticalError = true;
  revive();
});
/** Functions that end what waits for the instance. */
const waiting = new Set();
const REPLACED = new Error("the wasm instance was replaced");

/** The id of a content (`content/src/id.rs`). */
const ID = "[0-9A-Za-z]{11}";
const ABOUT = new RegExp(`^(${ID}): (.*)`, "s");
/** The segment of a path that names a content, or a page of a document. */
const NAME = new RegExp(`^(${ID})(?::\\d+)?$`);

/** Counts what Rust and JavaScript log as errors, and logs it as JSON, with the id of the content that it is about. */
const { error: log } = console;
console.error = (...words) => {
  const text = words.join(" ");
  const [, id, message = text] = ABOUT.exec(text) ?? [];
  log.call(console, JSON.stringify({ level: "ERROR", id, message }));
  measure("error", [], 1);
};

function revive() {
  if (!wasm.criticalError) return;
  wasm.criticalError = false;
  rust.__wbg_reset_state();
  lists.forget();
  for (const end of waiting) end();
}

/** Returns what a promise of Rust's resolves to. If another instance replaces the one that made it, it never would. */
function ofInstance(promise) {
  const { promise: replaced, reject } = Promise.withResolvers();
  const end = () => reject(REPLACED);
  waiting.add(end);
  return Promise.race([promise, replaced]).finally(() => waiting.delete(end));
}

/** Passes on a stream of Rust's. */
function streamOfInstance(stream) {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await ofInstance(reader.read());
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The area that a URL belongs to, and the next segment of its path. The router in Rust knows the rest. */
const AREA = /^\w+:\/\/[^/]+\/(?:(v1|cache|iiif|internal)\b(?:\/([^/?#]+)\/)?)?/;
/** Areas with tiles and descriptors. They hardly ever change, so the platform's cache may keep them. */
const PYRAMIDS = ["cache", "iiif"];
/** The paths of `edge/build/assets/`. The platform itself would refuse other methods without a reason. */
const FILE = /^\w+:\/\/[^/]+\/(?:assets\/.|(?:docs|bot|openapi\.json|favicon\.ico|apple-touch-icon\.png)(?:[/?]|$))/;
const READING = ["GET", "HEAD"];
/** The canonical address of an image of IIIF in its header `Link`. */
const CANONICAL = /<([^>]+)>;rel="canonical"/;
/**
 * One in this number of requests for tiles, of those that are too many, and of refused calls of tilers is measured, because
 * a data point costs as much as a request.
 */
const SAMPLED = 16;
const TOO_MUCH = "You have sent too many requests. Try again in a minute.\n";
const LOST = "Something went wrong here. Try again.\n";

export default {
  async fetch(request, env, context) {
    const file = await fileOf(request, env);
    if (file) return file;
    revive();
    const [, area = "page", name] = AREA.exec(request.url) ?? [];
    if (area === "internal" && name === "admin") return (await objects()).admin(request, env);
    const id = PYRAMIDS.includes(area) ? NAME.exec(name)?.[1] : undefined;
    const isCached = id && context && request.method === "GET" && !request.headers.has("Range");
    const seen = { from: "object", area };
    let response = await (isCached ? throughCache : answer)(request, env, context, id, seen).catch(lost);
    // A call without the tilers' token counts like any other request.
    if (area === "internal" && response.status === 401 && (await isTooMuch(request, env))) response = tooMuch(seen);
    count(area, response.countsAs ?? response.status, response.from ?? seen.from, isCached || seen.from === "limit" || area === "internal");
    return response;
  },
};

/** Returns the response to a request whose instance has panicked, or was replaced. */
function lost(error) {
  if (error instanceof WebAssembly.RuntimeError) wasm.criticalError = true;
  if (error !== REPLACED) console.error("no response:", error);
  return refusal(503, LOST, 1);
}

const refusal = (status, text, seconds) =>
  new Response(text, { status, headers: { "Retry-After": `${seconds}`, "Cache-Control": "no-store", "Access-Control-Allow-Origin": "*" } });

/** Returns the response with a static file, if the request reads one. */
async function fileOf(request, env) {
  if (!FILE.test(request.url) || !READING.includes(request.method)) return null;
  const response = await env.ASSETS.fetch(request);
  return response.status === 404 ? null : response;
}

/**
 * Returns the response in the platform's cache, unless the content has been taken down since. No query changes what
 * these paths return, so it is no part of the key: otherwise each made-up query would cost a read of R2.
 */
async function throughCache(request, env, context, id, seen) {
  const [path, query] = request.url.split("?", 2);
  const asked = query === undefined ? request : new Request(path, request);
  const [known] = await Promise.all([caches.default.match(asked), lists.refresh(env)]);
  if (known && !lists.isTakenDown(id)) {
    seen.from = "cache";
    uses.note(id, env, context);
    return known;
  }
  const response = await answer(request, env, context, id, seen);
  // A rendered picture is kept already, and every picture under its canonical address.
  const address = CANONICAL.exec(response.headers.get("Link"))?.[1] ?? path;
  if (response.status === 200 && !response.from) context.waitUntil(caches.default.put(address, response.clone()));
  return response;
}

async function answer(request, env, context, id, seen) {
  if (seen.area !== "internal" && (await isTooMuch(request, env))) return tooMuch(seen);
  const collection = collectionOf(request);
  if (collection) return faceOf(collection, request, env);
  const incoming = new rust.IncomingRequest(readRequest(request), env);
  const key = incoming.cacheKey();
  const refreshing = (key || id) && lists.refresh(env);
  let cached;
  try {
    cached = key && (await readRecord(env, key));
  } catch (error) {
    // Without KV the content's Durable Object answers.
    console.error("KV:", error);
  }
  if (cached) seen.from = "kv";
  if (refreshing) await refreshing;
  if (cached || id) uses.note(key ?? id, env, context);
  const made = incoming.respond(request, env, cached);
  if (!(made instanceof Promise)) return made;
  const response = ofInstance(made);
  const handled = request.method === "DELETE" ? response.then((done) => deleted(done, env)) : response;
  // When a client leaves, the runtime drops what its request awaits. So that all that was taken is given back, and what
  // others wait for arrives, the request goes on, for half a minute at most.
  waitUntil(handled.catch(() => {}));
  return handled;
}

/**
 * Counts a request that no cache answers. Returns true if its client has sent too many in this minute. Tilers have a
 * token instead.
 */
async function isTooMuch(request, env) {
  if (!env.REQUESTS || env.DEVELOPMENT === "on") return false;
  const key = networkOf(request.headers.get("CF-Connecting-IP") ?? "unknown");
  const { success } = await env.REQUESTS.limit({ key }).catch((error) => {
    console.error("REQUESTS:", error);
    return { success: true };
  });
  return !success;
}

/** Returns an IPv4 address, or the first 48 bits of an IPv6 address: one customer may have all below them. */
function networkOf(address) {
  if (!address.includes(":")) return address;
  const [head, tail = []] = address.split("::").map((groups) => groups.split(":").filter(Boolean));
  const zeros = Array(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 3).map((group) => parseInt(group, 16)).join(":");
}

/** Returns the response to a client that has sent too many requests. */
function tooMuch(seen) {
  seen.from = "limit";
  return refusal(429, TOO_MUCH, 60);
}

/** Makes a deletion effective in this isolate at once, like an operator's takedown. */
async function deleted(response, env) {
  if (response.status === 204) await lists.load(env);
  return response;
}

/** Counts a request by area, status and source of the response. The many calls of tilers count only if refused. */
function count(area, status, from, isSampled) {
  if (isSampled && Math.random() * SAMPLED >= 1) return;
  if (area === "internal" && status < 400) return;
  measure("request", [area, `${status}`, from], isSampled ? SAMPLED : 1);
}

/** Returns the class of a Durable Object that Rust implements by a class of its own. */
const durableObject = (Inner) =>
  class extends DurableObject {
    #inner;
    #instance;

    /** Rust's object. A new wasm instance gets a new one, so its memory may be lost at any time. */
    get #rust() {
      revive();
      if (this.#instance !== wasm.instanceId) {
        this.#inner = new Inner(this.ctx, this.env);
        this.#instance = wasm.instanceId;
      }
      return this.#inner;
    }

    send(message) {
      return ofInstance(this.#rust.send(message));
    }

    stored() {
      return ofInstance(this.#rust.stored());
    }

    async fetch(request) {
      const asked = await request.text();
      const response = await ofInstance(this.#rust.subscribe(asked));
      return response.body ? new Response(streamOfInstance(response.body), response) : response;
    }

    alarm() {
      return ofInstance(this.#rust.alarm());
    }
  };

export const ConversionObject = durableObject(rust.ConversionObject);
export const BacklogObject = durableObject(rust.BacklogObject);

/** Loads the second module. */
const objects = () => import("./objects.js");

/**
 * Returns the class of a Durable Object that the second module has under this name. It has these methods, all that are
 * called from outside: the platform looks for them in the class.
 */
const late = (name, ...methods) =>
  class extends DurableObject {
    #inner;

    constructor(context, env) {
      super(context, env);
      // Calls wait until it is over.
      context.blockConcurrencyWhile(async () => {
        const { [name]: Inner } = await objects();
        this.#inner = new Inner(context, env);
        await this.#inner.ready;
      });
    }

    static {
      for (const method of methods) {
        this.prototype[method] = function (...given) {
          return this.#inner[method](...given);
        };
      }
    }
  };

export const ContentsObject = late("ContentsObject", "note", "use", "find", "count", "correct", "list", "variants", "unused", "alarm");
export const OperatorObject = late("OperatorObject", "changes", "note", "setSource", "takedownOf", "act", "setHost", "hosts", "countRenderings", "log");
export const CollectionObject = late("CollectionObject", "put", "read", "post", "list", "face", "remove", "note", "alarm");
export const MessagesObject = late("MessagesObject", "send", "add", "pull", "acknowledge", "metrics", "count");
export const TilerObject = late("TilerObject", "start", "stop", "destroy", "noteClaim", "noteEnd", "hasClaimed", "mayUse", "alarm");
export const UploadsObject = late("UploadsObject", "receive", "deletion", "begin", "part", "owner", "complete", "settle", "alarm");

export class TilerGate extends WorkerEntrypoint {
  async fetch(request) {
    const { TilerGate: Inner } = await objects();
    return new Inner(this.ctx, this.env).fetch(request);
  }
}
