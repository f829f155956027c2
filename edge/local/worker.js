// The local Worker in front of Edgezoom's: it emulates the parts of Cloudflare that wrangler lacks, so the tiler's code
// is the same in production. It consumes the local queue, stores its messages, and serves them like Cloudflare's REST
// API for pull consumers: https://developers.cloudflare.com/queues/configuration/pull-consumers/
// It also has the dataset of measurements and the status page. All other requests go to Edgezoom's Worker unchanged.

import { DurableObject } from "cloudflare:workers";
import { answer } from "./measurements.js";
import { makeStale } from "./stale_kv.js";
import { begin, noteTiler, serve } from "./status.js";

export { Measurements, Metrics } from "./measurements.js";
export { StaleKv } from "./stale_kv.js";

const OPERATION = /^\/accounts\/[^/]+\/queues\/([^/]+)\/(messages\/pull|messages\/ack|metrics)$/;
const QUEUE = "edgezoom-jobs";

// Cloudflare's defaults for a pull consumer.
const VISIBILITY_TIMEOUT_MS = 30_000;
const BATCH_SIZE = 5;
const MAX_BATCH_SIZE = 100;
const MAX_RETRIES = 3;

/** True from a tiler's first pull on. */
let hasRenderer = false;

export default {
  async queue(batch, env) {
    await messages(env, batch.queue).add(batch.messages.map(({ id, body }) => ({ id, body })));
  },

  async fetch(request, env) {
    begin();
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/internal/status") return serve(request, env, await messages(env, QUEUE).metrics());
    const isAuthorized = request.headers.get("Authorization") === `Bearer ${env.TILER_TOKEN}`;
    if (pathname === "/internal/kv/stale" && isAuthorized) {
      makeStale(Number(searchParams.get("milliseconds")));
      return new Response(null, { status: 204 });
    }
    const isQuery = /^\/accounts\/[^/]+\/analytics_engine\/sql$/.test(pathname);
    const [, queue, operation] = pathname.match(OPERATION) ?? [];
    if (!operation && !isQuery) {
      if (pathname === "/internal/backlog" && isAuthorized) noteTiler(await request.clone().json().catch(() => ({})));
      const response = await env.EDGE.fetch(request);
      return env.RENDERER === "building" && !hasRenderer ? withoutRenderer(response) : response;
    }
    if (!isAuthorized) return refused(401, 10000, "Authentication error");
    if (isQuery) return answer(env, await request.text());
    if (request.method !== (operation === "metrics" ? "GET" : "POST")) {
      return refused(405, 10405, "Method not allowed for this authentication scheme");
    }
    const stored = messages(env, queue);
    hasRenderer ||= operation === "messages/pull";
    if (operation === "metrics") return granted(await stored.metrics());
    const parameters = await request.json().catch(() => null);
    if (parameters === null || typeof parameters !== "object") return refused(400, 10026, "Could not parse request body");
    return granted(await (operation === "messages/pull" ? stored.pull(parameters) : stored.acknowledge(parameters)));
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

/**
 * The messages of one queue, in SQLite, so they survive a restart. Like in Cloudflare's queues, a message that is
 * neither acknowledged nor retried returns when its lease ends, and is dropped after too many attempts. There are no
 * timers: a pull looks for due messages.
 */
export class Messages extends DurableObject {
  constructor(state, env) {
    super(state, env);
    this.sql = state.storage.sql;
    this.sql.exec(`
      CREATE TABLE IF NOT EXISTS messages (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        body TEXT NOT NULL,
        sent_ms INTEGER NOT NULL,
        visible_ms INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        lease TEXT UNIQUE
      )`);
  }

  add(batch) {
    const now = Date.now();
    for (const { id, body } of batch) {
      const insert = "INSERT INTO messages (id, body, sent_ms, visible_ms) VALUES (?, ?, ?, ?)";
      this.sql.exec(insert, id, encode(body), now, now);
    }
  }

  pull({ visibility_timeout_ms = VISIBILITY_TIMEOUT_MS, batch_size = BATCH_SIZE }) {
    const now = Date.now();
    const limit = Math.min(batch_size, MAX_BATCH_SIZE);
    this.sql.exec("DELETE FROM messages WHERE visible_ms <= ? AND attempts > ?", now, MAX_RETRIES);
    const due = this.sql.exec("SELECT * FROM messages WHERE visible_ms <= ? ORDER BY number LIMIT ?", now, limit);
    const messages = due.toArray().map(({ number, id, body, sent_ms, attempts }) => {
      const lease_id = crypto.randomUUID();
      const lease = "UPDATE messages SET visible_ms = ?, lease = ?, attempts = attempts + 1 WHERE number = ?";
      this.sql.exec(lease, now + visibility_timeout_ms, lease_id, number);
      const metadata = { "CF-sourceMessageSource": "worker", "CF-Content-Type": "json" };
      return { id, body, timestamp_ms: sent_ms, attempts: attempts + 1, lease_id, metadata };
    });
    return { message_backlog_count: this.#backlog(), messages };
  }

  acknowledge({ acks = [], retries = [] }) {
    let ackCount = 0;
    let retryCount = 0;
    for (const { lease_id } of acks) {
      ackCount += this.sql.exec("DELETE FROM messages WHERE lease = ?", lease_id).rowsWritten > 0 ? 1 : 0;
    }
    for (const { lease_id, delay_seconds = 0 } of retries) {
      const retry = "UPDATE messages SET visible_ms = ?, lease = NULL WHERE lease = ?";
      const again = Date.now() + delay_seconds * 1000;
      retryCount += this.sql.exec(retry, again, lease_id).rowsWritten > 0 ? 1 : 0;
    }
    return { ackCount, retryCount, warnings: [] };
  }

  /** Returns Cloudflare's metrics and, for tests, the total number of sent messages. */
  metrics() {
    const [{ sent_count }] = this.sql
      .exec("SELECT coalesce(max(seq), 0) AS sent_count FROM sqlite_sequence WHERE name = 'messages'")
      .toArray();
    const [{ oldest }] = this.sql.exec("SELECT coalesce(min(sent_ms), 0) AS oldest FROM messages").toArray();
    return { backlog_count: this.#backlog(), oldest_message_timestamp_ms: oldest, sent_count };
  }

  #backlog() {
    return this.sql.exec("SELECT count(*) AS count FROM messages").one().count;
  }
}

/** Encodes a JSON body as base64, as pulls return it. */
function encode(body) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(body))));
}
