// What requests need of the platform, each in one call: a call from wasm into JavaScript costs more than what it does,
// and so does each string that crosses.

import { env, waitUntil } from "cloudflare:workers";

/** Of a request: method, URL, `Accept` and `If-None-Match`, a line each. */
export function readRequest({ method, url, headers }) {
  return `${method}\n${url}\n${headers.get("Accept") ?? ""}\n${headers.get("If-None-Match") ?? ""}`;
}

/** Headers that many responses share, by their lines: to make them costs the runtime more than all the rest of a response. There are
 * as many as the code has constants. */
const cache = new Map();

function* fields(lines) {
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(":", at);
    const end = lines.indexOf("\n", colon);
    yield [lines.slice(at, colon), lines.slice(colon + 1, end)];
    at = end + 1;
  }
}

/** A response. Headers are lines, each with its end: `shared` those that other responses have too, `own` the others. `body` is undefined
 * where there is none. `countsAs` is the status that is measured: in the wrapped variant that in the body. */
export function makeResponse(status, shared, own, body, countsAs) {
  let headers = cache.get(shared);
  if (!headers) cache.set(shared, (headers = new Headers([...fields(shared)])));
  const response = new Response(body, { status, headers });
  for (const [name, value] of fields(own)) response.headers.set(name, value);
  response.countsAs = countsAs;
  return response;
}

/** The value of KV under a key, or null. */
export const readKv = (kv, key) => kv.get(key);

/** Writes a value of KV, for so many seconds if that is not 0; without a value it is deleted. */
export const writeKv = (kv, key, value, ttl) =>
  value === undefined ? kv.delete(key) : kv.put(key, value, ttl > 0 ? { expirationTtl: ttl } : {});

/** Sends a message to a Durable Object, and gives the status and the body of its reply with a space between. */
export async function callObject(objects, name, path, body) {
  const reply = await objects.getByName(name).fetch(`http://object${path}`, { method: "POST", body });
  return `${reply.status} ${await reply.text()}`;
}

/**
 * Writes a data point into the dataset `METRICS`, where there is one: what is counted, its labels, and figures of which the first is how
 * many there were. Nothing waits for it, and nothing fails with it.
 */
export function measure(what, labels, ...figures) {
  try {
    const written = env.METRICS?.writeDataPoint({ indexes: [what], blobs: [what, ...labels], doubles: figures });
    if (written) waitUntil(written); // the local service's dataset is a Worker
  } catch {
    // As many as a request may write are written.
  }
}

/** The buckets of histograms, in seconds. */
const bucket = (seconds) => String([0.25, 1, 2.5, 10, 60, 600].find((bound) => seconds <= bound) ?? "+Inf");

/** Logs and counts that a content came from one state to another. */
export function noteChange(id, attempt, from, state, code, seconds, sinceAsked) {
  const message = `content ${state}`;
  console.log(JSON.stringify({ level: "INFO", id, attempt, from, state, code, seconds, sinceAsked, message }));
  measure("content", [state, from, code, bucket(seconds), id], 1, seconds);
  if (state === "ready" || state === "failed") measure("answer", [state, "", "", bucket(sinceAsked)], 1, sinceAsked);
}
