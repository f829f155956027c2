// Files as entries of collections: who may send them, what remains in the store, and that nothing is sent or kept twice.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { DZI } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { startWithClock } from "./system.mjs";

/** An entry module whose collections get each message twice, as after a reset, or are full. */
const REPEATING = `
  import edge, { CollectionObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  let isDoubled = false;

  export class CollectionObject extends Inner {
    async fill() {
      this.ctx.storage.sql.exec("INSERT INTO facts VALUES ('counts', ?)", JSON.stringify({ last: 1, entries: 1e6 }));
      await this.ctx.storage.sync();
      this.ctx.abort("moved by the test");
    }
    async post(message) {
      if (isDoubled) await super.post(message);
      return super.post(message);
    }
  }

  export default {
    ...edge,
    queue() {},
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/double") return Response.json((isDoubled = searchParams.get("is") === "1"));
      if (pathname === "/fill") return Response.json(await env.COLLECTIONS.getByName(searchParams.get("name")).fill().catch(() => 0));
      return edge.fetch(request, env, context);
    },
  };
`;
const KEY = "a key that its owner has made: 0123456789abcdef";
const STRANGER = { "CF-Connecting-IP": "203.0.113.9" };
const MOST = 10_000;

let system;
aroundTests(async () => (system = await startWithClock({ UPLOAD_BYTES: String(MOST) }, REPEATING)), () => system.close());

const bytes = (seed, length = 100) => Buffer.alloc(length, `${seed} `);
const digest = (body) => createHash("sha256").update(body).digest("base64url");
const urlOf = (body, name = "a.jpg") => `ni:///sha-256;${digest(body)}${name && `?name=${encodeURIComponent(name)}`}`;
const kept = async () => (await system.pyramids.list({ prefix: "uploads/" })).objects.length;
const call = async (method, path, body, { key = KEY, headers } = {}) => {
  const response = await system.send(`/v1/collections/${path}`, { method, body, headers: { ...(key && { Authorization: `Bearer ${key}` }), ...headers } });
  return { ...response, json: () => JSON.parse(response.body) };
};
const begin = async (name) => assert.equal((await call("PUT", name, "{}")).status, 201);
const send = (name, body, { as = "a.jpg", of = digest(body), ...options } = {}) => call("POST", `${name}/files?name=${encodeURIComponent(as)}&digest=${of}`, body, options);
/** Sends a file or a line that must be accepted. Returns the answer. */
async function accepted(answered) {
  const answer = await answered;
  assert.equal(answer.status, 202, answer.body);
  return answer.json();
}
const add = (name, line) => accepted(call("POST", `${name}/entries`, JSON.stringify(line)));
const list = async (name) => (await call("GET", `${name}/entries`)).body.split("\n").filter(Boolean).map((line) => JSON.parse(line));
/** Begins a collection with a file that is being converted. Returns its id. */
async function converting(name, body) {
  await begin(name);
  await accepted(send(name, body));
  await system.advance(1);
  const [{ id, state }] = await list(name);
  assert.equal(state, "converting");
  return id;
}

test("a file becomes an entry once, and its bytes stay until it is converted", async () => {
  const body = bytes("once");
  await begin("once");
  assert.deepEqual((await add("once", { url: urlOf(body) })).refused.map(({ code }) => code), ["file"]);
  assert.deepEqual(await accepted(send("once", body)), { accepted: 1, changed: 1, refused: [], last: 1 });
  assert.equal((await accepted(send("once", body, { as: "b.jpg" }))).changed, 0);
  assert.equal((await add("once", { url: urlOf(body), title: "One" })).changed, 1);
  assert.equal(await kept(), 1);
  const [{ id, url, title }] = await list("once");
  assert.deepEqual([url, title], [urlOf(body), "One"]);
  assert.ok(!JSON.stringify(await list("once")).includes("uploads/"), "keys never leave the service");
  await system.advance(1);
  const { upload } = await (await system.claim(id)).json();
  assert.ok(Buffer.from(await (await system.pyramids.get(upload)).arrayBuffer()).equals(body));
  await system.report(id, 1, { finished: { dzi: DZI } });
  assert.deepEqual([(await list("once"))[0].state, await kept()], ["ready", 0]);
  assert.equal((await accepted(send("once", body))).changed, 0);
  assert.equal(await kept(), 0);
  // Nobody's upload of the same bytes is another content.
  const { body: open } = await system.send("/v1/content/?format=json", { method: "POST", body, headers: { "Content-Type": "image/jpeg" } });
  assert.notEqual(JSON.parse(open).content.id, id);
  const { content } = JSON.parse(open);
  await system.claim(content.id);
  await system.report(content.id, 1, { finished: { dzi: DZI } });
});

