// The gate of containers: what a tiler in one can reach, with the token of its start. `tests/containers/` has the whole.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

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

before(async () => {
  system = await startWith({ bindings: { DEVELOPMENT: "off", CONTAINERS: "2" }, entry: ENTRY, isQueueOurs: true });
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
  const signed = { Authorization: `AWS4-HMAC-SHA256 Credential=${TOKEN}/20261101/auto/s3/aws4_request, SignedHeaders=host, Signature=0` };
  const store = (path, init = {}) => through(`/pyramids/${path}`, { ...init, headers: { ...signed, ...init.headers } });
  const put = await store("a/1.szi?x-id=PutObject", { method: "PUT", body: "whole", headers: { "Content-Type": "application/zip", "Cache-Control": "immutable" } });
  assert.match(put.headers.get("ETag"), /^"[0-9a-f]{32}"$/);
  assert.equal(await (await store("a/1.szi")).text(), "whole");
  const head = await store("a/1.szi", { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("Content-Length")], [200, "5"]);
  assert.deepEqual((await system.pyramids.head("a/1.szi")).httpMetadata, { contentType: "application/zip", cacheControl: "immutable" });
  assert.equal((await store("a/2.szi", { method: "HEAD" })).status, 404);
  const missing = await store("a/2.szi");
  assert.deepEqual([missing.status, await missing.text()], [404, '<?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code></Error>']);

  const begun = await (await store("a/3.szi?uploads", { method: "POST", headers: { "Content-Type": "application/zip" } })).text();
  const [, upload] = /<UploadId>(.*)<\/UploadId>/.exec(begun);
  const parts = [];
  for (const [number, text] of ["x".repeat(5 << 20), "end"].entries()) {
    const part = await store(`a/3.szi?partNumber=${number + 1}&uploadId=${encodeURIComponent(upload)}`, { method: "PUT", body: text });
    parts.push(`<Part><ETag>${part.headers.get("ETag").replaceAll('"', "&quot;")}</ETag><PartNumber>${number + 1}</PartNumber></Part>`);
  }
  const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`;
  const complete = () => store(`a/3.szi?uploadId=${encodeURIComponent(upload)}`, { method: "POST", body });
  assert.match(await (await complete()).text(), /<ETag>&#34;[0-9a-f]{32}-2&#34;<\/ETag>/);
  assert.equal((await system.pyramids.head("a/3.szi")).size, (5 << 20) + 3);
  assert.equal((await complete()).status, 404, "the client looks whether the object exists");

  const other = /<UploadId>(.*)<\/UploadId>/.exec(await (await store("a/4.szi?uploads", { method: "POST" })).text())[1];
  assert.equal((await store(`a/4.szi?uploadId=${encodeURIComponent(other)}`, { method: "DELETE" })).status, 204);
  assert.equal((await store("?uploads&prefix=a/4.szi")).status, 501, "not in the binding");
  const deleted = await store("?delete", { method: "POST", body: "<Delete><Object><Key>a/1.szi</Key></Object><Object><Key>a/3.szi</Key></Object></Delete>" });
  assert.equal(await deleted.text(), '<?xml version="1.0" encoding="UTF-8"?><DeleteResult/>');
  assert.deepEqual((await system.pyramids.list()).objects, []);
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
