// The Worker's measurements in the local service: the dataset, the part of the SQL API that `tiler edge-metrics` uses,
// and the status page. In all other tests the Worker has no dataset.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { LOCAL, PLAIN, TOKEN, start } from "./system.mjs";

const local = {
  name: "edgezoom-local",
  modules: LOCAL,
  bindings: { TILER_TOKEN: TOKEN },
  serviceBindings: { EDGE: "edgezoom" },
  durableObjects: {
    MEASUREMENTS: { className: "Measurements", useSQLite: true },
    MESSAGES: { className: "Messages", useSQLite: true },
  },
};

let system;
aroundTests(async () => (system = await start({}, PLAIN, local)), () => system.close());

const ask = (path, init) => fetch(system.addresses["edgezoom-local"] + path, { redirect: "manual", ...init });

/** Returns the sums of the data points of one kind, by their labels. */
async function counted(what, labels) {
  const names = labels.map((_, number) => `blob${number + 2}`).join(", ");
  const sql = `SELECT ${names}, SUM(_sample_interval * double1) AS count FROM edgezoom WHERE timestamp >= toDateTime(0)
    AND blob1 = '${what}' GROUP BY ${names} FORMAT JSON`;
  const answer = await ask("/accounts/local/analytics_engine/sql", {
    method: "POST",
    headers: { Authorization: `Bearer ${TOKEN}` },
    body: sql,
  });
  assert.equal(answer.status, 200, await answer.clone().text());
  const { data } = await answer.json();
  const key = (row) => labels.map((_, number) => row[`blob${number + 2}`]).join(" ");
  return Object.fromEntries(data.map((row) => [key(row), row.count]));
}

test("contents are counted by state, and requests by status and source of the response", async () => {
  await ask("/internal/status"); // counting starts with the first request
  const id = await system.content("http://example.com/ready.jpg", "ready");
  const failed = await system.content("http://example.com/failed.jpg", "failed");
  assert.deepEqual(await counted("content", ["state", "from", "code"]), {
    "queued none ": 2,
    "claimed queued ": 2,
    "ready claimed ": 1,
    "failed claimed source-not-found": 1,
  });
  assert.deepEqual(await counted("answer", ["state"]), { ready: 1, failed: 1 });

  const before = await counted("request", ["part", "status", "source"]);
  for (const path of [
    `/v1/content/${id}`,
    `/v1/content/${id}?format=json`,
    "/v1/content/00000000000",
    "/v1/content/00000000000?format=json",
    "/v1/content/?url=nothing&callback=f",
    "/health",
  ]) {
    await (await ask(path)).text();
  }
  const after = await counted("request", ["part", "status", "source"]);
  const added = (key) => (after[key] ?? 0) - (before[key] ?? 0);
  assert.equal(added("v1 200 kv"), 2);
  assert.equal(added("v1 404 object"), 2, "the status in the body is counted");
  assert.equal(added("v1 400 object"), 1);
  assert.equal(added("page 200 object"), 1);

  const status = await (await ask("/internal/status")).json();
  assert.deepEqual(status.failures.map(({ id, code }) => [id, code]), [[failed, "source-not-found"]]);
  assert.equal(status.queue.messages, 0);
  const page = await ask("/internal/status", { headers: { Accept: "text/html,*/*" } });
  assert.match(page.headers.get("content-type"), /^text\/html/);
  assert.ok((await page.text()).includes(`<a href="/${failed}">${failed}</a>`));
});

test("requests for tiles are sampled", async () => {
  const tile = "/cache/00000000000/1_files/0/0_0.jpg";
  await Promise.all(Array.from({ length: 320 }, async () => (await ask(tile)).text()));
  const { "cache 404 object": tiles } = await counted("request", ["part", "status", "source"]);
  assert.ok(tiles % 16 === 0 && tiles > 0 && tiles < 1000, `${tiles}`); // fails by chance in less than one of 10^8 runs
});

test("errors are counted", async () => {
  const closed = await start({ BASE_URL: "" }, PLAIN, local);
  try {
    const status = async () => (await fetch(`${closed.addresses["edgezoom-local"]}/internal/status`)).json();
    assert.equal((await status()).errors, 0);
    const answer = await closed.fetch("/health");
    assert.equal(answer.status, 503);
    const { errors } = await status();
    assert.ok(errors > 0);
  } finally {
    await closed.close();
  }
});

test("the SQL API needs the token, and refuses what it does not understand", async () => {
  const query = (token, body) =>
    ask("/accounts/local/analytics_engine/sql", { method: "POST", headers: { Authorization: `Bearer ${token}` }, body });
  assert.equal((await query("another", "SELECT 1")).status, 401);
  assert.equal((await query(TOKEN, "SELECT nothing FROM edgezoom")).status, 422);
});

test("the status page lists tilers that report their slots", async () => {
  const report = (token) =>
    ask("/internal/backlog", {
      method: "POST",
      headers: { Authorization: `Bearer ${token}` },
      body: JSON.stringify({ messages: 3, capacity: { tiler: 7, slots: 2 } }),
    });
  assert.equal((await report("another")).status, 401);
  assert.deepEqual((await (await ask("/internal/status")).json()).tilers, []);
  assert.equal((await report(TOKEN)).status, 204);
  const { tilers } = await (await ask("/internal/status")).json();
  assert.deepEqual([tilers[0].tiler, tilers[0].slots], [7, 2]);
});

test("calls with a wrong token are measured like tiles: a data point costs as much as a request", async () => {
  const before = await counted("request", ["part", "status", "source"]);
  const call = () => fetch(`${system.addresses.edgezoom}/internal/backlog`, { method: "POST", headers: { Authorization: "Bearer wrong" } });
  for (let calls = 0; calls < 200; calls += 1) assert.equal((await call()).status, 401);
  const [key] = Object.keys(await counted("request", ["part", "status", "source"])).filter((key) => key.startsWith("internal 401"));
  const sum = (await counted("request", ["part", "status", "source"]))[key] - (before[key] ?? 0);
  assert.ok(sum > 0 && sum % 16 === 0, `${sum} of 200`); // each of a sixteenth counts sixteen times
});
