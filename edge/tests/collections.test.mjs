// Collections: who may begin and change one, what lines do, and that the journal has every entry's end, whatever is lost.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DZI } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { eventually, start, startWithClock } from "./system.mjs";

/**
 * An entry module whose collections do not hear of a number of ends, or hear of each twice, cannot reach a content, or are
 * moved, and whose operator's object counts the questions for takedowns, does not answer some, or answers them late.
 */
const LOSING = `
  import edge, { CollectionObject as Inner, OperatorObject as Operator } from "./index.js";
  export * from "./index.js"; // except for the classes below

  let asked = 0;
  let unanswered = 0;
  let isHeld = false;
  let release;
  const queued = [];

  export class OperatorObject extends Operator {
    async takedownOf(message) {
      asked += 1;
      if (unanswered-- > 0) throw new Error("from the test");
      const reply = await super.takedownOf(message);
      if (isHeld) await new Promise((resolve) => (release = resolve));
      return reply;
    }
    release() {
      isHeld = false;
      release();
    }
    deletedEntries() {
      return this.ctx.storage.sql.exec("SELECT id FROM deleted_entries").toArray();
    }
  }

  let lost = 0;
  let isDoubled = false;
  let unreachable = "";

  export class CollectionObject extends Inner {
    constructor(state, env) {
      const unreached = { send: async () => { throw new Error("from the test"); } };
      super(state, { ...env, CONVERSIONS: { getByName: (id) => (id === unreachable ? unreached : env.CONVERSIONS.getByName(id)) } });
    }
    move() {
      this.ctx.abort("moved by the test");
    }
    async note(message) {
      if (lost-- > 0) throw new Error("from the test");
      await super.note(message);
      if (isDoubled) await super.note(message);
    }
  }

  export default {
    ...edge,
    queue: ({ messages }) => void queued.push(...messages.map(({ body }) => body.id)),
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/lose-notes") return Response.json((lost = Number(searchParams.get("notes"))));
      if (pathname === "/deleted-entries") return Response.json(await env.OPERATOR.getByName("operator").deletedEntries());
      if (pathname === "/unreach") return Response.json((unreachable = searchParams.get("id")));
      if (pathname === "/move") return Response.json(await env.COLLECTIONS.getByName(searchParams.get("name")).move().catch(() => 0));
      if (pathname === "/asked") return Response.json(asked);
      if (pathname === "/leave-unanswered") return Response.json((unanswered = Number(searchParams.get("questions"))));
      if (pathname === "/hold") return Response.json((isHeld = true));
      if (pathname === "/queued") return Response.json(queued);
      if (pathname === "/release") return Response.json((await env.OPERATOR.getByName("operator").release()) ?? null);
      if (pathname === "/double-notes") return Response.json((isDoubled = true));
      return edge.fetch(request, env, context);
    },
  };
`;
const KEY = "a key that its owner has made: 0123456789abcdef";
const STRANGER = { "CF-Connecting-IP": "203.0.113.9" };
const SETTINGS = { title: "Drawings", credit: "Museum", rights: "https://creativecommons.org/licenses/by/4.0/deed.de" };
const NOTHING = { waiting: 0, converting: 0, ready: 0, failed: 0, removed: 0, "taken-down": 0 };

let system;
aroundTests(async () => (system = await startWithClock({ RETENTION_DAYS: "1", ALLOW_NETWORKS: "127.0.0.1/32" }, LOSING)), () => system.close());

const call = async (method, path, { key = KEY, body, headers, on = system } = {}) => {
  const authorization = key && { Authorization: `Bearer ${key}` };
  const response = await on.request(`/v1/collections/${path}`, { method, body: method === "DELETE" ? undefined : body, headers: { ...authorization, ...headers } });
  return { status: response.status, headers: response.headers, body: await response.text() };
};
const begin = async (name, settings = {}) => assert.equal((await call("PUT", name, { body: JSON.stringify(settings) })).status, 201);
const lines = (objects) => objects.map((object) => (typeof object === "string" ? object : JSON.stringify(object))).join("\n");
/** Sends lines that must be accepted as a request. Returns the answer. */
async function add(name, objects) {
  const { status, body } = await call("POST", `${name}/entries`, { body: lines(objects) });
  assert.equal(status, 202, body);
  return JSON.parse(body);
}
async function list(name, query = "", key = KEY) {
  const { status, body, headers } = await call("GET", `${name}/entries${query}`, { key });
  assert.deepEqual([status, headers.get("content-type")], [200, "application/x-ndjson"], body);
  return body.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}
