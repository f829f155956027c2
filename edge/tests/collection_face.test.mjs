// A collection as the public sees it: its page, its oEmbed, its IIIF Collection and its changes by IIIF Change Discovery.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DZI } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { ORIGIN, startWithClock } from "./system.mjs";

/** An entry module whose collections count the rows that they read. `/rows` returns the number since the last time. */
const COUNTING = `
  import edge, { CollectionObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  let cursors = [];

  export class CollectionObject extends Inner {
    constructor(state, env) {
      const { sql } = state.storage;
      const exec = (...of) => {
        const cursor = sql.exec(...of);
        cursors.push(cursor);
        return cursor;
      };
      Object.defineProperty(state.storage, "sql", { value: { exec } });
      super(state, env);
    }
  }

  export default {
    ...edge,
    queue() {},
    fetch(request, env, context) {
      if (new URL(request.url).pathname !== "/rows") return edge.fetch(request, env, context);
      const rows = cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
      cursors = [];
      return Response.json(rows);
    },
  };
`;
const headers = { Authorization: "Bearer a key that its owner has made: 0123456789abcdef" };
const PRESENTATION = "http://iiif.io/api/presentation/3/context.json";
const DISCOVERY = "http://iiif.io/api/discovery/1/context.json";
/** Hosts whose entries begin before those of others. */
const FIRST = "http://0.example/";

let system;
aroundTests(async () => (system = await startWithClock({}, COUNTING)), () => system.close());

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

test("the page has title, card and first previews for programs that run no scripts", async () => {
  await put("paged", { title: 'Drawings & <b>"maps"</b>', credit: "Museum", rights: "http://creativecommons.org/licenses/by/4.0/" });
  await add("paged", [{ url: "http://a.example/1.tif", title: "</script><b>", alt: "A \"bridge\"" }, { url: "http://b.example/2.tif" }, { url: "http://c.example/3.tif" }]);
  const [one, two] = [await end("paged", "http://a.example/1.tif"), await end("paged", "http://b.example/2.tif")];
  const { status, type, body, headers: sent } = await system.send("/c/paged");
  assert.deepEqual([status, type, sent.get("cache-control")], [200, "text/html; charset=utf-8", "public, max-age=60"]);
  assert.match(sent.get("content-security-policy"), /script-src http:\/\/zoom.test\/assets\/;.*frame-ancestors 'none'$/);
  const title = "Drawings &amp; &lt;b&gt;&quot;maps&quot;&lt;/b&gt;";
  for (const part of [
    `<title>${title} – Edgezoom</title>`,
    `<meta property="og:title" content="${title}">`,
    `<meta name="description" content="2 pictures. Museum">`,
    `<meta property="og:image" content="${ORIGIN}/${one}/preview.jpg">`,
    `<meta property="og:image:alt" content="A &quot;bridge&quot;">`,
    `<link rel="alternate" type="application/json+oembed" href="${ORIGIN}/oembed?url=${encodeURIComponent(`${ORIGIN}/c/paged`)}&amp;format=json" title="${title}">`,
    `<link rel="alternate" type="application/ld+json" href="${ORIGIN}/iiif/collection/paged" title="${title}">`,
    `<li><a class="entry" href="/${one}"><img src="/${one}/thumbnail.jpg" alt="A &quot;bridge&quot;" decoding="async" width="160" height="146"><b>&lt;/script&gt;&lt;b&gt;</b></a></li>`,
    `<b>2.tif</b></a></li></ul>`,
    `<a href="http://creativecommons.org/licenses/by/4.0/" rel="license">`,
  ]) assert.ok(body.includes(part), `${part} is not in ${body}`);
  const { counts, last } = JSON.parse(/<script type="application\/json" id="collection">(.*)<\/script>/.exec(body)[1]);
  assert.deepEqual([counts.ready, counts.converting, last], [2, 1, 8]);
  assert.ok(body.includes(`href="/${two}"`) && body.includes('id="owner"'));
  const framed = await system.send("/c/paged/embed");
  assert.match(framed.headers.get("content-security-policy"), /frame-ancestors \*$/);
  assert.ok(framed.body.includes('<base target="_blank">') && !framed.body.includes('id="owner"'));
  await system.operate("takedown", { target: one, reason: "A reason" });
  assert.ok(!(await system.send("/c/paged")).body.includes(one));
});

test("an unknown collection's page is a 404, and other paths are no pages of collections", async () => {
  for (const path of ["/c/unknown", "/c/unknown/", "/c/-ab", "/c/unknown/embed"]) {
    const { status, type, body } = await system.send(path);
    assert.deepEqual([status, type], [404, "text/html; charset=utf-8"], path);
    assert.match(body, /There is no collection of this name/);
  }
  for (const path of ["/c/", "/c/Drawings", "/c/ab", "/c/unknown/entries", "/collection"]) assert.doesNotMatch((await system.send(path)).body, /collection of this name/, path);
  assert.equal((await system.send("/c/unknown", { method: "POST", body: "x" })).status, 405);
});

