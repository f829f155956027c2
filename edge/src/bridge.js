// What requests need of the platform, each in one call: a call from wasm into JavaScript costs more than what it does, and so does each
// string that crosses.

/** What is asked: method, URL, `Accept` and `If-None-Match`, a line each. */
export function asked({ method, url, headers }) {
  return `${method}\n${url}\n${headers.get("Accept") ?? ""}\n${headers.get("If-None-Match") ?? ""}`;
}

/** A response; `headers` are lines, each with its end, `body` is undefined where there is none, and a view of memory that is used again. */
export function respond(status, headers, body) {
  // An object: the runtime takes twice as long for pairs.
  const fields = {};
  for (let at = 0; at < headers.length; ) {
    const colon = headers.indexOf(":", at);
    const end = headers.indexOf("\n", colon);
    fields[headers.slice(at, colon)] = headers.slice(colon + 1, end);
    at = end + 1;
  }
  return new Response(body?.slice(), { status, headers: fields });
}

/** Tells a Durable Object something, and gives the status and the body of its reply with a space between. */
export async function tell(objects, name, path, body) {
  const reply = await objects.getByName(name).fetch(`http://object${path}`, { method: "POST", body });
  return `${reply.status} ${await reply.text()}`;
}
