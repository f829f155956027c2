// The claims of the tiler in a container, on which it may report. `claims.rs` decides which objects it may use.

import * as rust from "wasm-bindgen-output";

/** Milliseconds for which a claim counts after its end: reports are repeated, and what was written is deleted. */
const AFTERWARDS = 5 * 60_000;
/** Milliseconds for which any claim counts: more than a conversion takes. A tiler may not notice that it lost one. */
const LONGEST = 24 * 3600_000;

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
    return this.#counting().some((claim) => claim.id === id && claim.attempt === Number(attempt));
  }

  /** Returns true if an operation of the store may use these keys. */
  admit(operation, keys) {
    return rust.admitToStore(operation, JSON.stringify(keys), JSON.stringify(this.#counting()));
  }

  #counting() {
    return this.sql.exec("SELECT id, attempt, upload FROM claims WHERE until >= ?", Date.now()).toArray();
  }
}