test("oEmbed of a collection's page is a frame, with the first preview", async () => {
  await put("embedded", { title: 'A "title" & more', credit: "Museum" });
  await add("embedded", [{ url: "http://a.example/embedded.tif" }]);
  const embed = async (query, link = `${ORIGIN}/c/embedded`) => system.send(`/oembed?url=${encodeURIComponent(link)}${query}`);
  const frame = `<iframe src="${ORIGIN}/c/embedded/embed" width="800" height="600" title="A &quot;title&quot; &amp; more" frameborder="0" loading="lazy"></iframe>`;
  const known = { type: "rich", version: "1.0", title: 'A "title" & more', provider_name: "Edgezoom", provider_url: `${ORIGIN}/`, cache_age: 3600, author_name: "Museum" };
  const empty = await embed("");
  assert.equal(empty.type, "application/json; charset=utf-8");
  assert.deepEqual(JSON.parse(empty.body), { ...known, width: 800, height: 600, html: frame });
  const id = await end("embedded", "http://a.example/embedded.tif");
  const thumbnail = (name, width, height) => ({ thumbnail_url: `${ORIGIN}/${id}/${name}.jpg`, thumbnail_width: width, thumbnail_height: height });
  assert.deepEqual(JSON.parse((await embed("&format=json")).body), { ...known, width: 800, height: 600, html: frame, ...thumbnail("preview", 1200, 900) });
  const small = JSON.parse((await embed("&maxwidth=400&maxheight=300")).body);
  assert.deepEqual([small.width, small.height, small.thumbnail_url], [400, 300, `${ORIGIN}/${id}/thumbnail.jpg`]);
  const xml = await embed("&format=xml", `${ORIGIN}/c/embedded/?x#y`);
  assert.equal(xml.type, "text/xml; charset=utf-8");
  assert.match(xml.body, /^<\?xml version="1.0" encoding="UTF-8"\?><oembed>.*<html>&lt;iframe .*<title>A &quot;title&quot; &amp; more<\/title>.*<\/oembed>$/);
  assert.equal((await embed("&format=yaml")).status, 501);
  for (const link of ["http://other.test/c/embedded", `${ORIGIN}/c/unknown`, "http://other.test/x/c/embedded"]) assert.equal((await embed("", link)).status, 404, link);
  const source = JSON.parse((await embed("", `${ORIGIN}/?url=http://a.example/c/embedded`)).body);
  assert.match(source.html, /zoom.test\/[0-9A-Za-z]{11}\/embed/, "a picture whose address has the same end");
});

test("titles are searched without case and accents, by all words or their beginnings", async () => {
  await put("searched", {});
  const titles = ["Große Brücke über die Elbe", "A Bridge at Dresden", "世界地图", "", "Bridge OR tunnel", "Never ready bridge"];
  await add("searched", titles.map((title, index) => ({ url: `http://s${index}.example/old_town%20map.tif`, title })));
  const ids = [];
  for (const index of [0, 1, 2, 3, 4]) ids.push(await end("searched", `http://s${index}.example/old_town%20map.tif`));
  const find = async (query, more = "") => {
    const { status, body } = await system.send(`/v1/collections/searched/entries?q=${encodeURIComponent(query)}${more}`);
    assert.equal(status, 200, body);
    return body.split("\n").filter(Boolean).map((line) => ids.indexOf(JSON.parse(line).id));
  };
  for (const [query, found] of [
    ["brucke", [0]],
    ["GROSSE  elb", [0]],
    ["bridge", [1, 4]],
    ["brid dres", [1]],
    ["ridge", []],
    ["地图", [2]],
    ["图地", []],
    ["town map", [3]],
    ["tif", [3]],
    ["bridge OR", [4]],
    ['"bridge" NOT tunnel*', []],
    ['bridge"', [1, 4]],
    ["a", [1]],
    ["- * \" ( )", []],
    ["title:bridge", []],
    ["x".repeat(5000), []],
  ]) assert.deepEqual(await find(query), found, query);
  assert.deepEqual([await find("bridge", "&limit=1"), await find("bridge", "&limit=1&after=2"), await find("bridge", "&after=5")], [[1], [4], []]);
  assert.deepEqual([await find("bridge", "&state=ready"), await find("bridge", "&state=removed")], [[1, 4], []]);
  assert.equal((await find(" ")).length, 5, "no words");
  await add("searched", [{ id: ids[1], title: "A Ferry" }, { id: ids[4], remove: true }, { id: ids[3], title: "Bridge" }]);
  assert.deepEqual([await find("bridge"), await find("ferry"), await find("town")], [[3], [1], []]);
  await system.operate("takedown", { target: ids[3], reason: "A reason" });
  assert.deepEqual(await find("bridge"), []);
});

test("a stranger's request reads few rows, whatever is not public", async () => {
  await put("hidden", {});
  await add("hidden", [...fillers(3000), { url: `${FIRST}hidden`, title: "Found" }, ...fillers(1500)]);
  await end("hidden", `${FIRST}hidden`);
  const rows = async (path) => {
    await system.send("/rows");
    const { status, body } = await system.send(path);
    assert.equal(status, 200, path);
    return { body, read: Number((await system.send("/rows")).body) };
  };
  for (const query of ["", "?order=added", "?state=ready", "?order=added&state=ready", "?q=found"]) {
    const { body, read } = await rows(`/v1/collections/hidden/entries${query}`);
    assert.match(body, /"title":"Found"/);
    assert.ok(read < 20, `${query}: ${read} rows`);
  }
  for (const path of ["/c/hidden", "/iiif/collection/hidden/4", "/iiif/activity/hidden"]) {
    const { read } = await rows(path);
    assert.ok(read <= 1010, `${path}: ${read} rows`);
  }
});

test("a client has as many searches in a minute as in pictures", async () => {
  await put("often", {});
  const search = async (address) => (await system.send("/v1/collections/often/entries?q=x", { headers: { "CF-Connecting-IP": address } })).status;
  for (let time = 0; time < 20; time += 1) assert.equal(await search("203.0.113.7"), 200);
  assert.equal(await search("203.0.113.7"), 429);
  assert.equal(await search("203.0.113.8"), 200);
});
