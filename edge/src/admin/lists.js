// Keeps this isolate's copy of the operator's lists, removed contents and blocked hosts, up to date. One request loads
// what has changed, for all, and also if its client leaves. Others wait for it only if the isolate has no lists, or
// stale ones. `platform/isolate.rs` holds them for Rust.

import { waitUntil } from "cloudflare:workers";
import * as rust from "wasm-bindgen-output";
import { waitFor, wake } from "../platform/bounds.js";
import { repeated } from "../platform/objects.js";

/** Age in milliseconds from which the lists are refreshed in the background. */
const FRESH = 10_000;
/**
 * Age in milliseconds from which a request waits for the refresh: a takedown is effective everywhere after this time.
 */
const MAX_AGE = 20_000;
/** Maximum time in milliseconds to wait for the operator's object. After that, the known lists stay in force. */
const MAX_WAIT = 5_000;

/** Number of removals since all of the lists were loaded from which they are loaded again: then they have the latest alone. */
const MAX_GROWN = 50_000;

let at = 0;
/** Time at which a request began to load the lists. */
let begun = 0;
let version;
let grown = 0;
const takenDown = new Set();

/** Returns true if this isolate knows that the content is taken down, or deleted by its uploader. */
export const isTakenDown = (id) => takenDown.size > 0 && takenDown.has(id);

let blocked = "";

/** Returns the hosts that this isolate knows to be blocked, with commas between. */
export const blockedHosts = () => blocked;

/** Discards the lists' version, for a new wasm instance, which has no lists. */
export function forget() {
  at = 0;
  version = undefined;
}

/** Refreshes the lists if needed. Returns a promise if the request has to wait. */
export function refresh(env) {
  const now = Date.now();
  if (now - at < FRESH || !env.OPERATOR) return undefined;
  if (now - begun >= MAX_WAIT) {
    begun = now;
    const loaded = load(env).finally(() => {
      begun = 0;
      wake("lists");
    });
    waitUntil(loaded);
  }
  return now - at < MAX_AGE ? undefined : waitFor("lists", MAX_WAIT);
}

/** Loads what has changed from the operator's object. */
export async function load(env) {
  try {
    const changes = await repeated(() => env.OPERATOR.getByName("operator").changes(version));
    if (changes) apply(changes, env);
    at = Date.now();
  } catch (error) {
    // The known lists stay in force. The next refresh is soon.
    console.error("cannot load the operator's lists:", error);
    at = Math.max(at, Date.now() - FRESH);
  }
}

/** Applies changes, unless this isolate has them already, or has lost what they were made from. */
function apply(changes, env) {
  if (changes.isWhole ? changes.version < version : !(changes.version > version)) return;
  const { removed, hosts } = changes;
  // All of the lists do not name what was lifted.
  const lifted = changes.isWhole ? [...takenDown.difference(new Set(removed))] : changes.lifted;
  blocked = hosts.join();
  rust.changeOperatorLists(blocked, removed.join(), lifted.join(), env);
  for (const id of removed) takenDown.add(id);
  for (const id of lifted) takenDown.delete(id);
  grown = changes.isWhole ? 0 : grown + removed.length;
  version = grown > MAX_GROWN ? undefined : changes.version;
}
