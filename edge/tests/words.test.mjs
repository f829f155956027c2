// The words of a picture: their forms, the pages of a document as images and canvases of IIIF, annotations, searches.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument } from "../text/document.js";
import { annotationsOf, searchIn } from "../src/text/text.js";
import { fold, searcher } from "../text/search.js";
import { decodePng, encodePng } from "../viewer/png.mjs";
import { archive, store, TEXT } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { countingCalls, startWithClock } from "./system.mjs";

/** Two pages of 600 × 800 pixels beside each other, the first one red and the second one blue. */
const DZI = { width: 1400, height: 900, tileSize: 512, tileOverlap: 0, tileFormat: "png" };
const [FIRST, SECOND] = [[50, 50, 600, 800], [750, 50, 600, 800]];
const PER_MINUTE = 20;
const paragraph = (...lines) => ({ role: "p", lines: lines.map(([at, text, spans = []]) => ({ at, text, spans })) });
const DOCUMENT = {
  version: 1,
  total: 2,
  pages: [
    { at: FIRST, label: "iv", blocks: [paragraph([[40, 60, 200, 20], "High tide"]), paragraph([[40, 100, 100, 20], "The nau\u00ad", [0, 30, 10, 60]], [[40, 130, 300, 20], "tical mile & <b>"])] },
    { at: SECOND, blocks: [paragraph([[10, 20, 200, 30], "High tidé, HIGH TIDE", [0, 40, 10, 40, 10, 40, 10, 50]]), { role: "img", at: [0, 300, 90, 80], alternative: "A chart of high tide" }] },
  ],
};
/** Returns a tile whose left half of the picture is red. */
function tile(level, column) {
  const scale = 2 ** (11 - level);
  const width = Math.min(512, Math.ceil(DZI.width / scale) - column * 512);
  const pixels = Buffer.alloc(width * 512 * 3);
  for (let at = 0; at < width * 512; at += 1) pixels[3 * at + ((column * 512 + (at % width)) * scale < 700 ? 0 : 2)] = 255;
  return (height) => encodePng({ width, height, channels: 3, pixels: pixels.subarray(0, width * height * 3) }, 1);
}
const fill = (level, column, row) => tile(level, column)(Math.min(512, Math.ceil(DZI.height / 2 ** (11 - level)) - row * 512));

let system;
let plain;
let id;
let base;
aroundTests(
  async () => {
    system = await startWithClock({ REGIONS: "on", DEVELOPMENT: "off" }, countingCalls(["PYRAMIDS"]));
    plain = await store(system, "http://example.com/plain.pdf", archive());
    id = await store(system, "http://example.com/tides.pdf", archive(fill, DZI, undefined, DOCUMENT), DZI);
    base = `${system.origin}/iiif/${id}`;
  },
  () => system.close(),
);

/** Returns the calls of R2 since the last time. */
const reads = async () => JSON.parse((await system.send("/calls")).body);
let clients = 0;
/** Returns a request from an address of its own, so that no test uses up the limit of another. */
const someone = (headers) => ({ headers: { "CF-Connecting-IP": `198.51.100.${(clients += 1)}`, ...headers } });
const json = async (path) => JSON.parse((await system.send(path.replace(system.origin, ""), someone())).body);

test("the words are one read, with gzip for a client that accepts it and unpacked for others", async () => {
  const address = `/v1/content/${plain}/text`;
  const content = await system.find(plain);
  assert.deepEqual([content.text, content.pages], [`${system.origin}${address}`, 1]);
  await reads();
  for (const accepted of ["gzip, br", "identity"]) {
    const response = await system.fetch(address, { headers: { "Accept-Encoding": accepted } });
    // Miniflare unpacks what has a coding.
    assert.deepEqual(await response.json(), TEXT);
    const header = (name) => response.headers.get(name);
    assert.deepEqual(
      ["Content-Type", "Access-Control-Allow-Origin", "Vary", "Cache-Control"].map(header),
      ["application/json; charset=utf-8", "*", "Accept, Accept-Encoding", "public, max-age=3600"],
    );
    assert.deepEqual(await reads(), ["PYRAMIDS.get"]);
    const known = await system.send(address, { headers: { "If-None-Match": header("ETag") } });
    const head = await system.send(address, { method: "HEAD" });
    assert.deepEqual([known.status, head.status, await reads()], [304, 200, []]);
  }
  const { id: waiting } = await system.ask("http://example.com/without-words.pdf");
  for (const other of [waiting, "00000000000"]) {
    for (const path of ["text", "search?q=a"]) assert.equal((await system.send(`/v1/content/${other}/${path}`)).status, 404);
  }
});

