// The Durable Object of a collection: its settings, and a row for each entry. Rust decides (`edge/collections/`); this
// class looks rows up and stores them, sends messages to the contents, and sets the alarm.
//
// An index whose rows are few has a condition, so that most changes do not write it.

import { DurableObject } from "cloudflare:workers";
import * as lists from "../admin/lists.js";
import { ringBy } from "../platform/alarms.js";
import { rules } from "./rules.js";
import { expressionOf, indexed } from "./titles.js";

/** Milliseconds after which waiting entries are looked at again, whatever has happened. */
const AGAIN = 60_000;
/** Milliseconds after which a content that could not be reached gets its message again. */
const UNREACHED = 10_000;
/** Milliseconds after which a notice that is sent counts as lost: the object may have been moved. */
const ANSWERED = 20_000;
/** Maximum number of messages at once. */
const AT_ONCE = 64;
/** Number of entries that the deletion of a collection removes at once. */
const BATCH = 1000;
const STATES = ["waiting", "converting", "ready", "failed", "removed", "taken-down"];
/** States that everybody may see. */
const OPEN = ["ready", "removed"];
/** Condition of entries that are or were public. */
const PUBLIC = "state IN ('ready', 'removed', 'taken-down')";
const TABLES = `
  CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, id TEXT UNIQUE, host TEXT, state TEXT, busy INTEGER, due INTEGER,
    noted INTEGER, seq INTEGER, entry TEXT);
  CREATE INDEX IF NOT EXISTS journal ON entries (seq);
  CREATE INDEX IF NOT EXISTS public_seq ON entries (seq) WHERE ${PUBLIC};
  CREATE INDEX IF NOT EXISTS public_number ON entries (number) WHERE ${PUBLIC};
  CREATE INDEX IF NOT EXISTS line ON entries (host, number) WHERE state = 'waiting';
  CREATE INDEX IF NOT EXISTS failed ON entries (seq) WHERE state = 'failed';
  CREATE INDEX IF NOT EXISTS under_way ON entries (host) WHERE busy = 1;
  CREATE INDEX IF NOT EXISTS due ON entries (due) WHERE due IS NOT NULL;
  CREATE VIRTUAL TABLE IF NOT EXISTS titles USING fts5(title, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
  CREATE TABLE IF NOT EXISTS files (number INTEGER PRIMARY KEY, upload TEXT);
  CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID`;
/** The hosts with waiting entries behind one, in order. */
const HOSTS = `WITH RECURSIVE hosts(host) AS (SELECT min(host) FROM entries WHERE state = 'waiting' AND host > ?
  UNION ALL SELECT (SELECT min(host) FROM entries WHERE state = 'waiting' AND host > hosts.host) FROM hosts WHERE hosts.host IS NOT NULL)
  SELECT host FROM hosts WHERE host IS NOT NULL LIMIT ${AT_ONCE}`;

/** Entries with the keys of their files in the store, which no answer has. */
const ROWS = "SELECT * FROM entries LEFT JOIN files USING (number)";

/** Returns a row as Rust reads it. Its entry is JSON already. */
const rowJson = ({ id, host, state, busy, due, noted, entry, upload = null }) =>
  `{"id":"${id}","host":${JSON.stringify(host)},"state":"${state}","busy":${busy === 1},"due":${due},"noted":${noted},"upload":${JSON.stringify(upload)},"entry":${entry}}`;

