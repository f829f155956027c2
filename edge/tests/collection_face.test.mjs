// What everybody may read of a collection: its IIIF Collection and its changes by IIIF Change Discovery.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DZI } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { ORIGIN, PLAIN, startWithClock } from "./system.mjs";

const headers = { Authorization: "Bearer a key that its owner has made: 0123456789abcdef" };
const PRESENTATION = "http://iiif.io/api/presentation/3/context.json";
const DISCOVERY = "http://iiif.io/api/discovery/1/context.json";
/** Hosts whose entries begin before those of others. */
const FIRST = "http://0.example/";

let system;
aroundTests(async () => (system = await startWithClock({}, PLAIN)), () => system.close());

const put = async (name, settings) => assert.equal((await system.request(`/v1/collections/${name}`, { method: "PUT", headers, body: JSON.stringify(settings) })).status, 201);
async function add(name, entries) {
  const body = entries.map((entry) => JSON.stringify(entry)).join("\n");
  const response = await system.request(`/v1/collections/${name}/entries`, { method: "POST", headers, body });
  assert.deepEqual((await response.json()).refused, []);
  await system.advance(1);
}
/** Returns the entries that are being converted, at most 1,000. */
const converting = async (name) => (await (await system.request(`/v1/collections/${name}/entries?state=converting`, { headers })).text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
const idOf = async (name, url) => (await converting(name)).find((entry) => entry.url === url)?.id;
/** Makes an entry ready, or lets it fail. Returns its id. */
async function end(name, url, outcome = { finished: { dzi: DZI } }) {
  const id = await idOf(name, url);
  await system.claim(id);
  assert.equal((await system.report(id, 1, outcome)).status, 204);
  return id;
}
const fillers = (number) => Array.from({ length: number }, (_, index) => ({ url: `http://filler.example/${number}/${index}` }));

/** Returns a document, which must have the context. */
async function read(address, context) {
  const answer = await system.send(address.replace(ORIGIN, ""));
  assert.deepEqual([answer.status, answer.type], [200, `application/ld+json;profile="${context}"`], address);
  assert.equal(answer.headers.get("access-control-allow-origin"), "*");
  const document = JSON.parse(answer.body);
  assert.deepEqual([document["@context"], document.id], [context, address]);
  return document;
}
const collection = (path) => read(`${ORIGIN}/iiif/collection/${path}`, PRESENTATION);
const activity = (path) => read(`${ORIGIN}/iiif/activity/${path}`, DISCOVERY);
const manifest = (id) => `${ORIGIN}/iiif/${id}/manifest.json`;

test("a IIIF Collection has what is ready, with words and rights", async () => {
  const rights = "http://creativecommons.org/licenses/by/4.0/";
  await put("shown", { title: "<i>Drawings</i>", credit: "Museum", rights });
  await add("shown", [{ url: "http://a.example/one.tif", title: 'A "bridge"', credit: "Ann", rights }, { url: "http://b.example/old%20town.tif" }, { url: "http://c.example/3" }, { url: "http://d.example/4" }]);
  const [one, two] = [await end("shown", "http://a.example/one.tif"), await end("shown", "http://b.example/old%20town.tif")];
  await end("shown", "http://c.example/3", { "gave-up": { failure: { code: "source-not-found", message: "Nothing." } } });
  const { homepage, seeAlso, ...rest } = await collection("shown");
  const by = (line) => ({ label: { en: ["Attribution"] }, value: { none: [line] } });
  const thumbnail = (id) => [{ id: `${ORIGIN}/${id}/thumbnail.jpg`, type: "Image", format: "image/jpeg" }];
  assert.deepEqual(rest, {
    "@context": PRESENTATION,
    id: `${ORIGIN}/iiif/collection/shown`,
    type: "Collection",
    label: { none: ["<i>Drawings</i> "] },
    requiredStatement: by("Museum"),
    rights,
    items: [
      { id: manifest(one), type: "Manifest", label: { none: ['A "bridge"'] }, thumbnail: thumbnail(one), requiredStatement: by("Ann"), rights },
      { id: manifest(two), type: "Manifest", label: { none: ["old town.tif"] }, thumbnail: thumbnail(two) },
    ],
  });
  assert.deepEqual([homepage[0].id, seeAlso[0].id], [`${ORIGIN}/c/shown`, `${ORIGIN}/iiif/activity/shown`]);
  assert.equal((await system.request(manifest(one).replace(ORIGIN, ""))).status, 200);
  await system.operate("takedown", { target: one, reason: "A reason" });
  assert.deepEqual((await collection("shown")).items.map(({ id }) => id), [manifest(two)]);
});

test("a large Collection has parts of 1,000 that stay as they are when entries come", async () => {
  await put("large", {});
  await add("large", [{ url: `${FIRST}1` }, ...fillers(1400), { url: `${FIRST}2` }]);
  const [one, two] = [await end("large", `${FIRST}1`), await end("large", `${FIRST}2`)];
  const parts = async () => (await collection("large")).items.map(({ id, type, label }) => [id, type, label.none[0]]);
  const part = (number) => [`${ORIGIN}/iiif/collection/large/${number}`, "Collection", `large ${number * 1000 - 999}–${number * 1000}`];
  assert.deepEqual(await parts(), [part(1), part(2)]);
  const first = await collection("large/1");
  assert.deepEqual(first.partOf, [{ id: `${ORIGIN}/iiif/collection/large`, type: "Collection" }]);
  assert.deepEqual(first.items.map(({ id }) => id), [manifest(one)]);
  await add("large", fillers(1000));
  assert.deepEqual(await parts(), [part(1), part(2), part(3)]);
  assert.deepEqual(await collection("large/1"), first);
  assert.deepEqual((await collection("large/2")).items.map(({ id }) => id), [manifest(two)]);
  assert.deepEqual((await collection("large/3")).items, []);
  for (const path of ["large/4", "large/0", "large/99999999999999999999", "unknown", "unknown/1"]) {
    for (const kind of ["collection", "activity"]) assert.equal((await system.request(`/iiif/${kind}/${path}`)).status, 404, `${kind}/${path}`);
  }
});

test("changes are pages of the journal, from the first to the last, without what was never public", async () => {
  await put("changing", { rights: "http://creativecommons.org/licenses/by/4.0/" });
  assert.deepEqual(await activity("changing"), { "@context": DISCOVERY, id: `${ORIGIN}/iiif/activity/changing`, type: "OrderedCollection", totalItems: 0, rights: "http://creativecommons.org/licenses/by/4.0/" });
  await add("changing", [1, 2, 3].map((number) => ({ url: FIRST + number })));
  const [one, two] = [await end("changing", `${FIRST}1`), await end("changing", `${FIRST}2`)];
  // Between these pages of the journal is one that nobody may read.
  await add("changing", fillers(2500));
  const three = await end("changing", `${FIRST}3`);
  await add("changing", [{ id: two, title: "Edited" }]);
  const { first, last, totalItems } = await activity("changing");
  assert.deepEqual([first.type, last.type, totalItems], ["OrderedCollectionPage", "OrderedCollectionPage", 3]);
  const [earlier, later] = [await read(first.id, DISCOVERY), await read(last.id, DISCOVERY)];
  const endTime = new Date(system.now()).toISOString().replace(/\.\d+/, "");
  const activities = ({ orderedItems }) => orderedItems.map(({ type, object, endTime: at }) => {
    assert.equal(object.type, "Manifest");
    assert.match(at, /^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.ok(at <= endTime);
    return [type, object.id];
  });
  assert.deepEqual([earlier.type, activities(earlier), earlier.prev, earlier.next], ["OrderedCollectionPage", [["Create", manifest(one)]], undefined, last]);
  assert.deepEqual([activities(later), later.prev, later.next], [[["Create", manifest(three)], ["Update", manifest(two)]], first, undefined]);
  assert.deepEqual(later.partOf, { id: `${ORIGIN}/iiif/activity/changing`, type: "OrderedCollection" });
  const skipped = Number(/\d+$/.exec(first.id)[0]) + 1;
  assert.equal((await system.request(`/iiif/activity/changing/${skipped}`)).status, 404);
  // A harvester hears of removals and takedowns.
  await add("changing", [{ id: one, remove: true }]);
  await system.operate("takedown", { target: three, reason: "A reason" });
  const now = await activity("changing");
  assert.deepEqual(now.first, now.last);
  assert.deepEqual(activities(await read(now.last.id, DISCOVERY)), [["Update", manifest(two)], ["Delete", manifest(one)], ["Delete", manifest(three)]]);
});

test("public documents are kept for a minute, and known ones are not sent again", async () => {
  await put("cached", {});
  const path = "/iiif/collection/cached";
  const { headers: first, body } = await system.send(path);
  assert.equal(first.get("cache-control"), "public, max-age=60");
  const tag = first.get("etag");
  const again = await system.send(path, { headers: { "If-None-Match": `"other", W/${tag}` } });
  assert.deepEqual([again.status, again.body, again.headers.get("etag")], [304, "", tag]);
  const head = await system.send(path, { method: "HEAD" });
  assert.deepEqual([head.status, head.body, head.headers.get("etag")], [200, "", tag]);
  assert.equal((await system.send(`${path}/`)).body, body);
  assert.equal((await system.request(path, { method: "POST", body: "x" })).status, 405);
  await system.request("/v1/collections/cached", { method: "DELETE", headers });
  assert.equal((await system.request(path)).status, 404, "it is being deleted");
});
