// Deletion by the uploader: only with the key that the upload returned, everywhere, and for good.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { DZI, archive } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { eventually, startWithClock } from "./system.mjs";

/** An entry module with a way to delete a content as another isolate does: without this one. */
const ELSEWHERE = `
  import edge from "./index.js";
  export * from "./index.js";

  export default {
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== "/elsewhere") return edge.fetch(request, env, context);
      const event = { "deletion-asked": searchParams.get("hash") };
      return new Response(await env.CONVERSIONS.getByName(searchParams.get("id")).send(JSON.stringify({ event })));
    },
  };
`;

const LEASE = 60_000;
const { object, place, previews } = archive();

let system;
aroundTests(async () => (system = await startWithClock({ UPLOAD_BYTES: "20000000" }, ELSEWHERE)), () => system.close());

let count = 0;
const bytes = () => Buffer.from(`picture ${(count += 1)}`);
const upload = (body, query = "", headers = {}) => system.send(`/v1/content/${query}`, { method: "POST", body, headers: { "Content-Type": "image/jpeg", ...headers } });
/** Uploads a file and returns its content object. */
const uploaded = async (body = bytes(), query) => JSON.parse((await upload(body, query)).body);
const remove = (id, key, headers = {}) => system.send(`/v1/content/${id}`, { method: "DELETE", headers: { ...(key && { Authorization: `Bearer ${key}` }), ...headers } });
const objectsOf = async (prefix) => (await system.pyramids.list({ prefix })).objects.map(({ key }) => key);
const sha256 = (text, form) => createHash("sha256").update(text).digest(form);

/** Uploads a file and brings its content to the ready state, with an archive and with other objects beside it. */
async function ready(body) {
  const content = await uploaded(body, "?name=Anna%27s%20house.jpg");
  const { id } = content;
  await system.pyramids.put(`${id}/1.szi`, object);
  for (const key of ["1_coarse/1.jpg", "1_coarse/2.jpg"]) await system.pyramids.put(`${id}/${key}`, "left");
  await system.claim(id);
  assert.equal((await system.report(id, 1, { finished: { dzi: DZI, archive: place, previews } })).status, 204);
  await eventually(() => system.finished.get(id));
  return content;
}

/** Returns every path that serves something of a content. */
function addresses(id) {
  const link = encodeURIComponent(`${system.origin}/${id}`);
  return [
    ...["", "?format=json", "?format=xml", "?callback=cb", "?retry=1"].map((form) => `/v1/content/${id}${form}`),
    ...["dzi.js", "events"].map((name) => `/v1/content/${id}/${name}`),
    ...[`/v1/dzi/${id}`, `/oembed?url=${link}`, `/v1/content/?url=${link}`, `/?url=${link}`],
    ...["", "?at=1,2,3", "/embed", "/preview.jpg", "/thumbnail.jpg", "/download"].map((name) => `/${id}${name}`),
    ...["info.json", "manifest.json", "0,0,512,512/512,512/0/default.jpg", "full/max/0/default.jpg"].map((name) => `/iiif/${id}/${name}`),
    ...["1.dzi", "1_files/14/0_0.jpg", "1_files/0/0_0.jpg", "1_coarse/1.jpg", "2.dzi"].map((name) => `/cache/${id}/${name}`),
  ];
}

/** Returns the status of a response: that in the body, if it is wrapped. */
function statusOf({ status, body }) {
  const [, json, xml] = /"status":(\d+)|<status>(\d+)/.exec(status === 200 ? body : "") ?? [];
  return Number(json ?? xml ?? status);
}

async function allGone(id) {
  for (const address of addresses(id)) {
    for (const init of [{}, { headers: { Accept: "application/xml" } }, { headers: { Range: "bytes=0-3" } }, { headers: { "If-None-Match": "*" } }]) {
      const answer = await system.send(address, init);
      assert.equal(statusOf(answer), 410, `${address}: ${answer.status} ${answer.body.slice(0, 200)}`);
      assert.equal(answer.headers.get("Cache-Control"), "no-store", address);
      assert.match(answer.body, /deleted by its owner/, address);
    }
  }
}

