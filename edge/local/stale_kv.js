// A KV namespace that chaos tests make stale. Cloudflare's locations cache what they have read, also that a key does
// not exist, for a minute and longer: https://developers.cloudflare.com/kv/concepts/how-kv-works/#consistency

import { WorkerEntrypoint } from "cloudflare:workers";

/** Time until which reads are stale, and the bytes that were read since they became so. */
let staleUntil = 0;
const seen = new Map();

/** Makes all reads stale for this time. */
export function makeStale(milliseconds) {
  staleUntil = Date.now() + milliseconds;
}

/** Replaces the binding `FINISHED` of Edgezoom's Worker. */
export class StaleKv extends WorkerEntrypoint {
  async get(key, type) {
    if (Date.now() >= staleUntil) {
      seen.clear();
      return this.env.FINISHED.get(key, type);
    }
    if (!seen.has(key)) seen.set(key, await this.env.FINISHED.get(key, "arrayBuffer"));
    const bytes = seen.get(key);
    return type === "arrayBuffer" || bytes === null ? bytes : new TextDecoder().decode(bytes);
  }

  put(key, value, options) {
    return this.env.FINISHED.put(key, value, options);
  }

  delete(key) {
    return this.env.FINISHED.delete(key);
  }

  list(options) {
    return this.env.FINISHED.list(options);
  }
}
