// Takedowns: once the call returns, no endpoint serves the content, and it cannot be created again until the takedown
// is lifted.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DZI, archive } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { byUrl, eventually, startWithClock } from "./system.mjs";

const LEASE = 60_000;
const REASON = `The owner's <wish> & "right".`;

/**
 * An entry module with a count of calls for the operator's lists, a way to take a content down as another isolate does,
 * without this one, and many deletions of entries.
 */
const ELSEWHERE = `
  import edge, { OperatorObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  let lists = 0;
  let loaded = 0;
  let outages = 0;

  export class OperatorObject extends Inner {
    changes(known) {
      lists += 1;
      const changes = super.changes(known);
      loaded += changes?.removed.length ?? 0;
      return changes;
    }

    flood() {
      const rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)";
      this.ctx.storage.sql.exec(rows + " INSERT INTO deleted_entries SELECT printf('%011d', i), ? + i FROM n", Date.now());
      this.ctx.storage.sql.exec(rows + " INSERT INTO log (action, what, target) SELECT 'flood' || i, 'delete', printf('%011d url', i) FROM n");
    }

    note(entry) {
      if (outages-- > 0) throw new Error("from the test");
      return super.note(entry);
    }
  }

  export default {
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/lists") return Response.json(lists);
      if (pathname === "/loaded") return Response.json(loaded);
      if (pathname === "/listed") return Response.json((await env.OPERATOR.getByName("operator").changes()).removed.includes(searchParams.get("id")));
      if (pathname === "/flood") return Response.json((await env.OPERATOR.getByName("operator").flood()) ?? 0);
      if (pathname === "/outage") return Response.json((outages = Number(searchParams.get("calls"))));
      if (pathname !== "/elsewhere") return edge.fetch(request, env, context);
      return new Response(await env.CONVERSIONS.getByName(searchParams.get("id")).send(await request.text()));
    },
  };
`;

const { object, place, previews } = archive();
let system;
aroundTests(async () => (system = await startWithClock({ UPLOAD_BYTES: "1000" }, ELSEWHERE)), () => system.close());

const actionsOf = async (target) => (await system.operate("audit", { target })).actions.map(({ what }) => what);
const takeDown = (target, reason = REASON) => system.operate("takedown", { target, reason });
const objectsOf = async (id) => (await system.pyramids.list({ prefix: `${id}/` })).objects.map(({ key }) => key);
const tile = (id) => `/cache/${id}/1_files/14/0_0.jpg`;

/** Creates a ready content with an archive, and with other objects beside it. */
async function ready(url) {
  const { id } = await system.ask(url);
  await system.pyramids.put(`${id}/1.szi`, object);
  for (const key of ["1_coarse/1.jpg", "1_coarse/2.jpg"]) await system.pyramids.put(`${id}/${key}`, "left");
  await system.claim(id);
  assert.equal((await system.report(id, 1, { finished: { dzi: DZI, archive: place, previews } })).status, 204);
  return id;
}

/** Returns every path that serves something of a content. */
function addresses(id, url) {
  const link = encodeURIComponent(`${system.origin}/${id}`);
  return [
    ...["", "?format=json", "?format=xml", "?callback=cb", "?retry=1"].map((form) => `/v1/content/${id}${form}`),
    ...["", "&format=xml", "&retry=1"].map((form) => `${byUrl(url)}${form}`),
    ...["dzi.js", "events"].map((name) => `/v1/content/${id}/${name}`),
    ...[`/v1/dzi/${id}`, `/v1/dzi/?url=${encodeURIComponent(url)}`, `/oembed?url=${link}`, byUrl(`${system.origin}/${id}`)],
    ...["", "/embed", "/preview.jpg", "/thumbnail.jpg", "/download"].map((name) => `/${id}${name}`),
    ...[`/?url=${encodeURIComponent(url)}`, `/?url=${link}`],
    ...["info.json", "manifest.json", "0,0,512,512/512,512/0/default.jpg"].map((name) => `/iiif/${id}/${name}`),
    ...["1.dzi", "1_files/14/0_0.jpg", "1_files/0/0_0.jpg", "1_coarse/1.jpg", "2.dzi"].map((name) => `/cache/${id}/${name}`),
  ];
}

