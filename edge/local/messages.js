// The messages of one queue, kept in SQLite so that queued work survives a restart. Meets what Cloudflare's queues do
// to a pull consumer: a message that is neither acknowledged nor retried comes back when its lease is over, and after
// too many attempts it is dropped. It has no timers: a pull looks for the messages that are due.

import { DurableObject } from "cloudflare:workers";

/** Cloudflare's defaults for a pull consumer. */
const VISIBILITY_TIMEOUT_MS = 30_000;
const BATCH_SIZE = 5;
const MAX_BATCH_SIZE = 100;
const MAX_RETRIES = 3;

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

  /** Cloudflare's metrics, and for tests the number of messages ever sent. */
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

/** JSON bodies are pulled as base64. */
function encode(body) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(body))));
}
