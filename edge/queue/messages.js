// The queue of jobs where Cloudflare's cannot be pulled from: for tilers in the operator's containers, which then need no
// token of the account, and on a developer's machine. It answers like Cloudflare's REST API for pull consumers, so the
// tiler's code is the same everywhere: https://developers.cloudflare.com/queues/configuration/pull-consumers/

import { DurableObject } from "cloudflare:workers";
import { queueOf } from "./queue.js";

const OPERATION = /\/messages\/(pull|ack)$/;

// Cloudflare's defaults for a pull consumer.
const VISIBILITY_TIMEOUT_MS = 30_000;
const BATCH_SIZE = 5;
const MAX_BATCH_SIZE = 100;
const LONGEST_MS = 12 * 3600 * 1000;
const MAX_RETRIES = 3;

/** Returns a number that a tiler asks for, within what it may have. */
const clamped = (asked, least, most) => Math.min(Math.max(Number(asked) || least, least), most);

/** Responds to a tiler's pull or acknowledgement. The caller has checked the token. */
export async function answerPull(request, namespace) {
  const [, operation] = OPERATION.exec(new URL(request.url).pathname) ?? [];
  if (!operation) return refused(404, 10000, "No such operation");
  if (request.method !== "POST") return refused(405, 10405, "Method not allowed for this authentication scheme");
  const parameters = await request.json().catch(() => null);
  if (parameters === null || typeof parameters !== "object") return refused(400, 10026, "Could not parse request body");
  const queue = queueOf(namespace);
  return granted(await (operation === "pull" ? queue.pull(parameters) : queue.acknowledge(parameters)));
}

/** Returns a successful response of Cloudflare's API. */
export const granted = (result) => Response.json({ success: true, errors: [], messages: [], result });

/** Returns a response of Cloudflare's API with an error. */
export const refused = (status, code, message) =>
  Response.json({ success: false, errors: [{ code, message }], messages: [], result: null }, { status });

/**
 * The messages of the queue, in SQLite, so they survive a restart. Like in Cloudflare's queues, a message that is
 * neither acknowledged nor retried returns when its lease ends, and is dropped after too many attempts. There are no
 * timers: a pull looks for due messages.
 */
export class MessagesObject extends DurableObject {
  constructor(state, env) {
    super(state, env);
    this.sql = state.storage.sql;
    this.sql.exec(`CREATE TABLE IF NOT EXISTS messages (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, body TEXT NOT NULL,
      sent_ms INTEGER NOT NULL, visible_ms INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, lease TEXT UNIQUE)`);
  }

  send(body) {
    this.add([{ id: crypto.randomUUID(), body }]);
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
    const limit = clamped(batch_size, 1, MAX_BATCH_SIZE);
    const returns = now + clamped(visibility_timeout_ms, 0, LONGEST_MS);
    this.sql.exec("DELETE FROM messages WHERE visible_ms <= ? AND attempts > ?", now, MAX_RETRIES);
    const due = this.sql.exec("SELECT * FROM messages WHERE visible_ms <= ? ORDER BY number LIMIT ?", now, limit);
    const messages = due.toArray().map(({ number, id, body, sent_ms, attempts }) => {
      const lease_id = crypto.randomUUID();
      const lease = "UPDATE messages SET visible_ms = ?, lease = ?, attempts = attempts + 1 WHERE number = ?";
      this.sql.exec(lease, returns, lease_id, number);
      const metadata = { "CF-sourceMessageSource": "worker", "CF-Content-Type": "json" };
      return { id, body, timestamp_ms: sent_ms, attempts: attempts + 1, lease_id, metadata };
    });
    return { message_backlog_count: this.count(), messages };
  }

  acknowledge({ acks = [], retries = [] }) {
    let ackCount = 0;
    let retryCount = 0;
    for (const { lease_id } of acks) {
      ackCount += this.sql.exec("DELETE FROM messages WHERE lease = ?", lease_id).rowsWritten > 0 ? 1 : 0;
    }
    for (const { lease_id, delay_seconds = 0 } of retries) {
      const retry = "UPDATE messages SET visible_ms = ?, lease = NULL WHERE lease = ?";
      const again = Date.now() + clamped(delay_seconds * 1000, 0, LONGEST_MS);
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
    return { backlog_count: this.count(), oldest_message_timestamp_ms: oldest, sent_count };
  }

  /** Returns the number of messages, those that are pulled included. */
  count() {
    return this.sql.exec("SELECT count(*) AS count FROM messages").one().count;
  }
}

/** Encodes a JSON body as base64, as pulls return it. */
function encode(body) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(body))));
}
