// The Durable Object with the uploads of one client: those that it has begun and not completed, the bytes that it has
// sent today, and the number of its deletions. Its name is a hash of the client's party, which is part of the addresses
// of the client's uploads.
// Keys of files are random and never leave the service, so a public bucket cannot be asked for them.
//
// A party is empty for the operator, who has no limits, and begins with `@` for a client that signs its requests, which
// has no limit for a day (`edge/src/admission/client.rs`).

import { DurableObject } from "cloudflare:workers";
import { ringBy } from "../platform/alarms.js";

const DAY = 86_400_000;
/** Maximum number of uploads that a client has begun and not completed. */
export const MAX_OPEN = 16;
/** Maximum number of bytes in uploads that are not complete, in largest files. */
export const OPEN_FILES = 2;
/** Maximum number of bytes that a client sends in a day (UTC), in largest files. */
export const FILES_A_DAY = 20;
/** A file of fewer bytes than this part of the largest counts as that many, because each costs a write. */
const LEAST_PART = 500;
/**
 * Maximum number of deletions by a client in a day (UTC). Each isolate keeps the latest 50,000 of all clients
 * (`edge/src/admin/operator.js`).
 */
export const DELETIONS_A_DAY = 200;
/** Maximum number of requests to complete an upload. A client repeats one whose response was lost. */
export const MAX_TRIES = 16;
/** Milliseconds after which an upload is no longer being completed: the Worker that did so has died. */
const COMPLETING = 120_000;

/**
 * Returns the maximum number of requests with parts of an upload: each part of the largest file twice, and a few more.
 */
export const maxPuts = (maxBytes, partBytes) => 2 * Math.ceil(maxBytes / partBytes) + 8;

/** The methods return an object with the name of an `error` if they refuse. */
export class UploadsObject extends DurableObject {
  #sql = this.ctx.storage.sql;

