// All that a tiler in one of the operator's containers can reach of the service, at an address that no source may have:
// the queue, the calls of tilers, and the bucket. Its token is made for each start, and it may report on, read and write
// only what it has claimed (`claims.js`). So what escapes from a container has no key of the account, and harms no job of
// another tiler.

import { WorkerEntrypoint } from "cloudflare:workers";
import { answerStore } from "./bucket.js";
import { answerPull } from "../../queue/messages.js";
import { queueOf } from "../../queue/queue.js";
import { BUCKET } from "./variables.js";

const BACKLOG = "/internal/backlog";
const CALL = /^\/internal\/content\/([^/]+)\/(claim|report)$/; // the router checks the id
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
    const object = this.env.TILERS.getByName(`${this.ctx.props.container}`);
    if (pathname.startsWith(`/${BUCKET}`)) {
      return answerStore(request, this.env.PYRAMIDS, (operation, keys) => object.mayUse(operation, keys));
    }
    const [, id, call] = CALL.exec(pathname) ?? [];
    if (request.method !== "POST" || (pathname !== BACKLOG && !call)) return new Response("Not found.\n", { status: 404 });
    const body = await request.json().catch(() => undefined);
    if (call === "claim") return this.#claim(object, pathname, body);
    if (call === "report") return this.#report(object, pathname, id, body);
    // The queue's length is the real one, whatever the tiler says. One that leaves saw it a moment ago, and a job that was
    // sent since needs another tiler.
    return this.#call(pathname, { ...body, messages: await queueOf(this.env.MESSAGES).count() });
  }

  /** Passes a claim on, and notes it. */
  async #claim(object, path, body) {
    const response = await this.#call(path, body);
    if (response.status !== 200) return response;
    const claim = await response.json();
    await object.noteClaim(claim);
    return Response.json(claim);
  }

  /** Passes a report on an attempt that the tiler has claimed. The attempt is over if that is its end, or refused. */
  async #report(object, path, id, body) {
    const { attempt, outcome } = body ?? {};
    if (!(await object.hasClaimed(id, attempt))) return new Response("This tiler has not claimed the attempt.\n", { status: 403 });
    const response = await this.#call(path, body);
    const isOver = response.ok ? !outcome.progress : [404, 409].includes(response.status);
    if (isOver) await object.noteEnd(id, attempt);
    return response;
  }

  /** Passes a call on to the Worker, with its own token and the start of the container. */
  async #call(path, body) {
    const { container, start } = this.ctx.props;
    const headers = { Authorization: `Bearer ${this.env.TILER_TOKEN}`, "Edgezoom-Container": `${container}/${start}` };
    return this.ctx.exports.default.fetch(new Request(SELF + path, { method: "POST", headers, body: JSON.stringify(body) }));
  }
}

/** Compares digests, so that the time tells nothing. */
async function isSame(given, token) {
  const digest = (text) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return crypto.subtle.timingSafeEqual(await digest(given), await digest(token));
}