const read = async (name) => JSON.parse((await call("GET", name, { key: "" })).body);
const stateOf = async (name, id) => (await list(name)).find((entry) => entry.id === id).state;

let count = 0;
/** Returns the URL of a source on a host of its own. */
const source = () => `http://host-${(count += 1)}.example/a.jpg`;
/** Begins a collection with entries whose turn has come. Returns their ids. */
async function converting(name, number = 1, words = {}) {
  await begin(name);
  await add(name, Array.from({ length: number }, () => ({ url: source(), ...words })));
  await system.advance(1);
  return (await list(name, "?order=added")).map(({ id }) => id);
}
const ready = async (id, attempt = 1) => {
  await system.claim(id);
  assert.equal((await system.report(id, attempt, { finished: { dzi: DZI } })).status, 204);
};
const fails = async (id, attempt = 1, retry) => {
  await system.claim(id);
  const failure = { code: "source-not-found", message: "There is nothing at the URL (404)." };
  assert.equal((await system.report(id, attempt, { "gave-up": { failure, retry } })).status, 204);
};

test("only a signer begins a collection, and only the holder of its key changes it", async () => {
  const closed = await start({ SIGNING_KEYS: "shop:0123456789abcdef", DEVELOPMENT: "off", ALLOW_HOSTS: "a.example", DENY_HOSTS: "b.a.example" });
  try {
    const expires = Math.floor(Date.now() / 1000) + 3600;
    const signed = (what) => `?key=shop&expires=${expires}&signature=${createHmac("sha256", "0123456789abcdef").update(`${expires}\n${what}`).digest("hex")}`;
    const put = (query, key) => call("PUT", `signed${query}`, { key, body: "{}", on: closed, headers: STRANGER });
    assert.equal((await put("", "")).status, 401);
    assert.equal((await put("", KEY)).status, 403);
    assert.equal((await put(signed("collection:others"), KEY)).status, 403);
    assert.equal((await put(signed("collection:signed"), "short")).status, 400);
    const begun = await put(signed("collection:signed"), "");
    const { name, key } = JSON.parse(begun.body);
    assert.deepEqual([begun.status, name, key.length], [201, "signed", 43]);
    assert.equal((await put(signed("collection:signed"), "")).status, 401, "it exists");
    assert.equal((await put(signed("collection:signed"), KEY)).status, 403, "another key");
    assert.equal((await put("", key)).status, 200);
    const post = await call("POST", "signed/entries", { key, body: lines(["a", "b.a", "other"].map((host) => ({ url: `http://${host}.example/1.jpg` }))), on: closed, headers: STRANGER });
    assert.deepEqual([post.status, JSON.parse(post.body).refused.map(({ line, code }) => [line, code])], [202, [[2, "url"], [3, "url"]]]);
    // A closed service converts a collection: a signer has begun it.
    const entry = async () => JSON.parse((await call("GET", "signed/entries", { key, on: closed })).body);
    assert.equal((await eventually(async () => ((await entry()).state === "waiting" ? undefined : entry()))).state, "converting");
  } finally {
    await closed.close();
  }
});

test("a key that its owner made lets a lost answer be asked for again", async () => {
  const put = (settings, key = KEY) => call("PUT", "own-key", { key, body: JSON.stringify(settings) });
  assert.deepEqual([(await put(SETTINGS)).status, (await put(SETTINGS)).status], [201, 200]);
  const { body } = await call("GET", "own-key", { key: "" });
  assert.deepEqual(JSON.parse(body), { name: "own-key", title: "Drawings", credit: "Museum", rights: "http://creativecommons.org/licenses/by/4.0/", counts: NOTHING, last: 0 });
  assert.deepEqual(JSON.parse((await put({})).body), { name: "own-key", counts: NOTHING, last: 0 });
  assert.ok(!body.includes(KEY) && !body.includes("secret") && !body.includes("owner"), body);
  for (const settings of [{ keep: true }, { title: 7 }, []]) assert.equal((await put(settings)).status, 400);
});

