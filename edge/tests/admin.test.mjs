// The operator's API: authentication, the log, lists, blocked hosts, and deletion. Takedowns are in
// `takedown.test.mjs`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { ADMIN_TOKEN, PLAIN, TOKEN, byUrl, eventually, start, startWithClock } from "./system.mjs";

const DAY = 86_400_000;
let system;
aroundTests(async () => (system = await start({ DENY_HOSTS: "denied.example" })), () => system.close());

const actions = async (target) => (await system.operate("audit", { target })).actions.map(({ by, what, result }) => [by, what, result]);

test("calls need an operator's token", async () => {
  for (const [token, status] of [["", 401], ["wrong-wrong-wrong-wrong", 401], [TOKEN, 401], [ADMIN_TOKEN, 200]]) {
    assert.equal((await system.admin("stats", {}, token)).status, status, token);
  }
  assert.equal((await system.fetch("/internal/admin/stats")).status, 405);
  assert.equal((await system.fetch("/internal/admin/stats", { method: "POST", body: "{}" })).status, 401);
  for (const call of ["", "constructor", "nothing"]) assert.equal((await system.admin(call)).status, 404, call);
  for (const tokens of ["", "anna:short", `ben:${ADMIN_TOKEN},short`]) {
    const closed = await start({ ADMIN_TOKENS: tokens });
    assert.equal((await closed.admin("stats")).status, 503, tokens);
    await closed.close();
  }
});

test("malformed calls are refused with a reason", async () => {
  const id = await system.content("http://example.com/malformed.jpg", "queued");
  for (const [call, body, status] of [
    ["show", {}, 400],
    ["show", { target: "nonsense" }, 400],
    ["show", { target: "00000000000" }, 404],
    ["takedown", { target: id }, 400],
    ["takedown", { target: id, reason: " \n" }, 400],
    ["takedown", { target: "00000000000", reason: "why" }, 404],
    ["lift", { target: "http://example.com/unknown" }, 404],
    ["list", { host: "a.example/path" }, 400],
    ["block-host", { host: "a.example" }, 400],
    ["block-host", { host: "a b", reason: "why" }, 400],
    ["block-host", { host: "a.example,b.example", reason: "why" }, 400],
    ["block-host", { host: "a.example/path", reason: "why" }, 400],
    ["purge", {}, 400],
    ["purge", { before: Date.now() + DAY }, 400],
    ["purge", { before: 1, states: ["taken-down"] }, 400],
  ]) {
    const response = await system.admin(call, body);
    assert.equal(response.status, status, `${call} ${JSON.stringify(body)}: ${await response.text()}`);
  }
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  for (const body of ["", "{", "null", "1"]) assert.equal((await system.fetch("/internal/admin/stats", { method: "POST", headers, body })).status, 400, body);
});

test("show finds a content by its id, URL or share link, with its history and objects", async () => {
  const url = "http://example.com/shown.jpg";
  const id = await system.content(url, "ready");
  await system.pyramids.put(`${id}/1.szi`, "archive");
  for (const target of [id, url, "HTTP://Example.com:80/shown.jpg#top", `${system.origin}/${id}`]) {
    const shown = await system.operate("show", { target });
    assert.deepEqual([shown.id, shown.conversion.url, shown.index.state], [id, url, "ready"]);
    assert.deepEqual(shown.conversion.history.trimEnd().split("\n").map((line) => line.replace(/^\d+ /, "")), ["queued", "claimed 1", "ready 1"]);
    assert.deepEqual(shown.objects.map(({ key, bytes }) => [key, bytes]), [[`${id}/1.szi`, 7]]);
  }
});