test("only the holder of the key sends files, and nothing of others is stored", async () => {
  await begin("guarded");
  const body = bytes("guarded");
  const refused = async (status, options, name = "guarded") => assert.equal((await send(name, body, options)).status, status);
  await refused(401, { key: "" });
  await refused(403, { key: "other".repeat(9), headers: STRANGER });
  await refused(403, { headers: STRANGER }, "never-begun");
  await refused(403, { headers: { Origin: "https://other.example" } });
  await refused(400, { of: "" });
  await refused(400, { of: "x".repeat(42) });
  await refused(400, { of: digest(bytes("other")) });
  assert.equal((await send("guarded", Buffer.alloc(0))).status, 400);
  const path = `/v1/collections/guarded/files?digest=${digest(body)}`;
  assert.equal(await system.announced(path, "POST", MOST + 1, { Authorization: `Bearer ${KEY}`, "Content-Type": "image/jpeg" }), 413);
  assert.deepEqual([await list("guarded"), await kept()], [[], 0]);
});

test("a file that fails is converted again when it is sent again, and only then", async () => {
  const body = bytes("fails");
  const id = await converting("fails", body);
  await system.claim(id);
  const failure = { code: "corrupt-source", message: "It is damaged." };
  await system.report(id, 1, { "gave-up": { failure, retry: "never" } });
  assert.deepEqual([(await list("fails"))[0].state, await kept()], ["failed", 0]);
  assert.equal((await add("fails", { url: urlOf(body) })).changed, 0);
  assert.deepEqual((await add("fails", { id, retry: true })).refused.map(({ code }) => code), ["file"]);
  assert.equal((await accepted(send("fails", body))).changed, 1);
  await system.advance(1);
  await system.claim(id);
  await system.report(id, 2, { finished: { dzi: DZI } });
  assert.deepEqual([(await list("fails"))[0].state, await kept()], ["ready", 0]);
});

test("an entry that is removed, and a collection that is deleted, leave no file", async () => {
  await begin("early");
  await system.send("/double?is=1");
  await accepted(send("early", bytes("early")));
  assert.equal(await kept(), 1, "a message that comes again takes the same file");
  await system.send("/double?is=0");
  await add("early", { url: urlOf(bytes("early")), remove: true });
  await system.advance(1);
  assert.equal(await kept(), 0);
  // Sent again, it is another entry.
  assert.equal((await accepted(send("early", bytes("early")))).changed, 1);
  const id = await converting("busy", bytes("busy"));
  await add("busy", { id, remove: true });
  await system.advance(1);
  assert.equal(await kept(), 1);
  assert.equal((await call("DELETE", "early")).status, 202);
  await system.advance(5);
  assert.equal(await kept(), 0);
});

test("a takedown deletes a file and refuses its lines, and open uploads of the same bytes go on", async () => {
  const body = bytes("taken down");
  const id = await converting("taken-down", body);
  await system.operate("takedown", { target: id, reason: "A claim." });
  assert.deepEqual([(await list("taken-down"))[0].state, await kept()], ["taken-down", 0]);
  assert.deepEqual((await accepted(send("taken-down", body))).refused.map(({ code }) => code), ["taken-down"]);
  for (let time = 0; time < 4; time += 1) {
    const sent = await system.send("/v1/content/?format=json", { method: "POST", body, headers: { "Content-Type": "image/jpeg" } });
    const { content } = JSON.parse(sent.body);
    const gone = await system.send(`/v1/content/${content.id}`, { method: "DELETE", headers: { Authorization: `Bearer ${content.deletionKey}` } });
    assert.equal(gone.status, 204, "each of the ids that all clients share is free");
  }
  await system.operate("lift", { target: id });
  await system.advance(1);
  const [entry] = await list("taken-down");
  assert.deepEqual([entry.state, entry.failure.message], ["failed", "The file was deleted. Send it again."]);
  assert.equal((await accepted(send("taken-down", body))).changed, 1);
  await system.advance(1);
  await system.claim(id);
  await system.report(id, 1, { finished: { dzi: DZI } });
  assert.deepEqual([(await list("taken-down"))[0].state, await kept()], ["ready", 0]);
});

