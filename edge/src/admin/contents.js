// The operator's index of all finished contents: which exist, which failed, which are old. It is sharded over sixteen
// Durable Objects by the last character of the id. A content's own object reports each result (`durable/record.rs`), so
// an entry is as reliable as KV.
//
// This is JavaScript over SQL because the same code in Rust adds four times as many bytes to the Worker.

import { DurableObject } from "cloudflare:workers";
import { ringBy } from "../platform/alarms.js";
import { DAY, retention } from "./uses.js";

/** Number of unused contents deleted per alarm. */
const BATCH = 50;
const COLUMNS = "id, url, state, code, at, used, pixels, tiles, bytes, collection";
/** SQL for the host and port of a URL. */
const AFTER_SCHEME = "substr(url, instr(url, '://') + 3)";
const AUTHORITY = `substr(${AFTER_SCHEME}, 1, instr(${AFTER_SCHEME} || '/', '/') - 1)`;

/**
 * Sends an event to a content's object. Returns the name of the reply. Both are JSON of `Event` and `Reply` in Rust.
 */
export async function tell(env, id, event) {
  const { Ok: reply } = JSON.parse(await env.CONVERSIONS.getByName(id).send(JSON.stringify({ event })));
  return typeof reply === "object" ? Object.keys(reply)[0] : reply;
}

/** Tells a content's object to delete it, unless it is being converted or taken down. Returns the state to index. */
export async function removeUnused(env, id, action, by) {
  const reply = await tell(env, id, { removed: { id, url: null, removal: { kind: "unused", reason: "", action, by } } });
  return { accepted: "deleted", "not-found": "deleted", conflict: "processing", "taken-down": "taken-down" }[reply];
}

export class ContentsObject extends DurableObject {
  constructor(state, env) {
    super(state, env);
    this.sql = state.storage.sql;
    this.sql.exec(`CREATE TABLE IF NOT EXISTS contents (id TEXT PRIMARY KEY, url TEXT, state TEXT, code TEXT, at INTEGER,
      used INTEGER, pixels INTEGER, tiles INTEGER, bytes INTEGER) WITHOUT ROWID`);
    const [{ known }] = this.sql.exec("SELECT count(*) AS known FROM pragma_table_info('contents') WHERE name = 'collection'").toArray();
    if (!known) this.sql.exec("ALTER TABLE contents ADD COLUMN collection TEXT DEFAULT ''");
    this.sql.exec("CREATE INDEX IF NOT EXISTS by_use ON contents (state, used)");
  }

  /**
   * Stores the result of a conversion, a row as JSON. A repeated or late message changes nothing: the row keeps the
   * latest.
   */
  async note(row) {
    const { id, url, state, code, at, pixels, tiles, bytes, collection } = JSON.parse(row);
    this.sql.exec(
      `INSERT INTO contents (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET url = excluded.url,
        state = excluded.state, code = excluded.code, at = excluded.at, used = max(used, excluded.used), pixels = excluded.pixels,
        tiles = excluded.tiles, bytes = excluded.bytes, collection = max(collection, excluded.collection) WHERE excluded.at >= at`,
      ...[id, url, state, code, at, at, pixels, tiles, bytes, collection],
    );
    await this.#watch();
  }

  /** Notes that contents were used. */
  async use(ids) {
    for (const id of ids) this.sql.exec("UPDATE contents SET used = ? WHERE id = ?", Date.now(), id);
    await this.#watch();
  }

  /** Returns the rows of a content: one or none. */
  find(id) {
    return this.sql.exec(`SELECT ${COLUMNS} FROM contents WHERE id = ?`, id).toArray();
  }

  /** Counts the contents, and sums up their sizes, by state and failure code. */
  count() {
    const sums = ["pixels", "tiles", "bytes"].map((size) => `sum(${size}) AS ${size}`);
    return this.sql.exec(`SELECT state, code, count(*) AS contents, ${sums} FROM contents GROUP BY state, code`).toArray();
  }