test("contents are listed by state, time, failure code and host, latest first", async () => {
  const began = Date.now();
  const name = (number) => `http://${number % 2 ? "www.list.example:8080" : "list.example"}/${number}.jpg`;
  const failed = [];
  for (let number = 0; number < 5; number++) failed.unshift(await system.content(name(number), "failed"));
  const ready = await system.content(name(9), "ready");
  // Similar host names, and the name in a path.
  for (const host of ["notlist.example", "list.example.com", "path.example/www.list.example"]) await system.content(`http://${host}/1.jpg`, "ready");
  const ids = async (query) => (await system.operate("list", query)).contents.map(({ id }) => id);
  assert.deepEqual(await ids({ state: "failed", since: began }), failed);
  for (const host of ["list.example", "*.List.example."]) assert.deepEqual(await ids({ host }), [ready, ...failed], host);
  assert.equal((await ids({ host: "www.list.example" })).length, 3);
  assert.deepEqual(await ids({ host: "other.example" }), []);
  assert.deepEqual(await ids({ state: "failed", code: "internal", since: began }), []);
  assert.deepEqual(await ids({ since: Date.now() + 1000 }), []);
  const pages = [];
  for (let before; before !== null; ) {
    const page = await system.operate("list", { state: "failed", since: began, limit: 2, ...(before && { before }) });
    pages.push(...page.contents.map(({ id }) => id));
    before = page.next;
  }
  assert.deepEqual(pages, failed);
  const { contents } = await system.operate("stats");
  const group = contents.find(({ state }) => state === "ready");
  assert.ok(group.contents >= 1 && group.pixels >= 48_000_000 && group.tiles > 0, JSON.stringify(contents));
  assert.ok(contents.find(({ state }) => state === "failed source-not-found").contents >= 5);
});

test("a failed content is retried, and the log has one entry", async () => {
  const id = await system.content("http://example.com/retried.jpg", "failed");
  assert.equal((await system.operate("retry", { target: id, as: "ben" })).result, "queued");
  assert.equal((await system.operate("retry", { target: id })).result, "in progress");
  assert.deepEqual(await actions(id), [["anna/ben", "retry", "queued"]]);
  assert.equal((await system.find(id)).stage, "queued");
  const ready = await system.content("http://example.com/retried-ready.jpg", "ready");
  assert.equal((await system.admin("retry", { target: ready })).status, 409);
});

test("URLs of a blocked host are refused like those of DENY_HOSTS, until it is unblocked", async () => {
  const known = await system.content("http://blocked.example/known.jpg", "ready");
  const denied = await system.send(byUrl("http://denied.example/a.jpg"));
  assert.equal(denied.status, 400);
  assert.deepEqual(await system.operate("block-host", { host: "Blocked.Example.", reason: "spam" }), { host: "blocked.example", changed: true });
  assert.deepEqual(await system.operate("block-host", { host: "*.blocked.example", reason: "spam" }), { host: "blocked.example", changed: false });
  await system.operate("block-host", { host: "203.0.113.9", reason: "spam" });
  for (const url of ["http://blocked.example/new.jpg", "https://www.blocked.example:8443/new.jpg", "http://blocked.example/known.jpg", "http://203.0.113.9/", "http://denied.example/a.jpg"]) {
    const answer = await system.send(byUrl(url));
    assert.deepEqual([answer.status, answer.body], [denied.status, denied.body], url);
  }
  assert.equal((await system.send("/?url=http%3A%2F%2Fblocked.example%2F")).status, 400);
  assert.equal((await system.send(byUrl("http://unblocked.example/"))).status, 301);
  assert.equal((await system.send(`/v1/content/${known}`)).status, 200, "existing contents are served");
  assert.deepEqual((await system.operate("hosts")).hosts.map(({ host, reason }) => [host, reason]), [["203.0.113.9", "spam"], ["blocked.example", "spam"]]);
  await system.operate("unblock-host", { host: "blocked.example", reason: "a mistake" });
  await system.operate("unblock-host", { host: "blocked.example" });
  assert.equal((await system.send(byUrl("http://blocked.example/new.jpg"))).status, 301);
  assert.deepEqual(await actions("blocked.example"), [["anna", "unblock-host", "done"], ["anna", "block-host", "done"]]);
});