test("the uploader gets a key once, and with it the content is deleted everywhere and for good", async () => {
  const body = bytes();
  const { id, deletionKey, title } = await ready(body);
  assert.match(deletionKey, /^[\w-]{43}$/);
  assert.equal(title, "Anna's house");
  const seen = addresses(id).filter((address) => !/\/2\.dzi|_files\/0/.test(address));
  for (const address of seen) {
    const answer = await system.send(address);
    assert.ok([200, 301, 302].includes(answer.status), `${address}: ${answer.status}`);
    assert.ok(!answer.body.includes(deletionKey), address);
  }
  assert.equal((await system.send(`/cache/${id}/1_files/14/0_0.jpg`)).status, 200, "it is in the cache");

  assert.deepEqual([(await remove(id, deletionKey)).status, (await remove(`${id}/`, deletionKey)).status], [204, 204], "also again");
  await allGone(id);
  assert.deepEqual(await objectsOf(`${id}/`), []);
  assert.deepEqual(await objectsOf("uploads/"), []);

  // Neither name nor key is kept.
  const shown = await system.operate("show", { target: id });
  const kept = JSON.stringify([shown, await system.operate("audit", { target: id }), await system.finished.get(id)]);
  for (const secret of ["Anna", "house", deletionKey]) assert.ok(!kept.includes(secret), `${secret} in ${kept}`);
  const { owner } = shown.conversion;
  assert.equal(owner, sha256(deletionKey, "hex"), "only the hash");
  assert.equal(kept.split(owner).length, 2, "in the content's object alone");
  assert.equal(shown.index.state, "deleted");
  const { actions } = await system.operate("audit", { target: id });
  assert.deepEqual(actions.map(({ what, by }) => [what, by]), [["delete", "uploader"]]);
  assert.equal((await system.admin("retry", { target: id })).status, 410);

  // The same bytes are a new content.
  const again = await uploaded(body, "?name=b.jpg");
  assert.notEqual(again.id, id);
  assert.deepEqual([again.stage, again.title], ["queued", "b"]);
  assert.equal((await uploaded(body)).id, again.id);
  await allGone(id);
  assert.equal((await remove(again.id, deletionKey)).status, 403);
  assert.equal((await remove(again.id, again.deletionKey)).status, 204);
});

test("other isolates stop serving from caches within twenty seconds, even if KV is stale", async () => {
  const { id, deletionKey } = await ready();
  const record = await system.finished.get(id);
  const tile = `/cache/${id}/1_files/14/0_0.jpg`;
  for (const path of [tile, `/v1/content/${id}`]) assert.equal((await system.send(path)).status, 200);
  await system.advance(21_000); // the lists are loaded
  await system.send(`/v1/content/${id}`);
  assert.equal((await system.send(`/elsewhere?id=${id}&hash=${sha256(deletionKey, "hex")}`)).body, '{"Ok":"accepted"}');
  await system.finished.put(id, record);
  assert.equal((await system.send(tile)).status, 200, "the isolate does not know yet");
  await system.advance(20_000);
  assert.equal((await system.send(tile)).status, 410);
  await allGone(id);
});

test("a wrong key tells nothing, and none asks for one", async () => {
  const { id, deletionKey } = await uploaded();
  const byUrl = (await system.ask("http://example.com/a.jpg")).id;
  const answers = [];
  for (const target of [id, byUrl, "00000000000"]) answers.push(await remove(target, `${deletionKey.slice(0, -1)}~`));
  for (const { status, body, type } of answers) {
    assert.deepEqual([status, body, type], [403, "The deletion key is wrong.", "text/plain; charset=utf-8"]);
  }
  for (const header of [{}, { Authorization: "Basic YTpi" }, { Authorization: "Bearer" }, { Authorization: "Bearer  " }]) {
    const answer = await remove(id, "", header);
    assert.deepEqual([answer.status, answer.headers.get("WWW-Authenticate")], [401, "Bearer"]);
  }
  assert.equal((await system.send(`/v1/content/${id}?deletionKey=${deletionKey}`, { method: "DELETE" })).status, 401, "a key in a URL would be logged");
  assert.equal((await remove("nonsense", deletionKey)).status, 405);
  assert.equal((await system.find(id)).stage, "queued");
});