test("a wrong key and an unknown collection are refused alike", async () => {
  await begin("wrong-key");
  const body = lines([{ url: source() }]);
  const all = ["wrong-key", "never-begun"].flatMap((name) =>
    [["POST", `${name}/entries`], ["DELETE", name]].map(([method, path]) => call(method, path, { key: "other".repeat(9), body, headers: STRANGER })),
  );
  const refusals = await Promise.all(all);
  assert.deepEqual([...new Set(refusals.map(({ status, body }) => `${status} ${body}`))].length, 1);
  assert.equal(refusals[0].status, 403);
  for (const [method, path] of [["POST", "wrong-key/entries"], ["DELETE", "wrong-key"]]) {
    const { status, headers } = await call(method, path, { key: "", body });
    assert.deepEqual([status, headers.get("www-authenticate")], [401, "Bearer"]);
  }
  assert.equal((await call("GET", "never-begun", { key: "" })).status, 404);
  assert.equal((await call("GET", "never-begun/entries", { key: "" })).status, 404);
  assert.equal((await call("GET", "wrong-key/entries", { key: "other".repeat(9) })).status, 403);
  for (const name of ["ab", "Ab-c", "a..c", "-abc"]) assert.equal((await call("GET", name)).status, 404, name);
});

test("each line is accepted or refused by its number, and one that is sent again changes nothing", async () => {
  await begin("lines");
  const [a, b] = [source(), source()];
  const sent = [{ url: a, title: " One\n", alt: "A" }, "", { url: "http://nowhere/" }, "{", { url: b, credit: "C" }, { url: a, tittle: "x" }, { url: a, title: "One", alt: "A" }];
  const answer = await add("lines", sent);
  assert.deepEqual(answer.refused.map(({ line, code }) => [line, code]), [[3, "url"], [4, "json"], [6, "member"]]);
  assert.deepEqual([answer.accepted, answer.changed, answer.last], [3, 2, 2]);
  const journal = await list("lines");
  assert.deepEqual(journal.map(({ seq, number, url, state, title, alt, credit }) => [seq, number, url, state, title, alt, credit]), [[1, 1, a, "waiting", "One", "A", undefined], [2, 2, b, "waiting", undefined, undefined, "C"]]);
  assert.deepEqual({ ...(await add("lines", sent)), refused: [] }, { accepted: 3, changed: 0, refused: [], last: 2 });
  assert.deepEqual(await list("lines"), journal);
  const [{ id }] = journal;
  assert.equal((await add("lines", [{ id, title: "Two", alt: null }])).last, 3);
  assert.deepEqual((await list("lines", "?after=2")).map(({ id, seq, title, alt }) => [id, seq, title, alt]), [[id, 3, "Two", undefined]]);
  assert.deepEqual((await list("lines", "?order=added&after=1")).map(({ url }) => url), [b]);
  assert.deepEqual((await list("lines", "?limit=1&state=waiting")).map(({ url }) => url), [b]);
  assert.deepEqual(await list("lines", "", ""), [], "nobody else sees what is not ready");
  for (const query of ["?limit=0", "?limit=1001", "?after=x", "?after=-1", "?state=odd", "?order=odd"]) assert.equal((await call("GET", `lines/entries${query}`)).status, 400, query);
});

test("a request has a bounded number of lines and bytes", async () => {
  await begin("bounds");
  const post = (body, headers) => call("POST", "bounds/entries", { body, headers });
  const many = Array.from({ length: 10_000 }, (_, number) => ({ url: `http://many.example/${number}` }));
  assert.deepEqual({ ...(await add("bounds", many)) }, { accepted: 10_000, changed: 10_000, refused: [], last: 10_000 });
  assert.equal((await read("bounds")).counts.waiting, 10_000);
  assert.equal((await post(`${lines(many)}\n\n{}`)).status, 413);
  const tooLarge = ["POST", (8 << 20) + 1, { Authorization: `Bearer ${KEY}` }];
  assert.equal(await system.announced("/v1/collections/bounds/entries", ...tooLarge), 413);
  assert.equal((await post("\n \n")).status, 400);
  assert.equal((await call("PUT", "bounds", { body: `{"title":"${"x".repeat(1 << 15)}"}` })).status, 413);
  await call("DELETE", "bounds");
});