  /** Creates the tables. Only a client that is admitted gets here, so a made-up address stores nothing. */
  #prepare() {
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS uploads (token TEXT PRIMARY KEY, key TEXT, id TEXT, owner TEXT, expected TEXT, at INTEGER,
      puts INTEGER DEFAULT 0, tries INTEGER DEFAULT 0, completing INTEGER DEFAULT 0, digest TEXT DEFAULT '') WITHOUT ROWID`);
    this.#sql.exec("CREATE TABLE IF NOT EXISTS parts (upload TEXT, number INTEGER, bytes INTEGER, PRIMARY KEY (upload, number)) WITHOUT ROWID");
    this.#sql.exec("CREATE TABLE IF NOT EXISTS days (day INTEGER PRIMARY KEY, bytes INTEGER)");
    this.#sql.exec("CREATE TABLE IF NOT EXISTS deletions (day INTEGER PRIMARY KEY, number INTEGER)");
  }

  #rows(query, ...values) {
    return this.#sql.exec(query, ...values).toArray();
  }

  #find(token) {
    if (this.#rows("SELECT 1 FROM sqlite_master WHERE name = 'uploads'").length === 0) return undefined;
    return this.#rows("SELECT * FROM uploads WHERE token = ? AND at > ?", token, Date.now() - DAY)[0];
  }

  /**
   * Counts bytes that a client, given by its party or key, is about to send. Returns false if they are too many for
   * today.
   */
  #charge(client, bytes, maxBytes) {
    if (!client || client.startsWith("@")) return true;
    const day = Math.floor(Date.now() / DAY);
    const [{ sent } = { sent: 0 }] = this.#rows("SELECT bytes AS sent FROM days WHERE day = ?", day);
    if (sent + bytes > FILES_A_DAY * maxBytes) return false;
    this.#sql.exec("DELETE FROM days WHERE day < ?", day);
    this.#sql.exec("INSERT INTO days VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET bytes = bytes + excluded.bytes", day, bytes);
    return true;
  }

  /** Counts a file that is sent in one request; negative bytes were counted and did not arrive. */
  receive(party, bytes, maxBytes) {
    this.#prepare();
    const least = Math.ceil(maxBytes / LEAST_PART);
    const counted = bytes < 0 ? Math.min(0, bytes + least) : Math.max(bytes, least);
    return this.#charge(party, counted, maxBytes) ? {} : { error: "too-much-today" };
  }

  /** Counts a deletion, whether or not its key is right. */
  deletion(party) {
    if (!party || party.startsWith("@")) return {};
    this.#prepare();
    const day = Math.floor(Date.now() / DAY);
    const [{ number } = { number: 0 }] = this.#rows("SELECT number FROM deletions WHERE day = ?", day);
    if (number >= DELETIONS_A_DAY) return { error: "too-many-deleted" };
    this.#sql.exec("DELETE FROM deletions WHERE day < ?", day);
    this.#sql.exec("INSERT OR REPLACE INTO deletions VALUES (?, ?)", day, number + 1);
    return {};
  }

  /** Begins an upload of `owner`, the key of a client. Returns its token. */
  async begin(party, owner, expected) {
    this.#prepare();
    const [{ open }] = this.#rows("SELECT count(*) AS open FROM uploads WHERE digest = '' AND at > ?", Date.now() - DAY);
    if (party && open >= MAX_OPEN) return { error: "too-many-open" };
    const token = random();
    const key = `uploads/${random()}`;
    this.#sql.exec("INSERT INTO uploads (token, key, id, owner, expected, at) VALUES (?, ?, '', ?, ?, ?)", token, key, owner, expected, Date.now());
    try {
      const { uploadId } = await this.env.PYRAMIDS.createMultipartUpload(key);
      this.#sql.exec("UPDATE uploads SET id = ? WHERE token = ?", uploadId, token);
    } catch (error) {
      this.settle(token, null); // otherwise it would count as open for a day
      throw error;
    }
    await ringBy(this.ctx.storage, Date.now() + DAY);
    return { token };
  }

  /**
   * Counts a part for the client that began the upload, whichever client sends it. Returns the key of the file and R2's
   * id of the upload.
   */
  part(token, number, bytes, partBytes, maxBytes) {
    const upload = this.#find(token);
    if (!upload?.id || upload.digest) return { error: "not-begun" };
    if (upload.puts >= maxPuts(maxBytes, partBytes)) return { error: "too-many-parts" };
    const [{ open }] = this.#rows(
      "SELECT coalesce(sum(bytes), 0) AS open FROM parts JOIN uploads ON token = upload WHERE at > ? AND NOT (upload = ? AND number = ?)",
      ...[Date.now() - DAY, token, number],
    );
    if (upload.owner && open + bytes > OPEN_FILES * maxBytes) return { error: "too-much-open" };
    // A short part costs the store as much as a whole one.
    if (!this.#charge(upload.owner, partBytes, maxBytes)) return { error: "too-much-today" };
    this.#sql.exec("UPDATE uploads SET puts = puts + 1 WHERE token = ?", token);
    this.#sql.exec("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", token, number, bytes);
    return { key: upload.key, id: upload.id };
  }

  /** Returns the key of the client that began an upload. */
  owner(token) {
    const upload = this.#find(token);
    return upload ? { owner: upload.owner } : { error: "not-begun" };
  }

  /** Starts to complete an upload. Returns its row, with the file's digest if it is complete. */
  complete(token) {
    const upload = this.#find(token);
    if (!upload?.id || upload.tries >= MAX_TRIES) return { error: "not-begun" };
    if (!upload.digest && Date.now() - upload.completing < COMPLETING) return { error: "busy" };
    this.#sql.exec("UPDATE uploads SET tries = tries + 1, completing = ? WHERE token = ?", Date.now(), token);
    return upload;
  }

  /** Notes the digest of a complete file; "" if it is not complete, and null if it was deleted. */
  settle(token, digest) {
    this.#sql.exec("UPDATE uploads SET digest = ?, completing = 0 WHERE token = ?", digest ?? "", token);
    if (digest !== "") this.#sql.exec("DELETE FROM parts WHERE upload = ?", token);
    if (digest === null) this.#sql.exec("DELETE FROM uploads WHERE token = ?", token);
  }

  /** Deletes uploads that were not completed within a day, with their parts. */
  async alarm() {
    const before = Date.now() - DAY;
    for (const { token, key, id, digest } of this.#rows("SELECT * FROM uploads WHERE at <= ?", before)) {
      // The bucket's lifecycle rule deletes those that fail here.
      if (id && !digest) await this.env.PYRAMIDS.resumeMultipartUpload(key, id).abort().catch(() => {});
      this.settle(token, null);
    }
    const [{ next }] = this.#rows("SELECT min(at) AS next FROM uploads");
    if (next !== null) await this.ctx.storage.setAlarm(next + DAY);
  }
}

const random = () => crypto.randomUUID().replaceAll("-", "");
