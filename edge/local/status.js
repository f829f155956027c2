// `/internal/status`: the local service's activity since its start, as a page or JSON. A deployed service has a
// dashboard instead (deploy/monitoring).

import { query } from "./measurements.js";

/** Maximum number of failures shown. */
const FAILURES = 20;
/** Time without a report after which a tiler is not listed. */
const GONE_MS = 120_000;

let started;
const tilers = new Map();

/** Starts counting. The first request comes from `cargo xtask dev`, which waits for the service. */
export function begin() {
  started ??= Math.floor(Date.now() / 1000);
}

/** Records the tiler of a report on the queue's length. */
export function noteTiler({ capacity, messages, leaving }) {
  if (leaving) tilers.delete(capacity?.tiler);
  else if (capacity) tilers.set(capacity.tiler, { ...capacity, messages, at: Date.now() });
}

/** Returns the status. `queue` is the queue's metrics. */
async function status(env, queue) {
  const now = Date.now();
  const counted = (what, labels) =>
    query(
      env,
      `SELECT ${labels.map((label, number) => `blob${number + 2} AS ${label}`).join(", ")}, SUM(double1) AS count
       FROM points WHERE timestamp >= ? AND blob1 = ? GROUP BY ${labels.join(", ")} ORDER BY ${labels.join(", ")}`,
      started,
      what,
    );
  const failures = await query(
    env,
    `SELECT blob6 AS id, blob4 AS code, timestamp AS at FROM points
     WHERE timestamp >= ? AND blob1 = 'content' AND blob2 = 'failed' ORDER BY timestamp DESC LIMIT ${FAILURES}`,
    started,
  );
  const [errors] = await query(env, "SELECT COUNT(*) AS count FROM points WHERE timestamp >= ? AND blob1 = 'error'", started);
  const { backlog_count: messages, oldest_message_timestamp_ms: oldest } = queue;
  return {
    since: new Date(started * 1000).toISOString(),
    queue: { messages, oldestSeconds: messages ? Math.round((now - oldest) / 1000) : 0 },
    tilers: [...tilers.values()]
      .filter(({ at }) => now - at < GONE_MS)
      .map(({ tiler, slots, at }) => ({ tiler, slots, secondsAgo: Math.round((now - at) / 1000) })),
    requests: await counted("request", ["part", "status", "source"]),
    contents: await counted("content", ["state"]),
    errors: errors.count,
    failures: failures.map(({ at, ...failure }) => ({ ...failure, at: new Date(at * 1000).toISOString() })),
  };
}

/** Answers `/internal/status`. */
export async function serve(request, env, queue) {
  const now = await status(env, queue);
  const headers = { "Cache-Control": "no-store" };
  const wanted = `${new URL(request.url).searchParams.get("format")} ${request.headers.get("Accept")}`;
  if (!/html/.test(wanted) || /^json/.test(wanted)) return Response.json(now, { headers });
  const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
  const html = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy };
  return new Response(page(now), { headers: { ...headers, ...html } });
}

const escape = (value) => String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function table(title, rows) {
  if (rows.length === 0) return `<h2>${title}</h2><p>none</p>`;
  const line = (cells, tag) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  const cell = ([name, value]) => (name === "id" ? `<a href="/${escape(value)}">${escape(value)}</a>` : escape(value));
  const body = rows.map((row) => line(Object.entries(row).map(cell), "td")).join("");
  return `<h2>${title}</h2><table>${line(Object.keys(rows[0]), "th")}${body}</table>`;
}

const page = ({ since, queue, tilers, requests, contents, errors, failures }) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="5"><title>Edgezoom: status</title>
<style>body{font:14px/1.5 system-ui;margin:2rem;max-width:60rem}td,th{text-align:left;padding:0 1.5rem 0 0}</style>
<h1>Edgezoom on this machine</h1>
<p>Since ${escape(since)}: ${queue.messages} messages in the queue, the oldest ${queue.oldestSeconds} s old; ${errors} errors in the Worker.</p>
${table("Tilers", tilers)}
${table("Contents by new state", contents)}
${table("Requests by kind", requests)}
${table("Failures", failures)}
</html>
`;