test("the words are plain text or a page by Accept, and at addresses of their own", async () => {
  const text = (await system.send(`/v1/content/${plain}/text`, { headers: { Accept: "text/plain" } }));
  assert.deepEqual([text.status, text.type, text.body], [200, "text/plain; charset=utf-8", "two words"]);
  const page = await system.send(`/v1/content/${plain}/text`, { headers: { Accept: "text/html, */*;q=0.8" } });
  assert.deepEqual([page.status, page.type, page.body], [200, "text/html; charset=utf-8", "<!doctype html><title>two words</title>"]);
  assert.match(page.headers.get("Content-Security-Policy"), /^default-src 'none'; .* frame-ancestors 'none'$/);
  assert.equal(page.headers.get("Link"), `<${system.origin}/${plain}>;rel="canonical"`);
  for (const [path, same] of [["text", page], ["text.txt", text]]) {
    const { status, type, body } = await system.send(`/${plain}/${path}`);
    assert.deepEqual([status, type, body], [200, same.type, same.body], path);
  }
  const share = (await system.send(`/${plain}`)).body;
  assert.ok(share.includes(`<a href="${system.origin}/${plain}/text">Words in the picture</a>`));
});

test("each page is a canvas with an image of its own, its lines are annotations, and there are two searches", async () => {
  const manifest = await json(`/iiif/${id}/manifest.json`);
  assert.deepEqual(manifest.items.map(({ id, label, width, height }) => [id, label.none, width, height]), [
    [`${base}/canvas/1`, ["iv"], 600, 800],
    [`${base}/canvas/2`, ["2"], 600, 800],
  ]);
  const [{ body, target }] = manifest.items[1].items[0].items;
  assert.deepEqual([body.id, body.service[0].id, target], [`${base}:2/full/max/0/default.jpg`, `${base}:2`, `${base}/canvas/2`]);
  assert.deepEqual(manifest.rendering.map(({ format }) => format), ["application/zip", "text/html", "text/plain"]);
  for (const { id } of manifest.rendering) assert.equal((await system.send(id.replace(system.origin, ""))).status, 200, id);
  const search = `${system.origin}/v1/content/${id}/search`;
  assert.deepEqual(manifest.service.map((service) => service.id ?? service["@id"]), [search, `${search}/1`]);
  const lines = await json(manifest.items[0].annotations[0].id);
  assert.deepEqual([lines.id, lines.type], [manifest.items[0].annotations[0].id, "AnnotationPage"]);
  assert.deepEqual(lines.items.map(({ motivation, textGranularity, body, target }) => [motivation, textGranularity, body.value, target]), [
    ["supplementing", "line", "High tide", `${base}/canvas/1#xywh=40,60,200,20`],
    ["supplementing", "line", "The nau-", `${base}/canvas/1#xywh=40,100,100,20`],
    ["supplementing", "line", "tical mile & <b>", `${base}/canvas/1#xywh=40,130,300,20`],
  ]);
  // A picture of one page stays one canvas.
  const whole = await json(`/iiif/${plain}/manifest.json`);
  assert.deepEqual(whole.items.map(({ id, width, annotations }) => [id, width, annotations.length]), [[`${system.origin}/iiif/${plain}/canvas/1`, 16_000, 1]]);
  for (const path of [`${plain}:1/info.json`, `${id}:3/info.json`, `${id}/annotations/3.json`]) assert.equal((await system.send(`/iiif/${path}`, someone())).status, 404, path);
});

