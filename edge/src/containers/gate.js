// All that a tiler in one of the operator's containers can reach of the service, at an address that no source may have:
// the queue, the calls of tilers, and the bucket. Its token is made for each start. So a container has no key of the
// account, and what escapes from it no more than a tiler may do.

import { WorkerEntrypoint } from "cloudflare:workers";
import { answerStore } from "./bucket.js";
import { answerPull, queueOf } from "./messages.js";

/** In 198.18.0.0/15, which is for benchmarks of networks, and refused for sources (`content/src/address/`). */
export const ADDRESS = "198.18.0.1";
/** The bucket's name in the store's API. */
export const BUCKET = "pyramids";
const BACKLOG = "/internal/backlog";
const CALL = /^\/internal\/content\/[^/]+\/(claim|report)$/; // the router checks the id
/** The service's own name for itself: the calls of tilers depend on none. */
const SELF = "http://localhost";

export class TilerGate extends WorkerEntrypoint {
  /** Responds to a request of a tiler. The entry's `props` are the start of the container with its token. */
  async fetch(request) {
    const { pathname } = new URL(request.url);
    const [authorization, token] = [request.headers.get("Authorization") ?? "", this.ctx.props.token];
    const [, bearer, key] = /^(?:Bearer (\S+)|AWS4-HMAC-SHA256 Credential=([^/]+)\/)/.exec(authorization) ?? [];
    if (!(await isSame(bearer ?? key ?? "", token))) return new Response("The token is wrong.\n", { status: 401 });
    if (pathname.startsWith("/queue/")) return answerPull(request, this.env.MESSAGES);
    if (pathname.startsWith(`/${BUCKET}`)) return answerStore(request, this.env.PYRAMIDS);
    if (request.method !== "POST" || (pathname !== BACKLOG && !CALL.test(pathname))) return new Response("Not found.\n", { status: 404 });
    return this.#call(pathname, await request.json().catch(() => undefined));
  }

  /** Passes a call on to the Worker, with its own token and the start of the container. */
  async #call(path, body) {
    const { container, start } = this.ctx.props;
    // The tiler that leaves saw the queue a moment ago. A job that was sent since needs another one.
    if (path === BACKLOG && body?.leaving) body.messages = await queueOf(this.env.MESSAGES).count();
    const headers = { Authorization: `Bearer ${this.env.TILER_TOKEN}`, "Edgezoom-Container": `${container}/${start}` };
    return this.ctx.exports.default.fetch(new Request(SELF + path, { method: "POST", headers, body: JSON.stringify(body) }));
  }
}

/** Compares digests, so that the time tells nothing. */
async function isSame(given, token) {
  const digest = (text) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return crypto.subtle.timingSafeEqual(await digest(given), await digest(token));
}
