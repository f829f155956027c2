// What requests need of the platform, each in one call: a call from wasm into JavaScript costs more than what it does,
// and so does each string that crosses.

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
 * where there is none. */
export function makeResponse(status, shared, own, body) {
  let headers = cache.get(shared);
  if (!headers) cache.set(shared, (headers = new Headers([...fields(shared)])));
  const response = new Response(body, { status, headers });
  for (const [name, value] of fields(own)) response.headers.set(name, value);
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
