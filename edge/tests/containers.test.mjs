// The gate of containers: what a tiler in one can reach, with the token of its start. `tests/containers/` has the whole.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { variables } from "../src/containers/variables.js";
import { byUrl, eventually, startWith } from "./system.mjs";

const TOKEN = "token-of-a-start";
/** Passes requests to the gate with `Through-Gate` as the runtime does with those of a container, which has no object. */
const ENTRY = `
  import edge, { TilerObject as Real } from "./index.js";
  export * from "./index.js"; // except for the class below

  const orders = [];
  export class TilerObject extends Real {
    async start(order) { orders.push(["start", JSON.parse(order)]); }
    async destroy(order) { orders.push(["destroy", JSON.parse(order)]); }
    async stop(order) { orders.push(["stop", JSON.parse(order)]); }
  }

  export default {
    async fetch(request, env, context) {
      const { pathname, search } = new URL(request.url);
      if (pathname === "/orders") return Response.json(orders.splice(0));
      if (!request.headers.has("Through-Gate")) return edge.fetch(request, env);
      const gate = context.exports.TilerGate({ props: JSON.parse(request.headers.get("Through-Gate")) });
      return gate.fetch(new Request("http://198.18.0.1" + pathname + search, request));
    },
  };
`;

let system;
const through = (path, { token = TOKEN, start = { container: 0, start: 1 }, headers, ...init } = {}) =>
  system.fetch(path, {
    ...init,
    headers: { "Through-Gate": JSON.stringify({ ...start, token: TOKEN }), Authorization: `Bearer ${token}`, ...headers },
  });
const post = (path, body, more) => through(path, { method: "POST", body: JSON.stringify(body), ...more });
const orders = async () => (await system.fetch("/orders")).json();
const create = async (url) => (await (await system.fetch(byUrl(url), { headers: { "CF-Connecting-IP": "192.0.2.1" } })).json()).id;
const store = (path, init = {}) =>
  through(`/pyramids/${path}`, {
    ...init,
    headers: { Authorization: `AWS4-HMAC-SHA256 Credential=${TOKEN}/20261101/auto/s3/aws4_request, SignedHeaders=host, Signature=0`, ...init.headers },
  });
const deletion = (...keys) => ({ method: "POST", body: `<Delete>${keys.map((key) => `<Object><Key>${key}</Key></Object>`).join("")}</Delete>` });
const report = (id, attempt, outcome, more) => post(`/internal/content/${id}/report`, { attempt, outcome }, more);

/** Claims a content through the gate some times, and hands it back between them. Returns the last claim. */
async function claimed(id, attempts = 1, more = {}) {
  for (let attempt = 1; ; attempt += 1) {
    const claim = await (await post(`/internal/content/${id}/claim`, { tiler: 7, alone: false }, more)).json();
    assert.equal(claim.attempt, attempt);
    if (attempt === attempts) return claim;
    assert.equal((await report(id, attempt, "handed-back", more)).status, 204);
  }
}

before(async () => {
  system = await startWith({ bindings: { DEVELOPMENT: "off", CONTAINERS: "2", UPLOAD_BYTES: "1000" }, entry: ENTRY, isQueueOurs: true });
});
after(() => system.close());

test("without the token of the start, and for anything that tilers do not need, the gate is closed", async () => {
  for (const path of ["/queue/messages/pull", "/pyramids/a", "/internal/backlog"]) {
    for (const token of ["", "other", `${TOKEN}x`, "token-of-the-tests"]) assert.equal((await post(path, {}, { token })).status, 401, path);
  }
  const signed = { headers: { Authorization: `AWS4-HMAC-SHA256 Credential=other/20261101/auto/s3/aws4_request` } };
  assert.equal((await through("/pyramids/a", signed)).status, 401);
  for (const path of ["/internal/content/0123456789a/reset", "/internal/admin/stats", "/v1/content/0123456789a", "/"]) {
    assert.equal((await post(path, {})).status, 404, path);
  }
  assert.equal((await through("/internal/backlog")).status, 404, "GET");
  assert.equal((await post("/queue/messages/other", {})).status, 404);
  assert.equal((await through("/queue/messages/pull")).status, 405);
});

