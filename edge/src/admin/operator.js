// The operator's Durable Object, a singleton: the log of actions, the removed contents, the blocked hosts, and the
// day's renderings. Each call is one transaction, so the log and the lists always agree. An action has an id, so a
// repeated call is logged once.

import { DurableObject } from "cloudflare:workers";

/**
 * Milliseconds that a takedown stays in the list. Caches keep tiles for at most a year; after that the content's object
 * refuses requests.
 */
const LISTED = 366 * 86_400_000;
/**
 * Maximum number of deletions in the list, which every isolate loads once: those by uploaders, as many as one client may
 * have in eight months, and those of entries. A large collection that is deleted displaces no uploader's deletion.
 */
const MAX_DELETED = 50_000;
const DELETED = ["deleted", "deleted_entries"];
const LATEST = DELETED.map((table) => `SELECT id FROM (SELECT id FROM ${table} WHERE at > ?1 ORDER BY at DESC LIMIT ?2)`);

export class OperatorObject extends DurableObject {
  constructor(state, env) {
    super(state, env);
    this.sql = state.storage.sql;
    this.sql.exec(`CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY AUTOINCREMENT, action TEXT UNIQUE, at INTEGER, by TEXT,
      what TEXT, target TEXT, reason TEXT, result TEXT, contents INTEGER DEFAULT 0)`);
    this.sql.exec("CREATE TABLE IF NOT EXISTS taken_down (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID");
    this.sql.exec("CREATE TABLE IF NOT EXISTS sources (url TEXT PRIMARY KEY, number INTEGER, by TEXT, reason TEXT) WITHOUT ROWID");
    for (const table of DELETED) {
      this.sql.exec(`CREATE TABLE IF NOT EXISTS ${table} (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID`);
      this.sql.exec(`CREATE INDEX IF NOT EXISTS latest_${table} ON ${table} (at)`);
    }
    this.sql.exec("CREATE TABLE IF NOT EXISTS renderings (day INTEGER PRIMARY KEY, taken INTEGER)");
    this.sql.exec("CREATE TABLE IF NOT EXISTS rendered (day INTEGER, party TEXT, number INTEGER, PRIMARY KEY (day, party)) WITHOUT ROWID");
    this.sql.exec("CREATE TABLE IF NOT EXISTS hosts (host TEXT PRIMARY KEY, at INTEGER, by TEXT, reason TEXT) WITHOUT ROWID");
  }