test("a page is rendered from its part of the picture", async () => {
  const info = await json(`${base}:2/info.json`);
  assert.deepEqual([info.id, info.width, info.height, info.tiles[0].width], [`${base}:2`, 600, 800, 1024]);
  for (const [number, colour] of [[1, [255, 0, 0]], [2, [0, 0, 255]]]) {
    const path = `/iiif/${id}:${number}/0,0,600,800/300,400/0/default.png`;
    const response = await system.fetch(path, someone());
    assert.equal(response.status, 200);
    assert.match(response.headers.get("Link"), new RegExp(`<${base}:${number}/full/300,400/0/default.png>;rel="canonical"`));
    const { width, height, pixels } = decodePng(Buffer.from(await response.arrayBuffer()));
    assert.deepEqual([width, height], [300, 400]);
    for (const at of [0, 3 * (150 + 200 * 300), 3 * (300 * 400 - 1)]) assert.deepEqual([...pixels.subarray(at, at + 3)], colour, `page ${number}`);
  }
  await reads();
  const again = await system.fetch(`/iiif/${id}:2/full/300,400/0/default.png`, someone({ "Through-Cache": "1" }));
  assert.deepEqual([again.status, await reads()], [200, []], "the platform's cache has it");
  const redirect = await system.send(`/iiif/${id}:2`, someone());
  assert.deepEqual([redirect.status, redirect.headers.get("Location")], [303, `${base}:2/info.json`]);
});

test("the card of a page, or of words in it, shows them", async () => {
  const card = async (query) => /<meta property="og:image" content="([^"]+)">/.exec((await system.send(`/${id}${query}`)).body)[1].replace(`${system.origin}/${id}`, "");
  assert.match(await card("?page=2"), /^\/at\/1050,\d+,1\.jpg$/);
  // The first place of the words, in a column of the card's width.
  assert.equal(await card("?q=high%20tide"), await card("?q=HIGH%20Tide&page=1"));
  assert.match(await card("?q=high%20tide"), /^\/at\/\d+,\d+,[\d.]+\.jpg$/);
  assert.notEqual(await card("?q=high%20tide"), await card("?q=high%20tide&page=2"));
  for (const query of ["", "?page=3", "?page=0", "?q=absent", "?q=%20"]) assert.equal(await card(query), "/preview.jpg", query);
});

test("a search finds words over hyphens and accents, with their places, in three reads", async () => {
  await reads();
  const found = await json(`/v1/content/${id}/search?q=HIGH%20tide`);
  assert.deepEqual(await reads(), ["PYRAMIDS.get", "PYRAMIDS.get", "PYRAMIDS.get"]);
  assert.deepEqual([found["@context"], found.type, found.partOf.total, found.startIndex], ["http://iiif.io/api/search/2/context.json", "AnnotationPage", 4, 0]);
  assert.deepEqual(found.items.map(({ body, target }) => [body.value, target.replace(base, "")]), [
    ["High tide", "/canvas/1#xywh=40,60,200,20"],
    ["High tidé", "/canvas/2#xywh=10,20,82,30"],
    ["HIGH TIDE", "/canvas/2#xywh=110,20,100,30"],
    ["A chart of high tide", "/canvas/2#xywh=0,300,90,80"],
  ]);
  const [{ target }] = found.annotations[0].items.slice(1);
  assert.deepEqual(target, { type: "SpecificResource", source: found.items[1].id, selector: [{ type: "TextQuoteSelector", prefix: "", exact: "High tidé", suffix: ", HIGH TIDE" }] });
  const divided = await json(`/v1/content/${id}/search?q=nautical`);
  assert.deepEqual(divided.items.map(({ target }) => target.replace(base, "")), ["/canvas/1#xywh=80,100,60,20", "/canvas/1#xywh=40,130,94,20"]);
  assert.equal(divided.annotations[0].items.length, 1);
  const later = await json(`/v1/content/${id}/search?q=tide&from=2`);
  assert.deepEqual([later.startIndex, later.partOf.total, later.items.length], [1, 4, 3]);
  for (const query of ["", "?q=", "?q=nothing"]) assert.deepEqual((await json(`/v1/content/${id}/search${query}`)).items, [], query);
});

test("the first version of the search has the same hits", async () => {
  const found = await json(`/v1/content/${id}/search/1?q=tide`);
  assert.deepEqual([found["@type"], found.within.total, found.resources.length, found.hits.length], ["sc:AnnotationList", 4, 4, 4]);
  const [{ match, before, annotations }] = found.hits;
  assert.deepEqual([match, before, annotations], ["tide", "High ", [found.resources[0]["@id"]]]);
  assert.match(found.resources[0].on, new RegExp(`^${base}/canvas/1#xywh=\\d+,60,\\d+,20$`));
});

