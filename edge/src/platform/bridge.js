// Functions of the platform that Rust needs, each in one call. `bridge.rs` says what crosses between the two, and how.

import { env, waitUntil } from "cloudflare:workers";
import { queueOf } from "../../queue/queue.js";
import { repeated } from "./objects.js";

/** Returns lines with a request's method, URL, `Accept` and `If-None-Match`. */
export function readRequest({ method, url, headers }) {
  return `${method}\n${url}\n${headers.get("Accept") ?? ""}\n${headers.get("If-None-Match") ?? ""}`;
}

/**
 * Headers that many responses share, by their lines: making them costs more than the rest of a response. Their number
 * is fixed.
 */
const sharedHeaders = new Map();

function* fields(lines) {
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(":", at);
    const end = lines.indexOf("\n", colon);
    yield [lines.slice(at, colon), lines.slice(colon + 1, end)];
    at = end + 1;
  }
}

/**
 * Makes a response. Headers are lines: `shared` with other responses, or its `own`. `countsAs` is the status to
 * measure, which may be that of the response object in the body.
 */
export function makeResponse(status, shared, own, body, countsAs) {
  let headers = sharedHeaders.get(shared);
  if (!headers) sharedHeaders.set(shared, (headers = new Headers([...fields(shared)])));
  const response = new Response(body, { status, headers });
  for (const [name, value] of fields(own)) response.headers.set(name, value);
  response.countsAs = countsAs;
  return response;
}

/** Returns the record of a finished content in KV as bytes, or undefined. */
export async function readRecord({ FINISHED }, id) {
  const record = await FINISHED.get(id, "arrayBuffer");
  return record ? new Uint8Array(record) : undefined;
}

/** Writes the record of a content, with a time to live in seconds if that is not 0; deletes it if there is none. */
export const writeRecord = ({ FINISHED }, id, record, ttl) =>
  record === undefined ? FINISHED.delete(id) : FINISHED.put(id, record, ttl > 0 ? { expirationTtl: ttl } : {});

/** Calls a method of a Durable Object with a message, and returns the reply. Both are JSON. */
export function callObject(objects, name, method, message, mayRepeat) {
  const call = () => objects.getByName(name)[method](message);
  return mayRepeat ? repeated(call) : call();
}

/** Sends a job, given as JSON, to the queue: Cloudflare's, or our own if tilers run in containers. */
export const sendJob = ({ JOBS, MESSAGES }, job) => (JOBS ? JOBS.send(JSON.parse(job)) : queueOf(MESSAGES).send(JSON.parse(job)));

/** Opens the stream of a Durable Object's events. Returns the response. */
export const subscribeTo = (objects, name, addresses) =>
  repeated(() => objects.getByName(name).fetch("http://object/", { method: "POST", body: addresses }));

/** Maximum number of lists of up to 1,000 objects in a sweep: one invocation may make a thousand subrequests. */
const MAX_LISTS = 100;

/**
 * Deletes the objects of a content's attempts before the one with the number `before`, except for the one to `keep`,
 * and the uploaded file. Returns true if that is all; otherwise the next sweep goes on. Keys never cross into wasm.
 */
export async function sweep(bucket, id, before, keep, upload) {
  if (upload) await bucket.delete(upload);
  const isOver = (key) => {
    const attempt = parseInt(key.slice(id.length + 1), 10);
    return attempt < Number(before) && attempt !== Number(keep);
  };
  // Beside a pyramid to keep, attempt by attempt: otherwise all its tiles would be listed.
  const folders = [{ prefix: `${id}/`, delimiter: keep ? "/" : undefined }];
  for (let lists = 0; folders.length > 0 && lists < MAX_LISTS; lists += 1) {
    const folder = folders.pop();
    const { objects, delimitedPrefixes, truncated, cursor } = await bucket.list(folder);
    const keys = objects.map(({ key }) => key).filter(isOver);
    if (keys.length > 0) await bucket.delete(keys);
    folders.push(...delimitedPrefixes.filter(isOver).map((prefix) => ({ prefix })));
    if (truncated) folders.push({ ...folder, cursor });
  }
  return folders.length === 0;
}

/** Returns what a stream with gzip holds. */
export const unpacked = (packed) => packed.pipeThrough(new DecompressionStream("gzip"));

/**
 * Writes a data point into the dataset `METRICS`, if there is one: the counted thing, its labels, and figures, of which
 * the first is the count. Nothing waits for it, and failures are ignored.
 */
export function measure(what, labels, ...figures) {
  try {
    const written = env.METRICS?.writeDataPoint({ indexes: [what], blobs: [what, ...labels], doubles: figures });
    if (written) waitUntil(written); // the local service's dataset is a Worker
  } catch {
    // The request has reached its maximum number of data points.
  }
}