test("old contents are purged in batches, as one action, and converted again on request", async () => {
  const other = await startWithClock({ UPLOAD_BYTES: "1000" });
  try {
    const ids = [];
    for (let number = 0; number < 5; number++) ids.push(await other.content(`http://example.com/${number}.jpg`, number === 4 ? "failed" : "ready"));
    for (const id of ids) await other.pyramids.put(`${id}/1_files/0/0_0.jpg`, "tile");
    const { id: file } = JSON.parse((await other.send("/v1/content/", { method: "POST", body: "a file" })).body);
    await other.claim(file);
    await other.report(file, 1, { finished: { dzi: { width: 1, height: 1, tileSize: 510, tileOverlap: 0, tileFormat: "jpg" } } });
    await other.advance(1);
    const before = other.now();
    const young = await other.content("http://example.com/young.jpg", "ready");
    const purge = (body) => other.operate("purge", { before, by: "at", ...body });
    const counted = await purge({ dry: true });
    assert.deepEqual([counted.removed, counted.left], [0, 5]);
    assert.equal((await purge({ states: ["failed"], dry: true })).left, 1);
    assert.equal((await purge({ limit: 2 })).left, 3);
    for (let left = 3; left > 0; ) ({ left } = await purge({ limit: 2 }));
    assert.equal((await purge()).removed, 0);
    assert.deepEqual((await other.pyramids.list()).objects, []);
    for (const id of ids) assert.equal(await other.finished.get(id), null);
    assert.equal((await other.find(young)).ready, true);
    assert.equal((await other.find(file)).ready, true, "uploaded files are kept");
    const [{ what, contents, result }] = (await other.operate("audit", {})).actions;
    assert.deepEqual([what, contents, result, (await other.operate("audit", {})).actions.length], ["purge", 5, "done", 1]);
    const again = await other.find(ids[0]);
    assert.deepEqual([again.stage, again.progress], ["queued", 0]);
    assert.equal((await (await other.claim(ids[0])).json()).attempt, 2);
    assert.equal((await purge({ files: true })).removed, 1);
    assert.equal((await other.send(`/v1/content/${file}`)).status, 404);
    assert.equal((await other.send("/v1/content/", { method: "POST", body: "a file" })).status, 301);
  } finally {
    await other.close();
  }
});

test("contents unused for RETENTION_DAYS are deleted, and used ones stay", async () => {
  const other = await startWithClock({ RETENTION_DAYS: "2" }, PLAIN);
  try {
    const unused = await other.content("http://example.com/unused.jpg", "ready");
    const used = await other.content("http://example.com/used.jpg", "ready");
    const lastUse = async () => (await other.operate("list", {})).contents.find(({ id }) => id === used).used;
    for (let days = 0; days < 2; days += 1) {
      assert.ok(await other.finished.get(unused), `after ${days} days`);
      await other.advance(DAY);
      const now = other.now();
      assert.equal((await other.find(used)).ready, true);
      await other.timers(1, 2000); // a batch of uses is collected
      await other.advance(2000);
      await eventually(async () => (await lastUse()) >= now);
    }
    await other.advance(DAY / 4);
    assert.equal(await other.finished.get(unused), null);
    assert.equal((await other.find(used)).ready, true);
    const { actions: log } = await other.operate("audit", {});
    assert.deepEqual(log.map(({ by, what, contents }) => [by, what, contents]), [["retention", "retention", 1]]);
    assert.equal((await other.find(unused)).stage, "queued", "it is converted again");
  } finally {
    await other.close();
  }
});

test("reindex adds contents that finished before the index existed", async () => {
  const id = await system.content("http://example.com/indexed.jpg", "ready");
  await eventually(() => system.finished.get(id));
  const other = await start();
  try {
    await other.finished.put(id, await system.finished.get(id));
    let [added, cursor] = [0, undefined];
    do {
      const page = await other.operate("reindex", { cursor });
      added += page.added;
      cursor = page.cursor;
    } while (cursor);
    assert.equal(added, 1);
    const [content] = (await other.operate("list", {})).contents;
    const { index } = await system.operate("show", { target: id });
    for (const same of ["id", "url", "state", "pixels", "tiles", "bytes"]) assert.equal(content[same], index[same], same);
    assert.equal((await other.operate("reindex", {})).added, 0);
  } finally {
    await other.close();
  }
});
