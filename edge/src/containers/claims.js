// The claims of the tiler in a container. It may report on these, use the objects of their attempts, delete those of
// earlier ones, and read the files that were uploaded for them.

/** Milliseconds for which a claim counts after its end: reports are repeated, and what was written is deleted. */
const AFTERWARDS = 5 * 60_000;
/** Milliseconds for which any claim counts: more than a conversion takes. A tiler may not notice that it lost one. */
const LONGEST = 24 * 3600_000;
/** The content and the attempt in the key of an object (`content/src/attempt.rs`). */
const OBJECT = /^([0-9A-Za-z]{11})\/(\d+)[._]/;

export class Claims {
  constructor(sql) {
    this.sql = sql;
    sql.exec("CREATE TABLE IF NOT EXISTS claims (id TEXT, attempt INTEGER, upload TEXT, until INTEGER, PRIMARY KEY (id, attempt)) WITHOUT ROWID");
  }

  /** Forgets all: another tiler starts. */
  clear() {
    this.sql.exec("DELETE FROM claims");
  }

  add({ id, attempt, upload = null }) {
    const now = Date.now();
    this.sql.exec("DELETE FROM claims WHERE until < ?", now);
    this.sql.exec("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", id, attempt, upload, now + LONGEST);
  }

  end(id, attempt) {
    const until = Date.now() + AFTERWARDS;
    this.sql.exec("UPDATE claims SET until = ?1 WHERE id = ?2 AND attempt = ?3 AND until > ?1", until, id, attempt);
  }

  has(id, attempt) {
    return this.#find("id = ? AND attempt = ?", id, Number(attempt));
  }

  /** Returns true if an operation of the store may use these keys. */
  admit(operation, keys) {
    const attempts = operation === "delete" ? ">=" : "="; // what earlier attempts left
    const isReading = operation === "GET" || operation === "HEAD";
    return keys.every((key) => {
      const [, id, attempt] = OBJECT.exec(key) ?? [];
      return id ? this.#find(`id = ? AND attempt ${attempts} ?`, id, Number(attempt)) : isReading && this.#find("upload = ?", key);
    });
  }

  #find(condition, ...values) {
    const found = this.sql.exec(`SELECT 1 FROM claims WHERE until >= ? AND ${condition} LIMIT 1`, Date.now(), ...values);
    return found.toArray().length > 0;
  }
}
