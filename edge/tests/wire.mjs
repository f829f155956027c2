// A running system as clients and tilers see it: requests and whole answers. What the tests of the interface share.

import { ORIGIN, PICTURE, PLAIN, TOKEN, start as startSystem } from "./system.mjs";

export { PICTURE, PLAIN };

/** Starts a system; `variables` are the operator's, `others` Workers beside ours. */
export async function start(variables, entry, ...others) {
  const system = await startSystem(variables, entry, ...others);

  /** Sends a request and does not follow where it leads. */
  async function send(target, init) {
    const response = await system.fetch(target, init);
    const { status, headers } = response;
    return { status, headers, type: headers.get("content-type"), body: await response.text() };
  }

  /** Sends a call of a tiler. */
  function post(path, body) {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    return send(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  /** Creates a content and brings it into a state: "queued", "rendering", "ready" or "failed". */
  async function content(url, state) {
    const { id } = await system.ask(url);
    if (state === "queued") return id;
    await system.claim(id);
    await system.report(id, 1, { progress: { stage: "rendering", progress: 0.25 } });
    if (state === "ready") await system.report(id, 1, { finished: { dzi: PICTURE } });
    const failure = { code: "source-not-found", message: "There is nothing at the URL (404)." };
    if (state === "failed") await system.report(id, 1, { "gave-up": { failure } });
    return id;
  }

  return { ...system, origin: ORIGIN, send, post, content };
}