test("only the client whose file is converted gets a key", async () => {
  const body = bytes();
  const first = await uploaded(body);
  const second = await uploaded(body);
  assert.equal(second.id, first.id);
  assert.equal("deletionKey" in second, false);
  await system.claim(first.id);
  await system.report(first.id, 1, { "gave-up": { failure: { code: "corrupt-source", message: "no" } } });
  const third = await uploaded(body);
  assert.equal(third.id, first.id);
  assert.equal((await remove(first.id, first.deletionKey)).status, 403);
  assert.equal((await remove(first.id, third.deletionKey)).status, 204);
});

test("a key comes in each form, and with an upload in parts", async () => {
  const wrapped = JSON.parse((await upload(bytes(), "?format=json")).body);
  assert.deepEqual([wrapped.status, wrapped.content.deletionKey.length], [301, 43]);
  assert.match((await upload(bytes(), "", { Accept: "application/xml" })).body, /<deletionKey>[\w-]{43}<\/deletionKey><\/content>$/);
  assert.match((await upload(bytes(), "?callback=cb")).body, /"deletionKey":"[\w-]{43}"/);

  const { address } = JSON.parse((await system.send("/v1/uploads/", { method: "POST" })).body);
  const path = new URL(address).pathname;
  const { etag } = JSON.parse((await system.send(`${path}/1`, { method: "PUT", body: bytes() })).body);
  const finish = () => system.send(path, { method: "POST", body: JSON.stringify({ parts: [etag] }), headers: { "Content-Disposition": 'attachment; filename="in parts.tif"' } });
  const [lost, content] = [JSON.parse((await finish()).body), JSON.parse((await finish()).body)];
  assert.deepEqual([content.id, content.title], [lost.id, "in parts"]);
  assert.equal((await remove(content.id, lost.deletionKey)).status, 403, "a repeated request gets another key");
  assert.equal((await remove(content.id, content.deletionKey)).status, 204);
});

test("a running conversion is stopped, its stream ends, and late uploads of tiles are deleted", async () => {
  const { id, deletionKey } = await uploaded();
  await system.claim(id);
  const events = await fetch(`${system.address}/v1/content/${id}/events`);
  assert.equal((await remove(id, deletionKey)).status, 204);
  assert.ok((await events.text()).startsWith("data: {"), "the stream ended");
  assert.equal((await system.report(id, 1, { progress: { stage: "rendering", progress: 0.5 } })).status, 409);
  await system.pyramids.put(`${id}/1.szi`, "late");
  await system.advance(5 * LEASE);
  assert.deepEqual(await objectsOf(`${id}/`), [], "the late upload is deleted");
});

test("the operator can still refuse the bytes of a deleted file", async () => {
  const body = bytes();
  const { id, url, deletionKey } = await uploaded(body);
  await remove(id, deletionKey);
  const { id: next, state } = await system.operate("takedown", { target: url, reason: "why" });
  assert.notEqual(next, id);
  assert.equal(state, "taken-down");
  const refused = await upload(body);
  assert.deepEqual([refused.status, refused.body], [410, "This content was taken down: why"]);
  await allGone(id);
});

test("bytes that were deleted too often are refused with advice", async () => {
  const body = bytes();
  const kept = await objectsOf("uploads/");
  for (let times = 0; times < 32; times += 1) {
    const { id, deletionKey } = await uploaded(body);
    assert.equal((await remove(id, deletionKey)).status, 204);
  }
  const answer = await upload(body);
  assert.deepEqual([answer.status, answer.body], [409, "This file was uploaded and deleted too often. Change it, then upload it again."]);
  assert.deepEqual(await objectsOf("uploads/"), kept);
});

test("one client blocks a file for no other by deleting it", async () => {
  const body = bytes();
  for (let times = 0; times < 32; times += 1) {
    const { id, deletionKey } = await uploaded(body);
    assert.equal((await remove(id, deletionKey)).status, 204);
  }
  const other = { "CF-Connecting-IP": "203.0.113.8" };
  const answer = await upload(body, "", other);
  assert.equal(answer.status, 301, answer.body);
  const { id, url } = JSON.parse(answer.body);
  assert.equal((await system.find(id)).stage, "queued");
  await system.operate("takedown", { target: url, reason: "why" });
  assert.equal((await upload(body, "", other)).status, 410, "the operator refuses it for all");
});

