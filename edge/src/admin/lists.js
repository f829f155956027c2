// Keeps this isolate's copy of the operator's lists, removed contents and blocked hosts, up to date. A request waits
// for the lists only if the isolate has none, or stale ones. `platform/isolate.rs` holds them for Rust.

import * as rust from "wasm-bindgen-output";

/** Age in milliseconds from which the lists are refreshed in the background. */
const FRESH = 10_000;
/**
 * Age in milliseconds from which a request waits for the refresh: a takedown is effective everywhere after this time.
 */
const MAX_AGE = 20_000;

let at = 0;
let version;
let takenDown = new Set();

/** Returns true if this isolate knows that the content is taken down, or deleted by its uploader. */
export const isTakenDown = (id) => takenDown.size > 0 && takenDown.has(id);

/** Discards the lists' version, for a new wasm instance, which has no lists. */
export function forget() {
  at = 0;
  version = undefined;
}

/** Refreshes the lists if needed. Returns a promise if the request has to wait. */
export function refresh(env, context) {
  const age = Date.now() - at;
  if (age < FRESH || !env.OPERATOR) return undefined;
  // Requests do not share the promise: if the first request is cancelled, so is its subrequest.
  const loading = load(env);
  if (age >= MAX_AGE || !context) return loading;
  at += FRESH / 5; // other requests do not refresh meanwhile
  context.waitUntil(loading);
  return undefined;
}

/** Loads the lists from the operator's object. */
export async function load(env) {
  try {
    const lists = await env.OPERATOR.getByName("operator").lists(version);
    if (lists) {
      rust.setOperatorLists(JSON.stringify(lists), env);
      takenDown = new Set(lists.ids);
      version = lists.version;
    }
    at = Date.now();
  } catch (error) {
    // The known lists stay in force. The next refresh is soon.
    console.error("cannot load the operator's lists:", error);
    at = Math.max(at, Date.now() - FRESH);
  }
}