  #rows(query, ...values) {
    return this.sql.exec(query, ...values).toArray();
  }

  /** Makes changes as one transaction. */
  #atOnce(change) {
    return this.ctx.storage.transactionSync(change);
  }

  /**
   * Returns what has changed in the lists since the version `known`, or all of the lists without one: the version, all
   * blocked hosts, the removed ids, and those whose takedown was lifted. null: nothing.
   */
  changes(known) {
    // Every change of a list is in the log, so the last log number is the version.
    const [{ version }] = this.#rows("SELECT coalesce(max(number), 0) AS version FROM log");
    if (version === known) return null;
    const isWhole = !(known <= version);
    const ids = (query, ...values) => this.#rows(query, ...values).map(({ id }) => id);
    const hosts = ids("SELECT host AS id FROM hosts");
    if (isWhole) {
      const all = ["SELECT id FROM taken_down WHERE at > ?1", ...LATEST].join(" UNION ");
      return { version, isWhole, hosts, removed: ids(all, Date.now() - LISTED, MAX_DELETED) };
    }
    const changed = "WITH changed AS (SELECT substr(target, 1, 11) AS id FROM log WHERE number > ? AND what IN ('takedown', 'delete', 'lift')) SELECT id FROM changed WHERE id";
    const listed = `IN (${["taken_down", ...DELETED].map((table) => `SELECT id FROM ${table} WHERE id = changed.id`).join(" UNION ")})`;
    return { version, hosts, removed: ids(`${changed} ${listed}`, known), lifted: ids(`${changed} NOT ${listed}`, known) };
  }

  /** Adds an action to the log. Returns false if the log has it already. */
  #add({ action, at = Date.now(), by, what, target = "", reason = "", result = "" }) {
    if (this.#rows("SELECT 1 FROM log WHERE action = ?", action).length > 0) return false;
    this.sql.exec("INSERT INTO log (action, at, by, what, target, reason, result) VALUES (?, ?, ?, ?, ?, ?, ?)", action, at, by, what, target, reason, result);
    return true;
  }

  /**
   * Records a takedown, its lifting, or a deletion by the uploader, as JSON. A late or repeated call must not undo what
   * followed.
   */
  note(entry) {
    const { id, url, at, collection, removal } = JSON.parse(entry);
    const { kind, action, by, reason } = removal;
    const what = { "taken-down": "takedown", deleted: "delete", lifted: "lift" }[kind];
    this.#atOnce(() => {
      if (!this.#add({ action, at, by, what, target: `${id} ${url}`, reason, result: "done" })) return;
      if (kind === "deleted") this.sql.exec(`INSERT OR REPLACE INTO ${DELETED[collection ? 1 : 0]} VALUES (?, ?)`, id, at);
      else if (kind === "taken-down") this.sql.exec("INSERT OR REPLACE INTO taken_down VALUES (?, ?)", id, at);
      else this.sql.exec("DELETE FROM taken_down WHERE id = ?", id);
    });
  }

  /** Takes a source down in all collections, or ends that if no reason is given. */
  setSource({ url, by, reason }) {
    if (reason) this.sql.exec("INSERT OR REPLACE INTO sources SELECT ?, coalesce(max(number), 0), ?, ? FROM log", url, by, reason);
    else this.sql.exec("DELETE FROM sources WHERE url = ?", url);
  }

  /**
   * Returns the event that removes a collection's content whose source is taken down, or null. `asked` has the content's
   * id, and the URL of its source with and without options. Both are JSON. A later lift of this content alone goes before.
   */
  takedownOf(asked) {
    const lifted = "SELECT 1 FROM log WHERE log.number > sources.number AND what = 'lift' AND substr(target, 1, 11) = ?";
    const query = `SELECT by, reason FROM sources WHERE NOT EXISTS (${lifted}) AND url IN (?, ?) ORDER BY number DESC LIMIT 1`;
    const [id, ...urls] = JSON.parse(asked);
    const [taken] = this.#rows(query, id, ...urls);
    const removal = { kind: "taken-down", action: crypto.randomUUID(), ...taken };
    return JSON.stringify(taken ? { removed: { id, url: null, removal } } : null);
  }

  /** Records the start of an action (`result` is empty), its result, or `add` more contents handled by it. */
  act(entry) {
    this.#atOnce(() => {
      this.#add(entry);
      if (entry.add) this.sql.exec("UPDATE log SET contents = contents + ? WHERE action = ?", entry.add, entry.action);
      if (entry.result) this.sql.exec("UPDATE log SET result = ? WHERE action = ?", entry.result, entry.action);
    });
  }

  /** Blocks or unblocks a host. Logs only a change. */
  setHost({ host, blocked, action, by, reason }) {
    return this.#atOnce(() => {
      const [known] = this.#rows("SELECT reason FROM hosts WHERE host = ?", host);
      if (blocked ? known?.reason === reason : !known) return { changed: false };
      if (blocked) this.sql.exec("INSERT OR REPLACE INTO hosts VALUES (?, ?, ?, ?)", host, Date.now(), by, reason);
      else this.sql.exec("DELETE FROM hosts WHERE host = ?", host);
      this.#add({ action, by, what: blocked ? "block-host" : "unblock-host", target: host, reason, result: "done" });
      return { changed: true };
    });
  }

  /** Lists the blocked hosts. */
  hosts() {
    return this.#rows("SELECT * FROM hosts ORDER BY host");
  }

  /**
   * Counts the renderings of clients that an isolate has `used`, by their parties. Returns the number that the isolate
   * may have of the day, of `most` for all (the `wanted` ones, or the rest), and how many those clients have `made`
   * everywhere. Both are JSON (`edge/src/admission/renderings.rs`).
   */
  countRenderings(request) {
    const { day, wanted, most, used } = JSON.parse(request);
    return this.#atOnce(() => {
      const [{ taken }] = this.#rows("SELECT coalesce(max(taken), 0) AS taken FROM renderings WHERE day = ?", day);
      const granted = Math.max(0, Math.min(wanted, most - taken));
      if (taken === 0) for (const table of ["renderings", "rendered"]) this.sql.exec(`DELETE FROM ${table} WHERE day < ?`, day - 1);
      if (granted > 0) this.sql.exec("INSERT OR REPLACE INTO renderings VALUES (?, ?)", day, taken + granted);
      const count = "INSERT INTO rendered VALUES (?, ?, ?) ON CONFLICT (day, party) DO UPDATE SET number = number + excluded.number RETURNING number";
      const made = Object.entries(used).map(([party, number]) => [party, this.#rows(count, day, party, number)[0].number]);
      return JSON.stringify({ granted, made: Object.fromEntries(made) });
    });
  }

  /** Lists the log, latest first, from before the number `before`. */
  log({ since = 0, before = Number.MAX_SAFE_INTEGER, target, limit = 100 }) {
    const about = target ? "AND (target = ? OR target LIKE ?)" : "";
    const values = target ? [target, `${target} %`] : [];
    return this.#rows(`SELECT * FROM log WHERE at >= ? AND number < ? ${about} ORDER BY number DESC LIMIT ?`, since, before, ...values, limit);
  }
}