test("entries become contents of their own, with the owner's words", async () => {
  await begin("words", SETTINGS);
  const url = source();
  await add("words", [{ url, title: "<b>One</b>", alt: "A bridge", credit: "Ann" }]);
  await system.advance(1);
  const [{ id, state }] = await list("words");
  assert.equal(state, "converting");
  const { id: open } = await system.ask(url);
  assert.notEqual(open, id);
  await ready(id);
  const content = await system.find(id);
  assert.deepEqual([content.url, content.title, content.alt, content.credits], [url, "<b>One</b>", "A bridge", { credit: "Ann", rights: "http://creativecommons.org/licenses/by/4.0/" }]);
  assert.equal((await system.find(open)).title, undefined);
  const [shown] = await list("words", "", "");
  assert.deepEqual([shown.id, shown.state], [id, "ready"], "everybody may see it");
  await add("words", [{ url, title: "Two" }]);
  await system.advance(1);
  assert.equal((await system.find(id)).title, "Two");
  assert.deepEqual((await read("words")).counts, { ...NOTHING, ready: 1 });
});

test("a failed entry has its reason, and is converted again when its owner asks", async () => {
  const [id] = await converting("failing");
  await fails(id);
  const [entry] = await list("failing", "?state=failed");
  assert.deepEqual(entry.failure, { code: "source-not-found", message: "There is nothing at the URL (404)." });
  await add("failing", [{ id, retry: true }]);
  assert.equal(await stateOf("failing", id), "waiting");
  await system.advance(1);
  await ready(id, 2);
  const [again] = await list("failing");
  assert.deepEqual([again.state, again.failure], ["ready", undefined]);
});

test("ends that are lost or doubled are in the journal once", async () => {
  const ids = await converting("lossy", 3);
  await system.send("/lose-notes?notes=3");
  await Promise.all(ids.map((id) => ready(id)));
  assert.equal((await read("lossy")).counts.converting, 3, "none was heard of");
  await system.advance(60_000);
  assert.equal((await read("lossy")).counts.ready, 3);
  // An end of which no word ever comes is asked for.
  const [quiet] = await converting("quiet");
  await system.send("/lose-notes?notes=1");
  await ready(quiet);
  await system.lose(quiet);
  await system.advance(601_000);
  assert.equal(await stateOf("quiet", quiet), "ready");
  await system.send("/double-notes");
  const [doubled] = await converting("doubled");
  await ready(doubled);
  assert.deepEqual((await list("doubled")).map(({ seq, state }) => [seq, state]), [[3, "ready"]]);
});

test("a collection whose alarm is lost goes on when its owner looks, or when its object was moved", async () => {
  const looked = async (name) => (await list(name)).map(({ state }) => state);
  for (const [name, arrives] of [["looked", () => looked("looked")], ["left", async () => (await system.send("/move?name=left"), await read("left"))]]) {
    await begin(name);
    await add(name, [{ url: source() }]);
    await system.lose(name);
    await system.advance(200_000);
    assert.equal((await read(name)).counts.waiting, 1);
    await arrives();
    await system.advance(1);
    assert.deepEqual(await looked(name), ["converting"]);
  }
});

test("a content that cannot be reached holds up no other", async () => {
  await begin("unreached");
  await add("unreached", Array.from({ length: 3 }, () => ({ url: source() })));
  const [{ id }] = await list("unreached", "?order=added");
  await system.send(`/unreach?id=${id}`);
  const states = async () => (await list("unreached", "?order=added")).map(({ state }) => state);
  await system.advance(1);
  assert.deepEqual(await states(), ["waiting", "converting", "converting"]);
  await add("unreached", [{ url: source() }]);
  await system.advance(1);
  assert.deepEqual(await states(), ["waiting", "converting", "converting", "converting"]);
  await system.send("/unreach?id=");
  await system.advance(10_000);
  assert.equal((await states())[0], "converting");
});

test("a removed entry is gone for good, and its URL may be added again", async () => {
  const [id, other] = await converting("removing", 2);
  await ready(id);
  const { url } = await system.find(id);
  await add("removing", [{ url, remove: true }, { id: other, remove: true }]);
  await system.advance(1);
  for (const gone of [id, other]) assert.equal((await system.request(`/v1/content/${gone}`)).status, 410);
  assert.equal((await system.claim(other)).status, 409, "the tiler stops");
  assert.deepEqual((await list("removing", "", "")).map(({ state }) => state), ["removed", "removed"]);
  const listed = (await (await system.fetch("/deleted-entries")).json()).map((row) => row.id);
  assert.ok(listed.includes(id) && listed.includes(other), "apart from uploaders' deletions");
  assert.equal((await add("removing", [{ url }])).changed, 1);
  const [, , again] = await list("removing", "?order=added");
  assert.ok(again.url === url && again.id !== id);
  assert.equal((await add("removing", [{ id, title: "x" }])).refused[0].code, "unknown");
});