/** Returns the status of a response: that in the body, if it is wrapped. */
function statusOf({ status, body }) {
  const [, json, xml] = /"status":(\d+)|<status>(\d+)/.exec(status === 200 ? body : "") ?? [];
  return Number(json ?? xml ?? status);
}

/** Returns a body without the escapes of HTML, XML, JSON and scripts. */
function unescaped(body) {
  const entities = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", "#39": "'", "#x27": "'" };
  return body
    .replace(/\\u([0-9a-f]{4})/g, (_, code) => String.fromCharCode(parseInt(code, 16)))
    .replaceAll('\\"', '"')
    .replace(/&([#\w]+);/g, (escape, name) => entities[name] ?? escape);
}

async function allGone(id, url, reason = REASON) {
  for (const address of addresses(id, url)) {
    for (const init of [{}, { headers: { Accept: "application/xml" } }, { headers: { Range: "bytes=0-3" } }, { headers: { "If-None-Match": "*" } }]) {
      const answer = await system.send(address, init);
      assert.equal(statusOf(answer), 410, `${address} ${JSON.stringify(init)}: ${answer.status} ${answer.body.slice(0, 200)}`);
      assert.equal(answer.headers.get("Cache-Control"), "no-store", address);
      assert.ok(unescaped(answer.body).includes(reason), `${address}: no reason in ${answer.body}`);
    }
    const head = await system.send(address, { method: "HEAD" });
    if (!/format|callback/.test(address)) assert.equal(head.status, 410, `HEAD ${address}`);
  }
}

test("a takedown stops all responses, deletes objects and records, and is logged once", async () => {
  const url = "http://example.com/taken.jpg";
  const id = await ready(url);
  await eventually(() => system.finished.get(id));
  for (const address of addresses(id, url).filter((address) => !/\/2[._]|dzi.js/.test(address))) assert.ok([200, 301, 302].includes((await system.send(address)).status), address);
  // This puts the tile into the cache.
  assert.equal((await system.send(tile(id))).status, 200);
  const answer = await takeDown(url);
  assert.deepEqual(answer, { id, state: "taken-down", reason: REASON, by: "anna", recorded: true, deleted: true });
  await allGone(id, url);
  assert.deepEqual(await objectsOf(id), []);
  assert.equal(await system.finished.get(id), `${url} taken-down\n${REASON}\n-\n-`);
  // The page escapes the reason.
  assert.ok(!(await system.send(`/${id}`)).body.includes("<wish>"));
  assert.deepEqual(await takeDown(id), answer);
  assert.deepEqual(await takeDown(url), answer);
  assert.deepEqual(await actionsOf(id), ["takedown"]);
  assert.equal((await system.reset(id)).status, 410);
  assert.equal((await system.admin("retry", { target: id })).status, 410);
});

test("other isolates stop serving from caches within twenty seconds, even if KV is stale", async () => {
  const url = "http://example.com/elsewhere.jpg";
  const id = await ready(url);
  const record = await eventually(() => system.finished.get(id));
  for (const path of [tile(id), `/v1/content/${id}`]) assert.equal((await system.send(path)).status, 200);
  await system.advance(21_000); // the lists are loaded
  await system.send(`/v1/content/${id}`);
  const removal = { kind: "taken-down", reason: REASON, action: "elsewhere", by: "ben" };
  const body = JSON.stringify({ event: { removed: { id, url: null, removal } } });
  const reply = (await system.send(`/elsewhere?id=${id}`, { method: "POST", body })).body;
  assert.deepEqual(JSON.parse(reply), { Ok: { "taken-down": REASON } });
  // KV may return the old record for a minute.
  await system.finished.put(id, record);
  assert.equal((await system.send(tile(id))).status, 200, "the isolate does not know yet");
  await system.advance(21_000);
  assert.equal((await system.send(tile(id))).status, 410);
  await allGone(id, url);
});

test("the lists take one call in ten seconds, in the background", async () => {
  const id = await system.content("http://example.com/counted.jpg", "ready");
  await system.advance(21_000);
  const count = async () => Number((await system.send("/lists")).body);
  const before = await count();
  for (let times = 0; times < 50; times++) assert.equal((await system.send(`/v1/content/${id}`)).status, 200);
  assert.equal((await count()) - before, 1);
  await system.advance(11_000);
  for (let times = 0; times < 50; times++) await system.send(`/v1/content/${id}`);
  assert.equal(await eventually(async () => (await count()) - before), 2);
});

test("isolates load what has changed, once for all requests, and not the whole lists", async () => {
  const ids = [];
  for (let number = 0; number < 5; number += 1) {
    ids.push(await system.content(`http://example.com/listed-${number}.jpg`, "ready"));
    await takeDown(ids[number]);
  }
  const count = async (of) => Number((await system.send(of)).body);
  const [calls, loaded] = [await count("/lists"), await count("/loaded")];
  const another = await system.content("http://example.com/listed.jpg", "ready");
  await system.advance(21_000);
  const removal = { kind: "taken-down", reason: REASON, action: "changed", by: "ben" };
  await system.send(`/elsewhere?id=${another}`, { method: "POST", body: JSON.stringify({ event: { removed: { id: another, url: null, removal } } }) });
  const answers = await Promise.all(Array.from({ length: 30 }, () => system.send(tile(another))));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([410]));
  assert.deepEqual([(await count("/lists")) - calls, (await count("/loaded")) - loaded], [1, 1], "a call, and a removed content");
  await system.operate("lift", { target: ids[0] });
  await system.advance(21_000);
  for (const id of ids.slice(1)) assert.equal((await system.send(`/v1/content/${id}`)).status, 410);
  assert.notEqual((await system.send(`/v1/content/${ids[0]}`)).status, 410, "lifted");
});

test("many deleted entries displace neither takedowns nor uploaders' deletions, and fill no isolate", async () => {
  const count = async (path) => (await system.fetch(path)).json();
  const { id: upload, deletionKey } = JSON.parse((await system.send("/v1/content/", { method: "POST", body: "deleted before many" })).body);
  assert.equal((await system.send(`/v1/content/${upload}`, { method: "DELETE", headers: { Authorization: `Bearer ${deletionKey}` } })).status, 204);
  const url = "http://example.com/before-many.jpg";
  await takeDown(url);
  await count("/flood");
  const loads = [];
  for (let refreshed = 0; refreshed < 3; refreshed += 1) {
    const before = await count("/loaded");
    await system.advance(21_000);
    for (const path of [`/v1/content/${upload}`, tile(upload), `/v1/content/?url=${url}`]) assert.equal((await system.send(path)).status, 410, path);
    loads.push((await count("/loaded")) - before);
  }
  assert.equal(loads[0], 60_000);
  assert.ok(loads[1] > 50_000 && loads[1] < 50_100, "the latest ones, uploaders' deletions and takedowns");
  assert.equal(loads[2], 0);
  for (const [id, isListed] of Object.entries({ [upload]: true, "00000060000": true, "00000000001": false })) {
    assert.equal(await count(`/listed?id=${id}`), isListed, id);
  }
});

test("a takedown stops the conversion, ends event streams, and deletes late uploads", async () => {
  const id = await system.content("http://example.com/running.jpg", "rendering");
  const events = await fetch(`${system.address}/v1/content/${id}/events`);
  assert.equal(events.status, 200);
  await takeDown(id);
  assert.ok((await events.text()).startsWith("data: {"), "the stream ended");
  assert.equal((await system.report(id, 1, { progress: { stage: "rendering", progress: 0.5 } })).status, 409);
  await system.pyramids.put(`${id}/1.szi`, "late");
  assert.equal((await system.report(id, 1, { finished: { dzi: DZI } })).status, 409);
  assert.equal((await system.claim(id)).status, 409);
  await system.advance(5 * LEASE);
  assert.deepEqual(await objectsOf(id), [], "the late upload is deleted");
});

test("an upload with the bytes of a taken-down file is refused and not stored", async () => {
  const send = () => system.send("/v1/content/", { method: "POST", body: "a picture" });
  const { id } = JSON.parse((await send()).body);
  const kept = async () => (await system.pyramids.list({ prefix: "uploads/" })).objects.length;
  assert.equal(await kept(), 1);
  await takeDown(id);
  assert.equal(await kept(), 0);
  assert.deepEqual([(await send()).status, await kept()], [410, 0]);
});

test("a URL that was never requested can be taken down, and lifted", async () => {
  const url = "http://example.com/never.jpg";
  const { id } = await takeDown(url);
  await allGone(id, url);
  assert.deepEqual(await system.operate("lift", { target: id, reason: "a mistake" }), { id, state: "lifted", reason: "a mistake", by: "anna", recorded: true, deleted: true });
  assert.equal((await system.ask(url)).stage, "queued");
  assert.deepEqual(await actionsOf(id), ["lift", "takedown"]);
});

test("a takedown of a URL holds with all options of its capture, and so does its lift", async () => {
  const url = "http://example.com/page";
  const ids = [await ready(url)];
  const others = ["http://example.com/page2", "http://other.example/?http://example.com/page"];
  const create = async (source, options) => {
    const { id } = JSON.parse((await system.send(`${byUrl(source)}&${options}`)).body);
    await system.claim(id);
    assert.equal((await system.report(id, 1, { finished: { dzi: DZI } })).status, 204);
    return id;
  };
  for (const options of ["web-width=390", "web-scheme=dark&web-hide=a%3Eb"]) ids.push(await create(url, options));
  const kept = await Promise.all(others.map((other) => create(other, "web-width=390")));
  await eventually(async () => {
    const indexed = (await system.operate("list", { state: "ready" })).contents.map(({ id }) => id);
    return [...ids, ...kept].every((id) => indexed.includes(id));
  });
  const settled = (call, body) =>
    eventually(async () => {
      const { recorded, deleted } = await system.operate(call, body);
      return recorded && deleted;
    });

  const { id, variants } = await takeDown(url);
  assert.deepEqual([id, new Set(variants)], [ids[0], new Set(ids.slice(1))]);
  await settled("takedown", { target: url, reason: REASON });
  for (const id of ids) assert.equal((await system.send(`/v1/content/${id}`)).status, 410);
  for (const id of kept) assert.equal((await system.find(id)).ready, true);
  for (const options of ["web-width=390", "web-width=391", "web-media=print"]) {
    const { status, body } = await system.send(`${byUrl(url)}&${options}`);
    assert.deepEqual([status, body.includes(REASON)], [410, true], options);
  }
  assert.equal((await system.send(`${byUrl(others[0])}&web-width=391`)).status, 301);

  const apart = await create(others[0], "web-width=500");
  await takeDown(apart, "for another reason");
  await takeDown(others[0]);
  await settled("lift", { target: others[0] });
  assert.deepEqual([(await system.send(`/v1/content/${apart}`)).status, (await system.send(`/v1/content/${kept[0]}`)).status], [410, 200], "its own reason");
  await settled("lift", { target: url });
  for (const id of ids) assert.notEqual((await system.send(`/v1/content/${id}`)).status, 410);
});

test("after a lift the content is converted again, with new tile URLs", async () => {
  const url = "http://example.com/lifted.jpg";
  const id = await ready(url);
  await takeDown(id);
  await system.operate("lift", { target: url });
  await system.operate("lift", { target: url });
  assert.deepEqual((await system.find(id)).stage, "queued");
  assert.equal((await (await system.claim(id)).json()).attempt, 2);
  await system.report(id, 2, { finished: { dzi: DZI } });
  assert.ok((await system.find(id)).dzi.url.endsWith("/2.dzi"));
  assert.equal((await system.send(tile(id))).status, 404);
  await takeDown(id, "once more");
  assert.deepEqual(await actionsOf(id), ["takedown", "lift", "takedown"]);
});

test("a takedown that cannot be recorded is effective, and a repeated call records it", async () => {
  const url = "http://example.com/outage.jpg";
  const id = await ready(url);
  await system.send("/outage?calls=1");
  const half = await takeDown(id);
  assert.deepEqual([half.state, half.recorded], ["taken-down", false]);
  assert.equal((await system.admin("lift", { target: id })).status, 503, "the log must not lose the takedown");
  const whole = await takeDown(id);
  assert.deepEqual([whole.recorded, whole.deleted], [true, true]);
  assert.deepEqual(await actionsOf(id), ["takedown"]);
  await allGone(id, url);
});
