// Brings the operator's lists from the operator's object into this isolate: what is taken down, and which hosts are blocked.
// Requests do not wait for them, but in an isolate that has none, or old ones. `platform/operator_lists.rs` has them for Rust.

import * as rust from "wasm-bindgen-output";

/** How old the lists may be before they are asked for again, beside a request. */
const FRESH = 10_000;
/** How old they may be before a request waits for new ones: so a takedown holds everywhere after this time. */
const LONGEST = 20_000;

let at = 0;
let version = "";
let takenDown = new Set();

/** Whether the operator has taken a content down, as far as this isolate knows. */
export const isTakenDown = (id) => takenDown.size > 0 && takenDown.has(id);

/** The wasm instance is a new one, and has no lists. */
export function forget() {
  at = 0;
  version = "";
}

/** Sees to it that the lists are fresh. Gives a promise where a request has to wait for that. */
export function refresh(env, context) {
  const age = Date.now() - at;
  if (age < FRESH || !env.OPERATOR) return undefined;
  // Not shared among requests: the first one may be cancelled, and its call with it.
  const loading = load(env);
  if (age >= LONGEST || !context) return loading;
  at += FRESH / 5; // others do not ask meanwhile
  context.waitUntil(loading);
  return undefined;
}

/** Brings the lists now: the operator has changed them through this isolate. */
export async function load(env) {
  try {
    const reply = await env.OPERATOR.getByName("operator").fetch(`http://operator/lists?${version}`);
    const text = await reply.text();
    if (reply.status === 200) {
      const [changed, hosts, ids] = text.split("\n");
      rust.setOperatorLists(hosts, ids, env);
      takenDown = new Set(ids.split(" "));
      version = changed;
    }
    at = Date.now();
  } catch (error) {
    // What is known holds on, and the service goes on: it is asked for again soon.
    console.error("the operator's lists:", error);
    at = Math.max(at, Date.now() - FRESH);
  }
}
