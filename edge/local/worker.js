// wrangler has no pull queues. This Worker emulates one: it consumes the local queue, stores the messages
// (messages.js), and offers them as Cloudflare's REST API does, so that the tiler's code is the same in production:
// https://developers.cloudflare.com/queues/configuration/pull-consumers/ Any other request is passed on to the Worker
// unchanged, and so is the response. Beside it are the dataset of the Worker's measurements, and a page of what they say.

import { answer } from "./measurements.js";
import { begin, noteTiler, serve } from "./status.js";

export { Measurements, Metrics } from "./measurements.js";
export { Messages } from "./messages.js";

const OPERATION = /^\/accounts\/[^/]+\/queues\/([^/]+)\/(messages\/pull|messages\/ack|metrics)$/;
const QUEUE = "edgezoom-jobs";

export default {
  async queue(batch, env) {
    await messages(env, batch.queue).add(batch.messages.map(({ id, body }) => ({ id, body })));
  },

  async fetch(request, env) {
    begin();
    const { pathname } = new URL(request.url);
    if (pathname === "/internal/status") return serve(request, env, await messages(env, QUEUE).metrics());
    const isAuthorized = request.headers.get("Authorization") === `Bearer ${env.TILER_TOKEN}`;
    const isQuery = /^\/accounts\/[^/]+\/analytics_engine\/sql$/.test(pathname);
    const [, queue, operation] = pathname.match(OPERATION) ?? [];
    if (!operation && !isQuery) {
      if (pathname === "/internal/backlog" && isAuthorized) noteTiler(await request.clone().json().catch(() => ({})));
      return env.EDGE.fetch(request);
    }
    if (!isAuthorized) return refused(401, 10000, "Authentication error");
    if (isQuery) return answer(env, await request.text());
    if (request.method !== (operation === "metrics" ? "GET" : "POST")) {
      return refused(405, 10405, "Method not allowed for this authentication scheme");
    }
    const stored = messages(env, queue);
    if (operation === "metrics") return granted(await stored.metrics());
    const parameters = await request.json().catch(() => null);
    if (parameters === null || typeof parameters !== "object") return refused(400, 10026, "Could not parse request body");
    return granted(await (operation === "messages/pull" ? stored.pull(parameters) : stored.acknowledge(parameters)));
  },
};

function messages(env, queue) {
  return env.MESSAGES.getByName(queue);
}

function granted(result) {
  return Response.json({ success: true, errors: [], messages: [], result });
}

function refused(status, code, message) {
  const envelope = { success: false, errors: [{ code, message }], messages: [], result: null };
  return Response.json(envelope, { status });
}
