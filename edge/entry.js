// The module that the Workers runtime loads: it passes requests and alarms to Rust, compiled to wasm. After a panic or
// a trap the memory of the wasm instance is not reliable, so a new instance takes its place. The build makes an alias
// of `wasm-bindgen-output` for the generated file. `__worker_init_state` is the `worker` crate's: its panic hook sets
// `criticalError`, and each new instance increases `instanceId`.

import { DurableObject } from "cloudflare:workers";
import * as rust from "wasm-bindgen-output";
import { admin } from "./src/admin/calls.js";
import * as lists from "./src/admin/lists.js";
import * as uses from "./src/admin/uses.js";
import { measure, readRequest } from "./src/platform/bridge.js";

export { ContentsObject } from "./src/admin/contents.js";
export { OperatorObject } from "./src/admin/operator.js";

const wasm = rust.__worker_init_state();

addEventListener("error", ({ error }) => {
  if (error instanceof WebAssembly.RuntimeError) wasm.criticalError = true;
});

/** What Rust and this file report as an error is counted, and logged as JSON with the id of the content that it is about. */
const { error: log } = console;
console.error = (...words) => {
  const text = words.join(" ");
  const [, id, message = text] = /^([0-9A-Za-z]{11}): (.*)/s.exec(text) ?? [];
  log.call(console, JSON.stringify({ level: "ERROR", id, message }));
  measure("error", [], 1);
};

function revive() {
  if (!wasm.criticalError) return;
  wasm.criticalError = false;
  rust.__wbg_reset_state();
  lists.forget();
}

/** The paths whose responses the platform's cache may have: tiles and descriptors hardly ever change. */
const OF_PYRAMID = /^\/(?:cache|iiif)\/([0-9A-Za-z]{11})\//;

/** The response from the platform's cache, unless the content was taken down since. */
async function throughCache(request, env, context, id, seen) {
  const [known] = await Promise.all([caches.default.match(request), lists.refresh(env, context)]);
  if (known && !lists.isTakenDown(id)) {
    seen.from = "cache";
    uses.note(id, env, context);
    return known;
  }
  const response = await answer(request, env, context, id, seen);
  if (response.status === 200) context.waitUntil(caches.default.put(request.url, response.clone()));
  return response;
}

/** Of requests for tiles one in so many is measured, as data points cost as much as requests. */
const SAMPLED = 16;

/** Counts a request by the beginning of its path, its status, and what the answer is from. Tilers' calls are many, and count when they
 * are refused. */
function count({ url }, status, from, isTile) {
  if (isTile && Math.random() * SAMPLED >= 1) return;
  const [, part = "page"] = /^\w+:\/\/[^/]+\/(v1|cache|iiif|internal)\b/.exec(url) ?? [];
  if (part === "internal" && status < 400) return;
  measure("request", [part, `${status}`, from], isTile ? SAMPLED : 1);
}

export default {
  async fetch(request, env, context) {
    revive();
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/internal/admin/")) return admin(request, env);
    const seen = { from: "object" };
    const [, id] = OF_PYRAMID.exec(pathname) ?? [];
    const isCached = id && context && request.method === "GET" && !request.headers.has("Range");
    const response = await (isCached ? throughCache : answer)(request, env, context, id, seen);
    count(request, response.countsAs ?? response.status, seen.from, isCached);
    return response;
  },
};

async function answer(request, env, context, id, seen) {
  const head = readRequest(request);
  const key = rust.cacheKey(head, env);
  const refreshing = (key || id) && lists.refresh(env, context);
  let cached;
  try {
    cached = key && (await env.FINISHED.get(key, "arrayBuffer"));
  } catch (error) {
    // Without KV the content's Durable Object answers.
    console.error("KV:", error);
  }
  if (cached) seen.from = "kv";
  if (refreshing) await refreshing;
  if (cached || id) uses.note(key ?? id, env, context);
  return rust.respond(head, request, env, cached ? new Uint8Array(cached) : undefined);
}

/** The class of a Durable Object, which Rust implements under the same name. */
const durableObject = (name) =>
  class extends DurableObject {
    #inner;
    #instance;

    /** Rust's object. It is made again for a new wasm instance, as its memory may be lost at any time. */
    get #rust() {
      revive();
      if (this.#instance !== wasm.instanceId) {
        this.#inner = new rust[name](this.ctx, this.env);
        this.#instance = wasm.instanceId;
      }
      return this.#inner;
    }

    fetch(request) {
      return this.#rust.fetch(request);
    }

    alarm() {
      return this.#rust.alarm();
    }
  };

export const ConversionObject = durableObject("ConversionObject");
export const BacklogObject = durableObject("BacklogObject");