  /** Sets the alarm that deletes unused contents. */
  async #watch() {
    const kept = retention(this.env);
    if (kept > 0) await ringBy(this.ctx.storage, Date.now() + Math.min(DAY / 4, kept / 2));
  }

  /** Corrects the state of a content, unless a newer message has arrived since. */
  correct({ id, at, state }) {
    this.sql.exec("UPDATE contents SET state = ? WHERE id = ? AND at = ?", state, id, at);
  }

  /** Lists contents, latest first, from before `before`, a time and an id. */
  list({ state, since = 0, code, host, collection, before = [Number.MAX_SAFE_INTEGER, ""], limit = 100 }) {
    const [at, id] = before;
    const conditions = [["at >= ? AND (at < ? OR (at = ? AND id < ?))", since, at, at, id]];
    // `used` is never before `at`: this lets SQLite use the index on state and use.
    if (state) conditions.push(["state = ? AND used >= ?", state, since]);
    if (code) conditions.push(["code = ?", code]);
    if (collection) conditions.push(["collection = ?", collection]);
    if (host) conditions.push([`instr('.' || ${AUTHORITY} || ':', ?) > 0`, `.${host}:`]);
    const where = conditions.map(([condition]) => condition).join(" AND ");
    const values = conditions.flatMap(([, ...values]) => values);
    return this.sql.exec(`SELECT ${COLUMNS} FROM contents WHERE ${where} ORDER BY at DESC, id DESC LIMIT ?`, ...values, limit).toArray();
  }

  /**
   * Lists contents of a URL with options of a web page, and those of a source in collections: that are taken down, or all
   * others. A file's URL has no name here.
   */
  variants({ url, takenDown, limit }) {
    const hasOptions = "instr(url, '>') > 0 AND substr(url, instr(url, '>') + 1) = ?1";
    const isNamed = "url LIKE 'ni:%' AND substr(url, 1, length(?1) + 6) IN (?1 || '?name=', ?1 || '&name=')";
    const where = `(${hasOptions} OR collection != '' AND state != 'deleted' AND (url = ?1 OR ${isNamed})) AND (state = 'taken-down') = ?2`;
    return this.sql.exec(`SELECT id, collection FROM contents WHERE ${where} LIMIT ?3`, url, Number(takenDown), limit).toArray();
  }

  /**
   * Lists or counts contents that finished, or were last used, before a time. Uploaded files cannot be fetched again,
   * so they are included only with `files`, and what is in a collection is its owner's.
   */
  unused({ before, by = "used", states = ["ready", "failed"], files = false, limit = BATCH, count = false }) {
    const where = `state IN (${states.map(() => "?").join()}) AND ${by === "at" ? "at" : "used"} < ? ${files ? "" : "AND url NOT LIKE 'ni:%'"} AND collection = ''`;
    if (count) return this.sql.exec(`SELECT count(*) AS contents, sum(bytes) AS bytes FROM contents WHERE ${where}`, ...states, before).toArray();
    return this.sql.exec(`SELECT id, at FROM contents WHERE ${where} ORDER BY used LIMIT ?`, ...states, before, limit).toArray();
  }

  /** Deletes contents that have not been used for RETENTION_DAYS. */
  async alarm() {
    const kept = retention(this.env);
    if (kept === 0) return;
    const rows = this.unused({ before: Date.now() - kept, states: ["ready"] });
    const action = `retention ${new Date().toISOString().slice(0, 10)}`;
    let removed = 0;
    for (const { id, at } of rows) {
      const state = await removeUnused(this.env, id, action, "retention");
      if (state === "deleted") removed += 1;
      if (state) this.correct({ id, at, state });
    }
    if (removed > 0) {
      const note = { action, by: "retention", what: "retention", target: "", reason: `unused for ${this.env.RETENTION_DAYS} days`, add: removed };
      await this.env.OPERATOR.getByName("operator").act(note);
    }
    await this.ctx.storage.setAlarm(Date.now() + (rows.length === BATCH ? 10_000 : Math.min(DAY / 4, kept / 2)));
  }
}