test("a takedown refuses its URL's lines until it is lifted", async () => {
  const [id] = await converting("taken");
  await ready(id);
  const { url } = await system.find(id);
  await system.operate("takedown", { target: id, reason: "A reason" });
  assert.equal(await stateOf("taken", id), "taken-down");
  assert.deepEqual((await add("taken", [{ url }, { id, remove: true }])).refused.map(({ code }) => code), ["taken-down", "taken-down"]);
  await system.operate("lift", { target: id, reason: "Settled" });
  await system.advance(1);
  assert.equal(await stateOf("taken", id), "converting");
});

test("a takedown of a URL holds for its contents in collections", async () => {
  await begin("named");
  const url = source();
  await add("named", [{ url }]);
  await system.advance(1);
  const [{ id }] = await list("named");
  await ready(id);
  const open = await system.content(url, "ready");
  await eventually(async () => (await system.operate("show", { target: id })).index?.state === "ready");
  const { recorded, variants } = await system.operate("takedown", { target: url, reason: "A reason" });
  assert.deepEqual([recorded, variants], [true, [id]]);
  for (const gone of [id, open]) assert.equal((await system.request(`/v1/content/${gone}`)).status, 410);
  assert.equal(await stateOf("named", id), "taken-down");
  await system.operate("lift", { target: url, reason: "Settled" });
  assert.equal(await stateOf("named", id), "waiting");
});

const takeDown = (target) => system.operate("takedown", { target, reason: "A reason" });
const urlOf = async (name, id) => (await list(name)).find((entry) => entry.id === id).url;
const leftOf = async (id) => (await system.pyramids.list({ prefix: `${id}/` })).objects.length;
const takedownsOf = async (id) => (await system.operate("audit", { target: id })).actions.filter(({ what }) => what === "takedown").map(({ by, reason }) => [by, reason]);

test("a URL that is taken down while it converts ends as taken down in a collection, and is converted again after a lift", async () => {
  for (const [name, end] of [["claimed", ready], ["claimed-fails", fails]]) {
    const [id, other] = await converting(name, 2);
    const url = await urlOf(name, id);
    await system.pyramids.put(`${id}/1.szi`, "an archive");
    await takeDown(url);
    assert.equal(await stateOf(name, id), "converting");
    await end(id);
    assert.equal(await stateOf(name, id), "taken-down");
    assert.equal((await system.report(id, 1, { finished: { dzi: DZI } })).status, 409);
    for (const path of [`/v1/content/${id}`, `/${id}`, `/cache/${id}/1.dzi`]) {
      const { status, body } = await system.send(path);
      assert.deepEqual([status, body.includes("A reason")], [410, true], path);
    }
    assert.deepEqual([await system.finished.get(id), await leftOf(id)], [`${url} taken-down\nA reason\n-\n-`, 0]);
    assert.deepEqual(await takedownsOf(id), [["anna", "A reason"]]);
    assert.deepEqual((await add(name, [{ url }])).refused.map(({ code }) => code), ["taken-down"]);
    await ready(other);
    assert.equal(await stateOf(name, other), "ready", "another URL");

    await system.operate("lift", { target: url });
    assert.equal(await stateOf(name, id), "waiting");
    await system.advance(1);
    await ready(id, 2);
    assert.equal(await stateOf(name, id), "ready");
  }
});

test("an entry whose URL is taken down before its turn is not converted", async () => {
  const url = source();
  await takeDown(url);
  await begin("not-begun");
  await add("not-begun", [{ url }, { url, options: "web-width=390" }, { url: `${url}?b` }]);
  await system.advance(1);
  const entries = await list("not-begun", "?order=added");
  assert.deepEqual(entries.map(({ state }) => state), ["taken-down", "taken-down", "converting"]);
  assert.equal((await system.claim(entries[0].id)).status, 409);
  assert.equal((await system.find(entries[2].id)).stage, "queued");
  await ready(entries[2].id);
  await system.operate("lift", { target: url });
  await system.advance(1);
  assert.equal(await stateOf("not-begun", entries[0].id), "converting");
});