test("the name that one client gave a file is no title of another's upload", async () => {
  const body = bytes();
  const first = await ready(body);
  assert.equal(first.title, "Anna's house");
  assert.equal((await uploaded(body, "?name=Anna%27s%20house.jpg")).title, "Anna's house");
  const second = await uploaded(body, "?name=plan.jpg");
  assert.deepEqual([second.id, second.title], [first.id, undefined]);
  await eventually(async () => !(await system.finished.get(first.id)).includes("Anna"));
  assert.equal((await system.find(first.id)).title, undefined);
});

test("a client has a number of deletions a day, so that it does not fill the list of all", async () => {
  const headers = { "CF-Connecting-IP": "203.0.113.99" };
  const { id, deletionKey } = await uploaded();
  for (let times = 0; times < 200; times += 1) {
    if (times % 20 === 0) await system.advance(60_000); // a client has 20 requests a minute
    assert.equal((await remove(id, deletionKey, headers)).status, 204);
  }
  await system.advance(60_000);
  const refused = await remove(id, deletionKey, headers);
  assert.deepEqual([refused.status, refused.headers.get("Retry-After")], [503, "3600"]);
  assert.match(refused.body, /today's deletion limit/);
  assert.equal((await remove(id, deletionKey, { ...headers, "CF-Connecting-IP": "203.0.113.98" })).status, 204);
  await system.advance(86_400_000);
  assert.equal((await remove(id, deletionKey, headers)).status, 204, "the next day");
});

test("pages of other sites may delete with a key: browsers ask for the header", async () => {
  const headers = { Origin: "https://elsewhere.example", "Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "authorization" };
  const preflight = await system.send("/v1/content/00000000000", { method: "OPTIONS", headers });
  assert.match(preflight.headers.get("Access-Control-Allow-Methods"), /\bDELETE\b/);
  assert.match(preflight.headers.get("Access-Control-Allow-Headers"), /\bAuthorization\b/, "an asterisk does not include it");
  assert.equal(preflight.headers.get("Access-Control-Allow-Credentials"), null);
  const { id, deletionKey } = await uploaded();
  const answer = await remove(id, deletionKey, { Origin: "https://elsewhere.example" });
  assert.deepEqual([answer.status, answer.headers.get("Access-Control-Allow-Origin")], [204, "*"]);
});

test("a client that tries keys has to wait", async () => {
  const headers = { "CF-Connecting-IP": "203.0.113.77" };
  for (let tries = 0; ; tries += 1) {
    assert.ok(tries < 80, "never refused");
    const { status } = await remove("00000000000", "wrong", headers);
    if (status === 503) break;
    assert.equal(status, 403);
  }
});

test("a takedown by link refuses a file for all clients, also after its deletions have used up the ids that they share", async () => {
  const body = bytes();
  const uploadFrom = (client) => upload(body, "", { "CF-Connecting-IP": `203.0.113.${client}` });
  const used = [];
  for (let number = 0; number < 4; number += 1) {
    const { id, deletionKey } = await uploaded(body);
    assert.equal((await remove(id, deletionKey)).status, 204);
    used.push(id);
  }
  const [anna, ben] = [await uploadFrom(1), await uploadFrom(2)].map((answer) => JSON.parse(answer.body).id);
  assert.equal(new Set([...used, anna, ben]).size, 6, "each client has ids of its own");
  const taken = await system.operate("takedown", { target: `${system.origin}/${anna}`, reason: "Its owner asked for it." });
  assert.deepEqual([taken.id, taken.state], [anna, "taken-down"]);
  for (const client of [1, 2, 3]) assert.equal((await uploadFrom(client)).status, 410, client);
  await system.operate("lift", { target: anna });
  assert.equal(JSON.parse((await uploadFrom(2)).body).id, ben);
  assert.ok(!used.includes(JSON.parse((await uploadFrom(3)).body).id));
  for (const id of used) assert.equal((await system.send(`/v1/content/${id}`)).status, 410, "it stays deleted");
});