const newSecret = () => `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

/** Posts a notice by Standard Webhooks. Returns the status of the answer; 0 if there is none. */
async function post({ url, id, data }, secret) {
  try {
    const now = new Date();
    const seconds = Math.floor(now / 1000);
    const body = JSON.stringify({ type: "entries.changed", timestamp: now.toISOString(), data });
    const bytes = Uint8Array.from(atob(secret.slice(6)), (byte) => byte.charCodeAt(0));
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const signed = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`${id}.${seconds}.${body}`));
    const signature = `v1,${btoa(String.fromCharCode(...new Uint8Array(signed)))}`;
    const headers = { "Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": `${seconds}`, "webhook-signature": signature };
    const answer = await fetch(url, { method: "POST", redirect: "manual", headers, body, signal: AbortSignal.timeout(15_000) });
    await answer.body?.cancel();
    return answer.status;
  } catch {
    return 0;
  }
}

/** Replies are texts. Those that begin with `!` are refusals. */
const isRefusal = (reply) => reply.startsWith("!");

export class CollectionObject extends DurableObject {
  #sql = this.ctx.storage.sql;
  /** State of the notices as JSON; empty if the owner has named no address. */
  #notices = "";
  /** True while a notice is sent. */
  #isSending = false;
  /** The settings as JSON; `undefined` if there is no such collection. */
  #settings;
  /** Number of the last change, number of entries, and that of each state. */
  #counts;
  /** Time before which no entry begins. */
  #paused = 0;
  /** The host whose turn was last. */
  #turn = "";
  /** True if something is left to do at once. */
  #isEarly = false;

  constructor(state, env) {
    super(state, env);
    if (this.#rows("SELECT 1 FROM sqlite_master WHERE name = 'facts'").length === 0) return;
    this.#sql.exec(TABLES); // an earlier version of the Worker made fewer
    this.#read();
    this.ready = this.#goOn();
  }

  #rows(query, ...values) {
    return this.#sql.exec(query, ...values).toArray();
  }

  #read() {
    const { settings, counts, notices = "" } = Object.fromEntries(this.#rows("SELECT name, value FROM facts").map(({ name, value }) => [name, value]));
    this.#settings = settings;
    this.#notices = notices;
    this.#counts = JSON.parse(counts ?? '{"last":0,"entries":0}');
  }

  #store(name, value) {
    this.#sql.exec("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value);
  }

  /** Makes changes of rows as one transaction, with the counts. */
  #atOnce(change) {
    try {
      return this.ctx.storage.transactionSync(() => {
        const result = change();
        this.#store("counts", JSON.stringify(this.#counts));
        return result;
      });
    } catch (error) {
      this.#read();
      throw error;
    }
  }

  #find(id) {
    return this.#rows(`${ROWS} WHERE id = ?`, id)[0];
  }

  /** Stores a row of Rust's in place of the one `before`. */
  #write({ id, host, state, busy, due, noted, entry, upload, shown, found_by: title }, before) {
    const counts = this.#counts;
    const seq = shown ? (counts.last += 1) : before.seq;
    const values = [state, Number(busy), due, noted, seq, JSON.stringify(entry)];
    if (before) this.#sql.exec("UPDATE entries SET state = ?, busy = ?, due = ?, noted = ?, seq = ?, entry = ? WHERE number = ?", ...values, before.number);
    else this.#sql.exec("INSERT INTO entries (number, id, host, state, busy, due, noted, seq, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (counts.entries += 1), id, host, ...values);
    if (upload) this.#sql.exec("INSERT OR REPLACE INTO files VALUES (?, ?)", before?.number ?? counts.entries, upload);
    else if (before?.upload) this.#sql.exec("DELETE FROM files WHERE number = ?", before.number);
    if (before) counts[before.state] -= 1;
    counts[state] = (counts[state] ?? 0) + 1;
    if (title) this.#sql.exec("INSERT OR REPLACE INTO titles (rowid, title) VALUES (?, ?)", before.number, indexed(title));
    else if (title === "") this.#sql.exec("DELETE FROM titles WHERE rowid = ?", before.number);
  }

  /** Begins the collection or changes its settings. `message` is a `Put` as JSON. */
  async put(message) {
    const rust = await rules();
    const settings = rust.putCollection(this.#settings, message, this.#lists());
    if (isRefusal(settings)) return settings;
    const begins = !this.#settings;
    if (begins) this.#sql.exec(TABLES);
    this.#store("settings", settings);
    this.#read();
    const notices = rust.noticesOf(this.#notices, settings, this.#counts.last);
    // The receiver tells our notices from others by the secret.
    if (notices && JSON.parse(this.#notices || "{}").url !== JSON.parse(notices).url) this.#store("secret", newSecret());
    this.#store("notices", notices);
    this.#read();
    return begins ? "" : this.read(JSON.parse(settings).owner);
  }

  /** Returns the collection as JSON, for the owner with its notices; "" if there is none. `key` is the hash of a key or "". */
  async read(key) {
    if (!this.#settings) return "";
    const refusal = key && (await rules()).admitToCollection(this.#settings, key);
    if (refusal) return refusal;
    const { name, title, credit, rights, leaves } = JSON.parse(this.#settings);
    if (leaves) return "";
    const counts = Object.fromEntries(STATES.map((state) => [state, this.#counts[state] ?? 0]));
    const shown = { name, title, credit, rights, counts, last: this.#counts.last };
    if (!key || !this.#notices) return JSON.stringify(shown);
    const { url: notify, after, failures, off } = JSON.parse(this.#notices);
    return JSON.stringify({ ...shown, notify, notices: { secret: this.#secret(), after, failures, off } });
  }

  /**
   * Handles lines: those behind the first, which has the hash of the key. If `?` or the key of a stored file follows, the
   * line is the file's URL.
   */
  async post(message) {
    const end = message.indexOf("\n");
    const [hash, file] = message.slice(0, end).split(" ");
    const [rust] = await Promise.all([rules(), lists.refresh(this.env)]);
    const refusal = rust.admitToCollection(this.#settings, hash);
    if (refusal) return refusal;
    const lines = new rust.SentLines(message.slice(end + 1), this.#settings, this.#lists(), file);
    try {
      this.#atOnce(() => {
        for (let id = lines.asked(); id !== undefined; id = lines.asked()) {
          const row = this.#find(id);
          const change = lines.decide(row && rowJson(row), this.#counts.entries, Date.now());
          if (change) this.#write(JSON.parse(change), row);
        }
      });
      const surplus = lines.surplus();
      if (surplus) await this.env.PYRAMIDS.delete(surplus);
      return lines.answer(this.#counts.last);
    } finally {
      lines.free();
      await this.#wake(0);
    }
  }

  /** Returns what decides which sources are permitted, as JSON. */
  #lists() {
    const { ALLOW_NETWORKS = "", DENY_NETWORKS = "", ALLOW_HOSTS = "", DENY_HOSTS = "" } = this.env;
    return JSON.stringify({ allow_networks: ALLOW_NETWORKS, deny_networks: DENY_NETWORKS, allow_hosts: ALLOW_HOSTS, deny_hosts: DENY_HOSTS, blocked: lists.blockedHosts() });
  }

  /** Lists the entries of a query, which is behind a line with the hash of a key or "". Returns JSON Lines. */
  async list(message) {
    const rust = await rules();
    const [key, query] = message.split("\n");
    if (!(await this.read(""))) return "!unknown";
    const list = rust.entryList(query);
    if (isRefusal(list)) return list;
    const { place, after, state, limit, words } = JSON.parse(list);
    const refusal = key && rust.admitToCollection(this.#settings, key);
    if (refusal) return refusal;
    if (key) await this.#goOn();
    // The conditions are constants: an index with a condition is not used for a variable.
    const shown = (key ? STATES : OPEN).filter((known) => !state || known === state);
    const where = shown.length === STATES.length ? "" : `AND state IN (${shown.map((known) => `'${known}'`).join()})`;
    const found = words === null ? null : expressionOf(words);
    if (found === "") return "";
    const named = found === null ? "" : "AND number IN (SELECT rowid FROM titles WHERE titles MATCH ?3 AND rowid > ?1 ORDER BY rowid LIMIT ?2)";
    // A stranger's request never reads what it does not list.
    const isPublic = !found && shown.every((known) => PUBLIC.includes(known));
    const [from, and] = isPublic ? [`entries INDEXED BY public_${place}`, `AND ${PUBLIC}`] : ["entries", named];
    const rows = this.#rows(`SELECT * FROM ${from} WHERE ${place} > ?1 ${where} ${and} ORDER BY ${place} LIMIT ?2`, after, limit, ...(found ? [found] : []));
    return rows.map(({ seq, number, id, state: is, entry }) => `{"seq":${seq},"number":${number},"id":"${id}","state":"${is}",${entry.slice(1)}\n`).join("");
  }

  /** Returns the response to a request for a public document: JSON of its `url`, `base` and `known`. */
  async face(request) {
    const [rust] = await Promise.all([rules(), lists.refresh(this.env)]);
    const face = new rust.CollectionFace(request, this.#settings, JSON.stringify(this.#counts ?? {}));
    try {
      const wanted = face.wanted();
      return face.response(wanted && (await this.#publicRows(JSON.parse(wanted), rust)));
    } finally {
      face.free();
    }
  }

  /** Returns the entries that everybody may see between two places as JSON, and the content of the first one if Rust asks for it. */
  async #publicRows({ place, after, upto, limit, asks }, rust) {
    const shown = place === "seq" ? PUBLIC : "state = 'ready'";
    const rows = this.#rows(`SELECT * FROM entries WHERE ${place} > ? AND ${place} <= ? AND ${shown} ORDER BY ${place} LIMIT ?`, after, upto, limit);
    const listed = rows.filter(({ id, state }) => state !== "ready" || !lists.isTakenDown(id)).map(rowJson);
    const edge = (query, at) => (place === "seq" ? this.#rows(query, at)[0].at : null);
    const before = edge(`SELECT max(seq) AS at FROM entries WHERE seq <= ? AND ${PUBLIC}`, after);
    const next = edge(`SELECT min(seq) AS at FROM entries WHERE seq > ? AND ${PUBLIC}`, upto);
    const content = asks && listed[0] && (await this.#send(listed[0], rust).catch(() => null));
    return `{"rows":[${listed.join()}],"before":${before},"next":${next},"content":${content || null}}`;
  }

  /** Deletes the collection of the key with this hash: its entries are removed before its name is free. */
  async remove(key) {
    const rust = await rules();
    const refusal = rust.admitToCollection(this.#settings, key);
    if (refusal) return refusal;
    this.#store("settings", JSON.stringify({ ...JSON.parse(this.#settings), leaves: true }));
    this.#read();
    await this.#wake(0);
    return "";
  }

  /** Handles a content's `Note` as JSON. */
  async note(message) {
    const rust = await rules();
    const row = this.#settings && this.#find(JSON.parse(message).id);
    const change = row && rust.noteOfEntry(rowJson(row), message, Date.now());
    if (!change) return;
    this.#atOnce(() => this.#write(JSON.parse(change), row));
    await this.#wake(0);
  }

  #wake(milliseconds) {
    return ringBy(this.ctx.storage, Date.now() + milliseconds);
  }

  /** Sets the alarm if something is left to do: the one before may be lost. */
  async #goOn() {
    if (!this.#settings) return;
    const isOpen = this.#notices || JSON.parse(this.#settings).leaves;
    if (isOpen || this.#next(Infinity) !== null) await this.#wake(AGAIN);
  }

  async alarm() {
    if (!this.#settings) return;
    this.#isEarly = false;
    const rust = await rules();
    await this.#work(rust);
    const notice = this.#notify(rust);
    const next = this.#isEarly ? 0 : this.#next(notice);
    if (next === null) {
      if (JSON.parse(this.#settings).leaves) await this.#forget();
    } else {
      await this.#wake(Math.max(0, next - Date.now()));
    }
  }

  #secret() {
    return this.#rows("SELECT value FROM facts WHERE name = 'secret'")[0].value;
  }

  /** Sends a notice if one is due. Returns the time at which the next one may be. */
  #notify(rust) {
    if (!this.#notices || JSON.parse(this.#settings).leaves) return Infinity;
    if (this.#isSending) return Date.now() + ANSWERED;
    const due = JSON.parse(rust.dueNotice(this.#notices, this.#settings, this.#counts.last, Date.now()));
    if (!due?.now) return due?.at ?? Infinity;
    this.#isSending = true;
    this.#store("notices", (this.#notices = JSON.stringify(due.now.notices)));
    const sent = this.#notices;
    // Entries do not wait for the receiver.
    const answered = post(due.now, this.#secret()).then(async (status) => {
      this.#isSending = false;
      // The owner may have named another address in the meantime.
      if (this.#notices === sent) this.#store("notices", (this.#notices = rust.noticeAnswered(sent, status, Date.now())));
      if (this.#settings) await this.#wake(0);
    });
    this.ctx.waitUntil(answered);
    return Date.now() + ANSWERED;
  }

  /** Returns the time at which something is to be done; null: never. */
  #next(notice) {
    const [{ due }] = this.#rows("SELECT min(due) AS due FROM entries WHERE due IS NOT NULL");
    const begins = this.#counts.waiting > 0 ? Math.max(this.#paused, Date.now() + AGAIN) : Infinity;
    const next = Math.min(due ?? Infinity, begins, notice);
    return next === Infinity ? null : next;
  }

  async #work(rust) {
    if (JSON.parse(this.#settings).leaves) this.#leave(rust);
    const due = this.#rows(`${ROWS} WHERE due IS NOT NULL AND due <= ? ORDER BY due LIMIT ?`, Date.now(), AT_ONCE);
    const begun = Date.now() < this.#paused ? [] : this.#begin(rust);
    const reached = await Promise.all([...due, ...begun].map((row) => this.#ask(row, rust)));
    if (reached.length > 0 && !reached.includes(true)) this.#paused = Date.now() + AGAIN;
  }

  /** Returns the rows whose turn has come. */
  #begin(rust) {
    const busy = this.#rows("SELECT host, count(*) AS number FROM entries WHERE busy = 1 GROUP BY host").map(({ host, number }) => [host, number]);
    const hosts = new Set([...this.#rows(HOSTS, this.#turn), ...this.#rows(HOSTS, "")].map(({ host }) => host));
    const takes = JSON.parse(rust.refillCollection(JSON.stringify(Object.fromEntries(busy)), JSON.stringify([...hosts].slice(0, AT_ONCE))));
    this.#turn = takes.at(-1)?.[0] ?? "";
    return takes.flatMap(([host, take]) => this.#rows(`${ROWS} WHERE state = 'waiting' AND due IS NULL AND host = ? ORDER BY number LIMIT ?`, host, take));
  }

  /** Sends the message of a row to its content. Returns the answer. */
  #send(row, rust) {
    return this.env.CONVERSIONS.getByName(JSON.parse(row).id).send(rust.messageOfEntry(row, this.#settings, Date.now()));
  }

  /** Sends an entry's message to its content, and stores the effect of the answer. Returns false if there was none. */
  async #ask(row, rust) {
    const asked = rowJson(row);
    try {
      // Its content may not know the file yet.
      if (row.state === "removed" && row.upload) await this.env.PYRAMIDS.delete(row.upload);
      const answer = await this.#send(asked, rust);
      const now = this.#find(row.id);
      const settled = JSON.parse(rust.settleEntry(rowJson(now), asked, answer, Date.now()));
      this.#atOnce(() => this.#write(settled.row, now));
      if (settled.pause) this.#paused = Date.now() + AGAIN;
      // Another one may begin at once.
      else if (row.state === "waiting" && !settled.row.busy) this.#isEarly = true;
      return true;
    } catch (error) {
      console.error(`${row.id}: its collection cannot reach it:`, error);
      // The others of its line go on.
      this.#sql.exec("UPDATE entries SET due = ? WHERE number = ?", Date.now() + UNREACHED, row.number);
      return false;
    }
  }

  /** Removes the next entries of a collection that is deleted. */
  #leave(rust) {
    const rows = this.#rows(`${ROWS} WHERE number > ? ORDER BY number LIMIT ?`, this.#counts.left ?? 0, BATCH);
    this.#atOnce(() => {
      for (const row of rows) if (row.state !== "removed") this.#write(JSON.parse(rust.removeEntry(rowJson(row), Date.now())), row);
      this.#counts.left = rows.at(-1)?.number ?? this.#counts.left;
    });
    if (rows.length === BATCH) this.#isEarly = true;
  }

  /** Forgets a deleted collection. */
  async #forget() {
    this.#settings = undefined;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }
}