test("entries that are taken down at their turn leave the slots of the tilers to others", async () => {
  const shared = system;
  system = await startWithClock({}, LOSING); // in which nothing else has a slot
  try {
    const sources = Array.from({ length: 40 }, source);
    for (const url of sources) await takeDown(url);
    await begin("slots");
    await add("slots", sources.map((url) => ({ url })));
    await system.advance(1);
    assert.equal((await read("slots")).counts["taken-down"], 40);
    const [id] = await converting("others");
    await eventually(async () => JSON.parse((await system.send("/queued")).body).includes(id));
  } finally {
    await system.close();
    system = shared;
  }
});

test("one lifted entry of a URL that stays taken down is converted, until the URL is taken down again", async () => {
  const [id] = await converting("alone");
  const url = await urlOf("alone", id);
  await takeDown(url);
  await ready(id);
  await system.operate("lift", { target: id });
  await system.advance(1);
  await ready(id, 2);
  assert.deepEqual([await stateOf("alone", id), (await system.find(id)).ready], ["ready", true]);
  assert.equal((await system.send(`/v1/content/?url=${encodeURIComponent(url)}`)).status, 410);
  await takeDown(url);
  assert.equal(await stateOf("alone", id), "taken-down");
});

test("a takedown that the end of a conversion does not hear of is asked for again, and one at the same time finds it", async () => {
  const [lost, early] = await converting("asking", 2);
  await takeDown(await urlOf("asking", lost));
  await system.send("/leave-unanswered?questions=1");
  await ready(lost);
  assert.deepEqual([await stateOf("asking", lost), await system.finished.get(lost)], ["converting", null]);
  await system.advance(10_000);
  assert.deepEqual([await stateOf("asking", lost), (await takedownsOf(lost)).length], ["taken-down", 1]);

  // This end has the answer from before the takedown, and records its content after it.
  const before = Number((await system.send("/asked")).body);
  await system.send("/hold");
  const ended = ready(early);
  await eventually(async () => Number((await system.send("/asked")).body) > before);
  const found = await takeDown(await urlOf("asking", early)).then(() => stateOf("asking", early));
  await system.send("/release");
  await ended;
  assert.equal(found, "taken-down", "before the end is recorded");
  assert.equal(await stateOf("asking", early), "taken-down");
  assert.match(await system.finished.get(early), / taken-down\n/);
});

test("only contents of collections are asked for: when they are queued, and at their end", async () => {
  const count = async () => Number((await system.send("/asked")).body);
  const before = await count();
  await system.content(source(), "ready");
  assert.equal((await count()) - before, 0);
  const [id] = await converting("counted");
  await ready(id);
  assert.equal((await count()) - before, 2);
});

test("neither retention nor purge removes what is in a collection", async () => {
  const [id] = await converting("kept");
  await ready(id);
  const open = await system.content(source(), "ready");
  await system.advance(2 * 86_400_000);
  await eventually(async () => (await system.operate("show", { target: open })).index.state === "deleted");
  const old = await system.content(source(), "ready");
  await eventually(async () => (await system.operate("show", { target: old })).index?.state === "ready");
  await system.advance(1);
  assert.equal((await system.operate("purge", { before: system.now(), by: "at", files: true })).left, 0);
  await eventually(async () => (await system.operate("show", { target: old })).index.state === "deleted");
  assert.equal((await system.find(id)).ready, true);
  const { index } = await system.operate("show", { target: id });
  assert.deepEqual([index.state, index.collection], ["ready", "kept"]);
  const { contents } = await system.operate("list", { collection: "kept" });
  assert.deepEqual(contents.map((row) => row.id), [id]);
});

test("a collection that is deleted while it converts leaves nothing, and its name is free", async () => {
  const [done, busy] = await converting("leaving", 70);
  await ready(done);
  assert.equal((await call("DELETE", "leaving")).status, 202);
  assert.equal((await call("GET", "leaving", { key: "" })).status, 404);
  const again = await call("PUT", "leaving", { body: "{}" });
  assert.deepEqual([again.status, again.headers.get("retry-after")], [409, "60"]);
  await system.advance(5);
  for (const id of [done, busy]) assert.equal((await system.request(`/v1/content/${id}`)).status, 410);
  await system.advance(600_000);
  await begin("leaving");
  assert.deepEqual((await read("leaving")).counts, NOTHING);
});