test("a job starts a container, is pulled and claimed through the gate, and a job that was sent since starts another one", async () => {
  const id = await create("http://example.com/first.jpg");
  assert.deepEqual(await eventually(async () => (await orders())[0]), ["start", { container: 0, start: 1 }]);
  const { result } = await (await post("/queue/messages/pull", { batch_size: 10, visibility_timeout_ms: 60_000 })).json();
  const [message] = result.messages;
  assert.deepEqual([result.message_backlog_count, JSON.parse(atob(message.body)).id], [1, id]);
  const capacity = { tiler: 7, slots: 8 };
  const reported = await post("/internal/backlog", { messages: 1, capacity });
  assert.deepEqual([reported.status, reported.headers.get("Edgezoom-Tilers")], [204, "1"]);
  assert.equal((await post(`/internal/content/${id}/claim`, { tiler: 7, alone: false })).status, 200);
  await post("/queue/messages/ack", { acks: [{ lease_id: message.lease_id }] });
  const stats = await system.operate("stats");
  assert.deepEqual(stats.containers.containers.map(({ container, state }) => [container, state]), [[0, "serving"]]);

  // The tiler saw an empty queue, but another job was sent since.
  await create("http://example.com/second.jpg");
  assert.deepEqual(await orders(), []);
  await post("/internal/backlog", { messages: 0, capacity, leaving: true });
  const again = await eventually(async () => (await orders())[0]);
  assert.deepEqual(again, ["start", { container: 1, start: 2 }]);
  // A report of an earlier start of the container changes nothing.
  await post("/internal/backlog", { messages: 0, capacity }, { start: { container: 1, start: 1 } });
  const shown = (await system.operate("stats")).containers.containers;
  assert.deepEqual(shown.map(({ state }) => state), ["leaving", "starting"]);
});

test("a tiler pulls no more than it may, whatever it asks for", async () => {
  for (const name of ["third", "fourth", "fifth"]) await create(`http://example.com/${name}.jpg`);
  for (const [batch_size, visibility_timeout_ms] of [[-1, 1e15], ["x", "y"]]) {
    const { result } = await (await post("/queue/messages/pull", { batch_size, visibility_timeout_ms })).json();
    assert.equal(result.messages.length, 1, batch_size);
  }
});

