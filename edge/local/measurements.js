// The local dataset of the Worker's data points. It replaces Cloudflare's Analytics Engine, with the part of its SQL
// API that `tiler edge-metrics` uses:
// https://developers.cloudflare.com/analytics/analytics-engine/sql-api/

import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";

/** Number of data points that are stored together. */
const BATCH = 500;
/** Retention of data points, in seconds. */
const DAY_S = 24 * 60 * 60;
const BLOBS = ["blob1", "blob2", "blob3", "blob4", "blob5", "blob6"];
const DOUBLES = ["double1", "double2"];
const COLUMNS = ["timestamp", "_sample_interval", ...BLOBS, ...DOUBLES];

/** Data points that are not stored yet: writing must not slow the Worker down. */
let fresh = [];

/** The Worker's binding `METRICS`. */
export class Metrics extends WorkerEntrypoint {
  writeDataPoint({ blobs = [], doubles = [] }) {
    const at = Math.floor(Date.now() / 1000);
    fresh.push([at, 1, ...BLOBS.map((_, number) => blobs[number] ?? ""), ...DOUBLES.map((_, number) => doubles[number] ?? 0)]);
    if (fresh.length >= BATCH) this.ctx.waitUntil(query(this.env, "SELECT 1"));
  }
}

/** Stores all data points so far and returns the rows of a query. */
export function query(env, sql, ...values) {
  const written = fresh;
  fresh = [];
  return env.MEASUREMENTS.getByName("all").query(written, sql, values);
}

/** Answers a query of the SQL API. Of its dialect, ClickHouse's, only `toDateTime` and `FORMAT JSON` are known. */
export async function answer(env, sql) {
  const own = sql
    .trim()
    .replace(/ FORMAT JSON$/, "")
    .replace(/\btoDateTime\((\d+)\)/g, "$1")
    .replace(/ FROM \w+/, " FROM points");
  try {
    const data = await query(env, own);
    const meta = Object.keys(data[0] ?? {}).map((name) => ({ name, type: name.startsWith("blob") ? "String" : "Float64" }));
    return Response.json({ meta, data, rows: data.length });
  } catch (error) {
    return new Response(`Syntax error: ${error.message}`, { status: 422 });
  }
}

export class Measurements extends DurableObject {
  constructor(state, env) {
    super(state, env);
    this.sql = state.storage.sql;
    this.sql.exec(`CREATE TABLE IF NOT EXISTS points (${COLUMNS.join(", ")})`);
    this.sql.exec("CREATE INDEX IF NOT EXISTS times ON points (timestamp)");
  }

  query(written, sql, values) {
    const insert = `INSERT INTO points VALUES (${COLUMNS.map(() => "?").join(", ")})`;
    for (const point of written) this.sql.exec(insert, ...point);
    this.sql.exec("DELETE FROM points WHERE timestamp < ?", Math.floor(Date.now() / 1000) - DAY_S);
    return this.sql.exec(sql, ...values).toArray();
  }
}