test("a takedown of an open upload holds for the file in collections, whether it converts or has ended, and so does its lift", async () => {
  const body = bytes("open and in collections");
  const ended = await converting("has-ended", body);
  await system.claim(ended);
  await system.report(ended, 1, { finished: { dzi: DZI } });
  const id = await converting("converts", body);
  const plain = await accepted(send("converts", body, { of: `${digest(body)}&vectors=off` }));
  assert.equal(plain.changed, 1);
  const sent = await system.send("/v1/content/?format=json", { method: "POST", body, headers: { "Content-Type": "image/jpeg" } });
  const { content: open } = JSON.parse(sent.body);
  await system.operate("takedown", { target: open.id, reason: "A claim." });
  const stateIn = async (name, id) => (await list(name)).find((entry) => entry.id === id).state;
  assert.equal(await stateIn("has-ended", ended), "taken-down");
  await system.claim(id);
  await system.report(id, 1, { finished: { dzi: DZI } });
  assert.equal(await stateIn("converts", id), "taken-down");
  await system.advance(1);
  const other = (await list("converts")).find((entry) => entry.id !== id);
  assert.equal(other.state, "converting", "without vectors it is another source");
  await system.operate("lift", { target: open.id });
  await system.advance(1);
  for (const [name, lifted] of [["has-ended", ended], ["converts", id]]) {
    assert.equal(await stateIn(name, lifted), "failed", "its owner sends it again");
    assert.equal((await accepted(send(name, body))).changed, 1);
    await system.advance(1);
    assert.equal(await stateIn(name, lifted), "converting");
    await system.claim(lifted);
    await system.report(lifted, 2, { finished: { dzi: DZI } });
  }
  await system.claim(other.id);
  await system.report(other.id, 1, { finished: { dzi: DZI } });
});

test("a full collection and one whose bytes of the day are used up take no file", async () => {
  await begin("full");
  await system.send("/fill?name=full");
  const { refused } = await accepted(send("full", bytes("full")));
  assert.deepEqual(refused.map(({ code }) => code), ["full"]);
  await begin("today");
  for (let number = 0; number < 20; number++) assert.equal((await accepted(send("today", bytes(number, MOST)))).changed, 1);
  const { status, headers } = await send("today", bytes("one more", MOST));
  assert.deepEqual([status, headers.get("retry-after"), await kept()], [503, "3600", 20]);
  await begin("another");
  assert.equal((await accepted(send("another", bytes("one more", MOST)))).changed, 1);
});

test("names of files are shown as text, and are short", async () => {
  const name = `<img src=x onerror=alert(1)>\u202e${"ü".repeat(5000)}.jpg`;
  await begin("names");
  await accepted(send("names", bytes("names"), { as: name }));
  await system.advance(1);
  const [{ id, url }] = await list("names");
  assert.ok(url.length < 1000 && /^[\x21-\x7e]+$/.test(url), url);
  await system.claim(id);
  await system.report(id, 1, { finished: { dzi: DZI } });
  const page = (await system.send("/c/names")).body;
  assert.ok(page.includes("&lt;img src=x onerror=alert(1)&gt;üü") && !page.includes("<img src=x") && !page.includes("\u202e"), page);
  assert.ok((await system.send(`/${id}`)).body.includes("&lt;img src=x onerror=alert(1)&gt;üü"));
});

test("a file without vectors is another entry", async () => {
  const body = bytes("a drawing");
  await begin("no-vectors");
  await accepted(send("no-vectors", body));
  await accepted(send("no-vectors", body, { of: `${digest(body)}&vectors=off` }));
  const urls = (await list("no-vectors")).map(({ url }) => url).sort();
  assert.deepEqual(urls, [urlOf(body), urlOf(body).replace("?", "?vectors=off&")]);
});