test("a search returns ten pages and the address of the next ones", async () => {
  const page = { at: [0, 0, 100, 100], blocks: [paragraph([[0, 0, 90, 10], "tide and tide"])] };
  const many = { version: 1, total: 25, pages: Array(25).fill(page) };
  const long = await store(system, "http://example.com/long.pdf", archive(fill, DZI, undefined, many), DZI);
  let [next, seen] = [`/v1/content/${long}/search?q=tide`, []];
  while (next) {
    const found = await json(next);
    assert.equal(found.startIndex, 2 * new Set(seen).size);
    seen.push(...new Set(found.items.map(({ target }) => Number(/canvas\/(\d+)#/.exec(target)[1]))));
    assert.ok(found.items.length <= 20);
    next = found.next?.id;
  }
  assert.deepEqual(seen, Array.from({ length: 25 }, (_, index) => index + 1));
});

test("a client may search as often as it may ask for regions, and what it asks for is no markup", async () => {
  const client = someone();
  const answers = [];
  while (answers.length <= PER_MINUTE) answers.push((await system.send(`/v1/content/${id}/search?q=${answers.length}`, client)).status);
  assert.deepEqual(answers, [...Array(PER_MINUTE).fill(200), 429]);
  for (const path of ["manifest.json", "annotations/1.json"]) assert.equal((await system.send(`/iiif/${id}/${path}`, client)).status, 429, path);
  const hostile = await system.send(`/v1/content/${id}/search?q=${encodeURIComponent(`"><script>`)}`, someone());
  assert.match(hostile.type, /^application\/ld\+json/);
  assert.ok(!hostile.body.includes("<script>"), hostile.body);
});

test("a search folds each letter of a line once, however many hits the line has", () => {
  const text = "é".repeat(20_000) + " tide".repeat(600);
  const document = readDocument({ pages: [{ at: [0, 0, 9, 9], blocks: [{ lines: [{ at: [0, 0, 9, 9], text }] }] }] });
  const { normalize } = String.prototype;
  let folded = 0;
  String.prototype.normalize = function (...form) {
    folded += 1;
    return normalize.apply(this, form);
  };
  try {
    const hits = searcher(document)("tide");
    assert.deepEqual([hits.length, hits[0].parts[0].from, hits[499].parts[0].to], [500, 20_001, 20_000 + 5 * 500]);
  } finally {
    String.prototype.normalize = normalize;
  }
  assert.ok(folded < 100, `${folded}`);
});

test("the letters of a text are folded together as one by one", () => {
  const letters = Array.from({ length: 0x32400 }, (_, code) => String.fromCodePoint(code)).filter((letter) => !/[\ud800-\udfff]$/.test(letter) || letter.length === 2);
  let state = 1;
  const random = (below) => Math.floor(((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below);
  for (let texts = 0; texts < 1000; texts += 1) {
    // Half of them from blocks with marks, whose order a normalisation changes.
    const text = Array.from({ length: 30 }, () => letters[random(2) ? random(letters.length) : 0x300 + random(0x1800)]);
    // With what is composed with them.
    const parts = text.join("").match(/[^][\p{M}\u1160-\u11ff\uff9e\uff9f]*/gu);
    assert.equal(fold(text.join("")), parts.map(fold).join(""), JSON.stringify(text));
  }
});

/** Returns a store with one page of lines, and what is asked about it. */
function stored(...texts) {
  const page = { at: [0, 0, 1000, 1000], blocks: [paragraph(...texts.map((text, index) => [[0, 30 * index, 500, 20], text]))] };
  const { object, text } = archive(() => "", { ...DZI, width: 1, height: 1 }, undefined, { version: 1, total: 1, pages: [page] });
  const part = ({ offset, length }) => object.subarray(offset, offset + length);
  const get = async (_, { range }) => ({ body: new Blob([part(range)]).stream(), arrayBuffer: async () => new Uint8Array(part(range)).buffer });
  const place = ({ offset, length }) => [offset, length];
  const { pages } = JSON.parse(part(text.table));
  const asked = { base: "b", archive: "a", json: place(text.json), plain: place(text.plain), plainBytes: text.plain_bytes, hasCanvases: true, pages };
  return { bucket: { get }, asked };
}

test("annotations have the hyphens that are seen", async () => {
  const lines = ["Das ist Donau\u00addampf", "an exam\u00ad", "ple", "数字图\u00ad", "书馆：“\u00ad", "ガイド\u00ad", "한국\u00ad"];
  const { bucket, asked } = stored(...lines);
  const { items } = JSON.parse(await annotationsOf(bucket, JSON.stringify({ ...asked, number: 1 })));
  assert.deepEqual(items.map(({ body }) => body.value), ["Das ist Donaudampf", "an exam-", "ple", "数字图", "书馆：“", "ガイド", "한국-"]);
});

test("quoted words are joined as they are read, and no letter is cut", async () => {
  const quoted = async (query, ...lines) => {
    const { bucket, asked } = stored(...lines);
    const { annotations } = JSON.parse(await searchIn(bucket, JSON.stringify({ ...asked, query, from: 1, address: "s", version: 2 })));
    const [{ prefix, exact, suffix }] = annotations[0].items[0].target.selector;
    return [prefix, exact, suffix];
  };
  assert.deepEqual(await quoted("图书馆", "数字图书", "馆检索"), ["数字", "图书馆", "检索"]);
  assert.deepEqual(await quoted("well-known", "a well-", "known fact"), ["a ", "well-known", " fact"]);
  assert.deepEqual(await quoted("two lines", "su\u00adch two", "lines"), ["such ", "two lines", ""]);
  const [fish, whales] = ["🐟".repeat(120), "🐋".repeat(60)];
  const [prefix, exact, suffix] = await quoted(`x${fish}y`, `${whales}ax${fish}yb${whales}`);
  assert.deepEqual([prefix.length, exact.length, suffix.length], [39, 199, 39]);
  assert.ok([prefix, exact, suffix].every((part) => part.isWellFormed()), JSON.stringify([prefix, exact, suffix]));
});

test("searches and annotations of very many words and pictures answer less than a megabyte", async () => {
  const place = [0, 0, 90, 10];
  const lines = (count) => ({ role: "p", lines: Array.from({ length: count }, () => ({ at: place, text: "seen ".repeat(10).trim() })) });
  const long = Array.from({ length: 400 }, () => ({ at: place, text: `s${"\u0301".repeat(2000)}een` }));
  const pictures = (count, words) => Array.from({ length: count }, () => ({ role: "img", at: place, alternative: "seen ".repeat(words).trim() }));
  // The others are one page each with ten times as many lines and pictures: a tiler stores 2,000 pictures at most.
  const documents = [[[lines(400)], [{ role: "p", lines: long }], pictures(2000, 200)], [[lines(4000)]], [pictures(20_000, 1)]];
  const accents = `s${"\u0301".repeat(2500)}`;
  for (const [number, blocks] of documents.entries()) {
    const pages = blocks.map((blocks) => ({ at: [0, 0, 100, 100], blocks }));
    const many = await store(system, `http://example.com/many-${number}.pdf`, archive(fill, DZI, undefined, { version: 1, total: pages.length, pages }), DZI);
    const annotations = await system.send(`/iiif/${many}/annotations/1.json`, someone());
    assert.ok(annotations.status === 200 && annotations.body.length < 1e6, `${annotations.body.length}`);
    assert.ok(number === 2 || JSON.parse(annotations.body).items.length >= 400);
    for (const version of ["", "/1"]) {
      for (const query of ["seen", accents, ...pages.slice(1).map((_, index) => `seen&from=${index + 2}`)]) {
        const { status, body } = await system.send(`/v1/content/${many}/search${version}?q=${query}`, someone());
        assert.equal(status, 200, query);
        assert.ok(JSON.parse(body)[version ? "hits" : "items"].length > 0, query);
        assert.ok(body.length < 1e6, `${query}: ${body.length}`);
      }
    }
  }
});

test("a page whose words take more memory than the Worker has is refused, and its pages are searched one by one", async () => {
  const page = (letters, spans = []) => ({ at: [0, 0, 100, 100], blocks: [{ role: "p", lines: [{ at: [0, 0, 90, 10], text: "tide".padEnd(letters, "."), spans }] }] });
  const large = await store(system, "http://example.com/large.pdf", archive(fill, DZI, undefined, { version: 1, total: 2, pages: [page(4, Array(2_500_000).fill(10)), page(4), page(1 << 21), page(1 << 21)] }), DZI);
  assert.equal((await system.send(`/iiif/${large}/annotations/1.json`, someone())).status, 503);
  assert.equal((await system.send(`/iiif/${large}/annotations/2.json`, someone())).status, 200);
  const found = await json(`/v1/content/${large}/search?q=tide&from=2`);
  assert.deepEqual([found.items.length, found.next?.id.replace(/.*from=/, "")], [1, "3"]);
});
