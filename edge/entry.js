// What the Workers runtime loads: it hands requests and alarms to the wasm that Rust was compiled to, and gives it a new
// instance after a panic or a trap, as the memory of the old one cannot be trusted then. `wasm-bindgen-output` is what
// wasm-bindgen generated; the build says where that is. `__worker_init_state` is the `worker` crate's: its panic hook sets
// `criticalError`, and each new instance raises `instanceId`.

import { DurableObject } from "cloudflare:workers";
import * as rust from "wasm-bindgen-output";

const wasm = rust.__worker_init_state();

addEventListener("error", ({ error }) => {
  if (error instanceof WebAssembly.RuntimeError) wasm.criticalError = true;
});

function revive() {
  if (!wasm.criticalError) return;
  wasm.criticalError = false;
  rust.__wbg_reset_state();
}

/** How many requests there were; the last number is the one of the last request. */
let requests = 0;

export default {
  async fetch(request, env) {
    revive();
    const number = requests++;
    const key = rust.cacheKey(number, request, env);
    let record;
    try {
      record = key && (await env.FINISHED.get(key, "arrayBuffer"));
    } catch (error) {
      // A store that fails is a store that does not know: the content's object does.
      console.error("KV:", error);
    }
    return rust.respond(number, request, env, record ? new Uint8Array(record) : undefined);
  },
};

/** A Durable Object whose class is Rust's, by its name there. */
const durableObject = (name) =>
  class extends DurableObject {
    #inner;
    #instance;

    /** The object as Rust sees it. What it keeps in memory can be lost at any time, so that it can be made anew for a new
     * wasm instance. */
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
