// The local Worker in front of Edgezoom's: it emulates the parts of Cloudflare that wrangler lacks, so the tiler's code
// is the same in production. It consumes the local queue, stores its messages, and lets tilers pull them. It also has
// the dataset of measurements and the status page. All other requests go to Edgezoom's Worker unchanged.

import { answerPull, granted, refused } from "../queue/messages.js";
import { queueOf } from "../queue/queue.js";
import { answer } from "./measurements.js";
import { makeStale } from "./stale_kv.js";
import { begin, noteTiler, serve } from "./status.js";

export { MessagesObject as Messages } from "../queue/messages.js";
export { Measurements, Metrics } from "./measurements.js";
export { StaleKv } from "./stale_kv.js";

const OPERATION = /^\/accounts\/[^/]+\/queues\/[^/]+\/(messages|metrics)/;

/** True from a tiler's first pull on. */
let hasRenderer = false;

export default {
  async queue(batch, env) {
    await queueOf(env.MESSAGES).add(batch.messages.map(({ id, body }) => ({ id, body })));
  },

  async fetch(request, env) {
    begin();
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/internal/status") return serve(request, env, await queueOf(env.MESSAGES).metrics());
    const isAuthorized = request.headers.get("Authorization") === `Bearer ${env.TILER_TOKEN}`;
    if (pathname === "/internal/kv/stale" && isAuthorized) {
      makeStale(Number(searchParams.get("milliseconds")));
      return new Response(null, { status: 204 });
    }
    const isQuery = /^\/accounts\/[^/]+\/analytics_engine\/sql$/.test(pathname);
    const [, operation] = pathname.match(OPERATION) ?? [];
    if (!operation && !isQuery) {
      if (pathname === "/internal/backlog" && isAuthorized) noteTiler(await request.clone().json().catch(() => ({})));
      const response = await env.EDGE.fetch(request);
      return env.RENDERER === "building" && !hasRenderer ? withoutRenderer(response) : response;
    }
    if (!isAuthorized) return refused(401, 10000, "Authentication error");
    if (isQuery) return answer(env, await request.text());
    if (operation === "metrics") {
      return request.method === "GET" ? granted(await queueOf(env.MESSAGES).metrics()) : refused(405, 10405, "Method not allowed for this authentication scheme");
    }
    hasRenderer ||= pathname.endsWith("/pull");
    return answerPull(request, env.MESSAGES);
  },
};

/**
 * Gives queued contents in a response of the Worker the stage `building`, which only the viewer knows, until a tiler
 * pulls: `cargo xtask dev` still compiles it.
 */
function withoutRenderer(response) {
  if (!/json|html|event-stream/.test(response.headers.get("Content-Type")) || !response.body) return response;
  const renamed = new TransformStream({
    transform: (text, out) => out.enqueue(hasRenderer ? text : text.replaceAll('"stage":"queued"', '"stage":"building"')),
  });
  const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(renamed).pipeThrough(new TextEncoderStream());
  const changed = new Response(body, response);
  changed.headers.delete("Content-Length");
  return changed;
}