test("few entries are under way, from all hosts in turn, and ends bring the next ones", async () => {
  await begin("batch");
  const of = (host, number) => Array.from({ length: number }, (_, index) => ({ url: `http://${host}.batch.example/${index}` }));
  await add("batch", [...of("large", 200), ...of("small", 3)]);
  await system.advance(1);
  const under = async () => (await list("batch", "?state=converting")).map(({ url, id }) => ({ host: new URL(url).host[0], id }));
  const first = await under();
  assert.deepEqual([first.filter(({ host }) => host === "l").length, first.filter(({ host }) => host === "s").length], [16, 3]);
  const { id } = first.find(({ host }) => host === "l");
  await ready(id);
  await system.advance(1);
  assert.equal((await under()).length, 19, "the next one of the same host");
  // An attempt that pauses gives its place away.
  const paused = (await under()).find(({ host }) => host === "l").id;
  await fails(paused, 1, { later: {} });
  await system.advance(1);
  assert.equal((await under()).length, 20);
});

test("notices are signed, repeated until they are taken, and end with 410", async () => {
  const seen = [];
  const statuses = [500, 302, 204, 410];
  const receiver = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    seen.push({ headers: request.headers, body });
    response.writeHead(statuses[seen.length - 1] ?? 500, { Location: "/elsewhere" }).end();
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    const notify = `http://127.0.0.1:${receiver.address().port}/hook`;
    const owned = async () => JSON.parse((await call("GET", "notified")).body);
    const after = (failures) => eventually(async () => (await owned()).notices.failures === failures);
    await begin("notified", { notify });
    assert.equal((await read("notified")).notices, undefined, "nobody else sees the secret");
    assert.equal((await call("GET", "notified", { key: "other".repeat(9) })).status, 403);
    const { secret } = (await owned()).notices;
    await add("notified", [{ url: source() }]);
    await system.advance(1);
    await after(1);
    await system.advance(5_000);
    await after(2);
    await system.advance(300_000);
    await after(0);
    assert.deepEqual([...new Set(seen.map(({ headers }) => headers["webhook-id"]))].length, 1);
    for (const { headers, body } of seen) {
      const signed = createHmac("sha256", Buffer.from(secret.slice(6), "base64")).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64");
      assert.equal(headers["webhook-signature"], `v1,${signed}`);
      const { type, data } = JSON.parse(body);
      assert.deepEqual([type, data.collection, data.after], ["entries.changed", "notified", 0]);
    }
    await add("notified", [{ url: source() }]);
    await system.advance(10_000);
    await eventually(async () => (await owned()).notices.off);
    assert.equal(seen.length, statuses.length);
  } finally {
    receiver.close();
  }
});

test("a name that resolves to a host in a private network gets no notice: the host has no certificate for it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "certificate-"));
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(folder, name));
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=intranet.example", "-addext", "basicConstraints=critical,CA:FALSE"], { stdio: "ignore" });
  const seen = [];
  const receiver = createSecureServer({ key: await readFile(key), cert: await readFile(cert) }, (request, response) => {
    seen.push(request.method);
    response.writeHead(204).end();
  });
  receiver.on("connection", () => seen.push("connection"));
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    // The policy permits this name here; it stands for one that an owner has pointed at a private address.
    await begin("inside", { notify: `https://localhost:${receiver.address().port}/hook` });
    await add("inside", [{ url: source() }]);
    await system.advance(1);
    await eventually(async () => JSON.parse((await call("GET", "inside")).body).notices.failures === 1);
    assert.deepEqual([...new Set(seen)], ["connection"]);
  } finally {
    receiver.close();
    await rm(folder, { recursive: true });
  }
});

test("a notice whose answer is lost with the object is sent again", async () => {
  const seen = [];
  const receiver = createServer(async (request, response) => {
    seen.push(JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()).data);
    if (seen.length > 1) response.writeHead(204).end();
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    await begin("moved", { notify: `http://127.0.0.1:${receiver.address().port}/` });
    await add("moved", [{ url: source() }]);
    await system.advance(1);
    await eventually(() => seen.length === 1);
    await system.send("/move?name=moved");
    await system.advance(20_000);
    await eventually(() => seen.length === 2);
    assert.deepEqual(seen.map(({ after }) => after), [0, 0]);
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
});

test("the answers to preflights and other methods name those of the path", async () => {
  const { headers } = await call("OPTIONS", "lines/entries");
  assert.match(headers.get("access-control-allow-methods"), /POST/);
  assert.equal((await call("PATCH", "lines")).headers.get("allow"), "GET, HEAD, OPTIONS, PUT, DELETE");
});