test("the bucket answers as Amazon's client expects", async () => {
  const id = await create("http://example.com/stored.jpg");
  await claimed(id, 4);
  const put = await store(`${id}/1.szi?x-id=PutObject`, { method: "PUT", body: "whole", headers: { "Content-Type": "application/zip", "Cache-Control": "immutable" } });
  assert.match(put.headers.get("ETag"), /^"[0-9a-f]{32}"$/);
  assert.equal(await (await store(`${id}/1.szi`)).text(), "whole");
  const head = await store(`${id}/1.szi`, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("Content-Length")], [200, "5"]);
  assert.deepEqual((await system.pyramids.head(`${id}/1.szi`)).httpMetadata, { contentType: "application/zip", cacheControl: "immutable" });
  assert.equal((await store(`${id}/2.szi`, { method: "HEAD" })).status, 404);
  const missing = await store(`${id}/2.szi`);
  assert.deepEqual([missing.status, await missing.text()], [404, '<?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code></Error>']);

  const begun = await (await store(`${id}/3.szi?uploads`, { method: "POST", headers: { "Content-Type": "application/zip" } })).text();
  const [, upload] = /<UploadId>(.*)<\/UploadId>/.exec(begun);
  const parts = [];
  for (const [number, text] of ["x".repeat(5 << 20), "end"].entries()) {
    const part = await store(`${id}/3.szi?partNumber=${number + 1}&uploadId=${encodeURIComponent(upload)}`, { method: "PUT", body: text });
    parts.push(`<Part><ETag>${part.headers.get("ETag").replaceAll('"', "&quot;")}</ETag><PartNumber>${number + 1}</PartNumber></Part>`);
  }
  const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`;
  const complete = () => store(`${id}/3.szi?uploadId=${encodeURIComponent(upload)}`, { method: "POST", body });
  assert.match(await (await complete()).text(), /<ETag>&#34;[0-9a-f]{32}-2&#34;<\/ETag>/);
  assert.equal((await system.pyramids.head(`${id}/3.szi`)).size, (5 << 20) + 3);
  assert.equal((await complete()).status, 404, "the client looks whether the object exists");

  const other = /<UploadId>(.*)<\/UploadId>/.exec(await (await store(`${id}/4.szi?uploads`, { method: "POST" })).text())[1];
  assert.equal((await store(`${id}/4.szi?uploadId=${encodeURIComponent(other)}`, { method: "DELETE" })).status, 204);
  assert.equal((await store(`?uploads&prefix=${id}/4.szi`)).status, 501, "not in the binding");
  const deleted = await store("?delete", deletion(`${id}/1.szi`, `${id}/3.szi`));
  assert.equal(await deleted.text(), '<?xml version="1.0" encoding="UTF-8"?><DeleteResult/>');
  assert.deepEqual((await system.pyramids.list()).objects, []);
});

test("a tiler reports on, reads and writes only what it has claimed", async () => {
  const other = { start: { container: 1, start: 2 } };
  const [id, foreign] = [await create("http://example.com/own.jpg"), await create("http://example.com/foreign.jpg")];
  await claimed(id, 2);
  await claimed(foreign, 1, other);
  await system.pyramids.put(`${foreign}/1.szi`, "foreign");
  const put = { method: "PUT", body: "own" };
  for (const [status, key, init] of [
    [200, `${id}/2.szi`, put],
    [200, `${id}/2_coarse/1.jpg`, put],
    [403, `${id}/3.szi`, put],
    [403, `${id}/3.szi?uploads`, { method: "POST" }],
    [403, `${id}/22.szi`, put],
    [403, `${foreign}/1.szi`, put],
    [403, `${foreign}/1.szi`, {}],
    [403, `${foreign}/1.szi`, { method: "HEAD" }],
    [403, `${foreign}/1.szi?partNumber=1&uploadId=x`, put],
    [403, `${foreign}/1.szi?uploadId=x`, { method: "POST", body: "" }],
    [403, "uploads/00000000000000000000000000000001", {}],
    [403, "", put],
    [403, "?delete", deletion(`${id}/2.szi`, `${foreign}/1.szi`)],
    [403, "?delete", deletion(`${id}/3.szi`)],
    [200, "?delete", deletion(`${id}/1.szi`, `${id}/2.szi`, `${id}/2_coarse/1.jpg`)],
  ]) {
    assert.equal((await store(key, init)).status, status, `${init.method} ${key}`);
  }
  assert.equal(await (await system.pyramids.get(`${foreign}/1.szi`)).text(), "foreign");
  await system.pyramids.delete(`${foreign}/1.szi`);

  const progress = { progress: { stage: "rendering", progress: 0.5 } };
  const failure = { "gave-up": { failure: { code: "internal", message: "It failed." } } };
  for (const outcome of ["handed-back", failure, progress]) assert.equal((await report(foreign, 1, outcome)).status, 403);
  for (const attempt of [3, undefined, [2], "x"]) assert.equal((await report(id, attempt, progress)).status, attempt?.[0] === 2 ? 400 : 403);
  assert.equal((await report(id, 1, progress)).status, 409, "it was handed back a moment ago");
  assert.equal((await report(id, 2, progress)).status, 204);
  assert.equal((await report(foreign, 1, progress, other)).status, 204);

  const body = "a file";
  const sent = await system.fetch("/v1/content/", { method: "POST", body, headers: { "Content-Type": "image/jpeg", "CF-Connecting-IP": "192.0.2.1" } });
  const { upload } = await claimed((await sent.json()).id);
  assert.equal(await (await store(upload)).text(), body);
  assert.equal((await store(upload, put)).status, 403);
  assert.equal((await store(upload, other)).status, 403);
});

test("a tiler in a container checks its isolation, unless the operator allows less", () => {
  const checks = (env) => variables(env, TOKEN).EDGEZOOM_DOCTOR;
  assert.equal(checks({}), "user,pages");
  assert.equal(checks({ EDGEZOOM_DOCTOR: "" }), "user,pages", "an empty value is the default");
  assert.equal(checks({ EDGEZOOM_DOCTOR: "user" }), "user");
  assert.equal(checks({ EDGEZOOM_DOCTOR: "off" }), undefined);
  const { EDGEZOOM_JOBS, EDGEZOOM_POLL_MS, EDGEZOOM_EDGE_URL } = variables({ EDGEZOOM_JOBS: "2", EDGEZOOM_EDGE_URL: "http://other" }, TOKEN);
  assert.deepEqual([EDGEZOOM_JOBS, EDGEZOOM_POLL_MS, EDGEZOOM_EDGE_URL], ["2", "200", "http://198.18.0.1"]);
});

test("when the day's tiles are used up, new contents get 503 with a time", async () => {
  const spent = await startWith({ bindings: { DEVELOPMENT: "off", TILES_A_DAY: "300" } });
  try {
    const ask = (number) => spent.send(byUrl(`http://example.com/${number}.jpg`), { headers: { "CF-Connecting-IP": `192.0.2.${number}` } });
    assert.deepEqual([(await ask(1)).status, (await ask(2)).status], [301, 301]);
    const refused = await ask(3);
    assert.deepEqual([refused.status, refused.headers.get("Retry-After")], [503, "3600"]);
    assert.match(refused.body, /^The service has converted as much as it may today/);
  } finally {
    await spent.close();
  }
});
