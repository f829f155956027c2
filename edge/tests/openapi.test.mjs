// Compares the OpenAPI document with the Worker's responses, and checks the pages that are built from it.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { assertMatches, components, example, paths } from "./openapi.mjs";
import { archive, store } from "./archive.mjs";
import { PICTURE, start } from "./system.mjs";

const built = (name) => readFile(new URL(`../build/assets/${name}`, import.meta.url), "utf8");
const ids = {};
let system;
let closed;
let open;

aroundTests(
  async () => {
    [system, closed, open] = await Promise.all([start({ REGIONS: "on" }), start({ MAINTENANCE: "on" }), start({ UPLOAD_BYTES: "100" })]);
    for (const state of ["queued", "rendering", "failed"]) ids[state] = await system.content(`http://example.com/${state}.jpg`, state);
    ids.ready = await store(system, "http://example.com/ready.jpg", archive(() => "0123456789", PICTURE, undefined, undefined, ["<svg/>", null]), PICTURE);
  },
  () => Promise.all([system.close(), closed.close(), open.close()]),
);

/** Checks a response against the document: its status, media type, headers and JSON. Returns the JSON. */
async function holds(path, target, { headers, from = system, method = "GET", body } = {}) {
  const answer = await from.send(target, { headers, method, body });
  const described = paths[path][method.toLowerCase()].responses[answer.status];
  assert.ok(described, `${target}: ${answer.status} is not described`);
  const mediaType = answer.type?.split(";")[0];
  if (answer.body === "") return;
  assert.ok(described.content[mediaType], `${target}: ${mediaType} is not described for ${answer.status}`);
  for (const name of Object.keys(described.headers ?? {})) assert.ok(answer.headers.has(name), `${target}: ${name}`);
  if (!mediaType.endsWith("json")) return;
  const value = JSON.parse(answer.body);
  assertMatches(described.content[mediaType].schema, value, target);
  return value;
}

test("every response of the two endpoints is described", async () => {
  const forms = ["", "format=json", "format=xml", "callback=cb"];
  for (const form of forms) {
    for (const id of [...Object.values(ids), "00000000000"]) await holds("/v1/content/{id}", `/v1/content/${id}?${form}`);
    for (const url of ["http%3A%2F%2Fexample.com%2Fready.jpg", "http%3A%2F%2Fexample.com%2Fqueued.jpg", "nonsense"]) {
      await holds("/v1/content/", `/v1/content/?url=${url}&${form}`);
    }
    await holds("/v1/content/", `/v1/content/?url=http%3A%2F%2Fexample.com%2Fnew&${form}`, { from: closed });
  }
  await holds("/v1/content/{id}", `/v1/content/${ids.ready}`, { headers: { Accept: "application/xml" } });
  await holds("/v1/content/{id}", `/v1/content/${ids.ready}?callback=1`);
});

test("every response of the other endpoints is described", async () => {
  const link = encodeURIComponent(`${system.origin}/${ids.ready}`);
  for (const query of [`url=${link}`, `url=${link}&format=xml`, `url=${link}&format=yaml`, "url=x", ""]) {
    await holds("/oembed", `/oembed?${query}`);
  }
  const page = (options) => `/oembed?url=${encodeURIComponent(`${system.origin}/?url=http%3A%2F%2Fexample.com%2Fpage&${options}`)}`;
  for (const options of ["web-width=390", "web-width=1"]) await holds("/oembed", page(options));
  await holds("/oembed", page("web-width=400").replace(encodeURIComponent(system.origin), encodeURIComponent(closed.origin)), { from: closed });
  await holds("/v1/content/{id}/events", `/v1/content/${ids.ready}/events`);
  await holds("/v1/content/{id}/events", `/v1/content/${ids.ready}/events`, { headers: { "Last-Event-ID": "finished" } });
  await holds("/v1/content/{id}/events", "/v1/content/00000000000/events");
  for (const id of [ids.ready, ids.queued, "00000000000"]) {
    await holds("/v1/content/{id}/text", `/v1/content/${id}/text`);
    await holds("/v1/content/{id}/search", `/v1/content/${id}/search?q=a`);
    await holds("/{id}/text", `/${id}/text`);
  }
  for (const id of [ids.ready, ids.queued, "00000000000"]) await holds("/v1/content/{id}/dzi.js", `/v1/content/${id}/dzi.js`);
  for (const name of ["preview", "thumbnail"]) await holds(`/{id}/${name}.jpg`, `/${ids.queued}/${name}.jpg`);
  for (const id of [ids.ready, ids.queued, ids.failed, "00000000000"]) {
    for (const form of ["", "format=json", "format=xml", "callback=cb", "callback=1"]) await holds("/v1/dzi/{id}", `/v1/dzi/${id}?${form}`);
    await holds("/{id}", `/${id}`);
    await holds("/{id}/embed", `/${id}/embed`);
    await holds("/{id}.js", `/${id}.js`);
  }
  for (const url of ["http%3A%2F%2Fexample.com%2Fready.jpg", "http%3A%2F%2Fexample.com%2Fqueued.jpg", "nonsense"]) {
    for (const form of ["", "format=json", "format=xml", "callback=cb"]) await holds("/v1/dzi/", `/v1/dzi/?url=${url}&${form}`);
  }
  const [descriptor, tile] = ["/cache/{id}/{attempt}.dzi", "/cache/{id}/{attempt}_files/{level}/{column}_{row}.{format}"];
  for (const attempt of [1, 2]) {
    await holds(descriptor, `/cache/${ids.ready}/${attempt}.dzi`);
    for (const Range of ["x", "bytes=0-1", "bytes=99-"]) await holds(tile, `/cache/${ids.ready}/${attempt}_files/0/0_0.jpg`, { headers: { Range } });
  }
  for (const id of [ids.ready, "00000000000"]) {
    await holds("/cache/{id}/{attempt}_files/vector/pages.json", `/cache/${id}/1_files/vector/pages.json`);
    for (const page of [0, 1]) await holds("/cache/{id}/{attempt}_files/vector/{page}.svg", `/cache/${id}/1_files/vector/${page}.svg`);
  }
  const image = "/iiif/{id}/{region}/{size}/{rotation}/{quality}.{format}";
  for (const id of [ids.ready, ids.queued, ids.failed, "00000000000"]) {
    for (const name of ["info.json", "manifest.json"]) await holds(`/iiif/{id}/${name}`, `/iiif/${id}/${name}`);
    for (const part of ["full/1,1", "full/max", "full/2", "0,0,9,9/99,99"]) await holds(image, `/iiif/${id}/${part}/0/default.jpg`);
    await holds("/{id}/at/{place}.jpg", `/${id}/at/500,400,6,90.jpg`);
  }
  await holds("/health", "/health");
  await holds("/version", "/version");
});

test("410 is described for every path of a content that is taken down", async () => {
  const url = "http://example.com/taken-down.jpg";
  const { id } = await (await system.admin("takedown", { target: url, reason: "why" })).json();
  const withRefusal = Object.entries(paths).filter(([, { get }]) => get?.responses[410]);
  assert.ok(withRefusal.length > 12, withRefusal.join());
  for (const [path, { get }] of withRefusal) {
    const examples = Object.fromEntries(get.parameters.map(({ name, example }) => [name, example]));
    const named = path.replace(/\{(\w+)\}/g, (_, name) => ({ ...examples, id })[name]);
    const query = { "/oembed": `?url=${encodeURIComponent(`${system.origin}/${id}`)}`, "/v1/content/": `?url=${url}`, "/v1/dzi/": `?url=${url}` }[path] ?? "";
    assert.equal((await system.send(named + query)).status, 410, path);
    await holds(path, named + query);
    for (const format of ["json", "xml"]) await holds(path, `${named}${query}${query ? "&" : "?"}format=${format}`);
  }
});

test("every response of uploads is described", async () => {
  const send = (path, target, init) => holds(path, target, { from: open, method: "POST", ...init });
  const headers = { "Content-Type": "image/png" };
  for (const form of ["", "format=json", "format=xml", "callback=cb", "callback=1"]) await send("/v1/content/", `/v1/content/?${form}`, { headers, body: "a file" });
  const plain = { "Content-Type": "application/x-www-form-urlencoded" };
  const json = { "Content-Type": "application/json" };
  for (const wrong of [{ body: "" }, { body: "a=b", headers: plain }, { body: '{"url":"http://example.com/a.jpg"}', headers: json }, { body: "x".repeat(101) }, { body: "x", headers: { Origin: "null" } }]) await send("/v1/content/", "/v1/content/", { headers, ...wrong });
  const { address } = await send("/v1/uploads/", "/v1/uploads/");
  const file = new URL(address).pathname;
  const [part, whole] = ["/v1/uploads/{file}/{number}", "/v1/uploads/{file}"];
  const { etag } = await send(part, `${file}/1`, { method: "PUT", body: "a file" });
  await send(part, `${file}/2`, { method: "PUT", body: "a file" });
  await send(part, `${file}x/1`, { method: "PUT", body: "a file" });
  await send(whole, file, { body: "{}" });
  // The message names the member in which each part's response has what the list needs.
  assert.match((await open.send(file, { method: "POST", body: "{}" })).body, /\{"parts":\["<etag of part 1>", …\]\}$/);
  await send(whole, `${file}x`, { body: JSON.stringify({ parts: [etag] }) });
  await send(whole, file, { body: JSON.stringify({ parts: [etag] }) });
  await send(whole, `${file}?format=xml`, { body: "" });
  const { id, deletionKey } = await send("/v1/content/", "/v1/content/", { headers, body: "to delete" });
  const byId = ["/v1/content/{id}", `/v1/content/${id}`];
  for (const key of ["", "Bearer wrong", `Bearer ${deletionKey}`]) await send(...byId, { method: "DELETE", headers: key ? { Authorization: key } : {} });
  await holds(...byId, { from: open });
  for (const [path, target, method = "POST"] of [["/v1/content/", "/v1/content/"], ["/v1/uploads/", "/v1/uploads/"], [whole, file], [part, `${file}/1`, "PUT"]]) await send(path, target, { method, body: "x", from: system });
});

test("every response of collections is described", async () => {
  const [path, entries] = ["/v1/collections/{name}", "/v1/collections/{name}/entries"];
  const headers = { Authorization: `Bearer ${"a key of its owner's own ".repeat(2)}` };
  const of = (from, target, init) => holds(from, `/v1/collections/${target}`, { from: open, ...init });
  const put = (name, init) => of(path, name, { method: "PUT", headers, body: "{}", ...init });
  const { key } = await put("made", { headers: {} });
  assert.equal(key.length, 43);
  for (const body of ["{}", '{"title":"Drawings","credit":"Museum","rights":"http://rightsstatements.org/vocab/InC/1.0/"}', '{"keep":true}', " ".repeat(17_000)]) await put("described", { body });
  for (const wrong of [{}, { Authorization: "Bearer short" }, { Authorization: `Bearer ${"x".repeat(40)}` }]) {
    await put("described", { headers: wrong });
    for (const method of ["DELETE", "POST"]) await of(method === "POST" ? entries : path, method === "POST" ? "described/entries" : "described", { method, headers: wrong, body: "{}" });
    await of(entries, "described/entries", { headers: wrong });
  }
  const send = (body) => of(entries, "described/entries", { method: "POST", headers, body });
  const lines = ['{"url":"http://example.com/entry.jpg","title":"One","alt":"A","credit":"B","rights":"http://creativecommons.org/licenses/by/4.0/"}', '{"url":"nonsense"}', "{", '{"id":"00000000000"}', '{"id":"1"}', '{"title":"x"}', '{"tittle":"x"}', `{"title":"${"x".repeat(17_000)}"}`];
  assert.equal((await send(lines.join("\n"))).refused.length, 7);
  for (const body of ["", "{}\n".repeat(10_001)]) await send(body);
  for (const query of ["", "?state=waiting", "?order=added", "?after=1", "?limit=0", "?q=one"]) await of(entries, `described/entries${query}`, { headers });
  // A file that is too large, another one, none, one of another site, and one by nobody.
  const file = `${entries.replace("entries", "files")}`;
  const digest = createHash("sha256").update("a file").digest("base64url");
  const octets = { ...headers, "Content-Type": "application/octet-stream" };
  const upload = (init, query = `?name=a.jpg&digest=${digest}`) => of(file, `described/files${query}`, { method: "POST", headers: octets, body: "a file", ...init });
  assert.equal((await upload()).changed, 1);
  for (const init of [{ body: "x".repeat(101) }, { body: "b" }, { body: "" }, { headers: { ...octets, Origin: "null" } }, { headers: {} }, { headers: { ...headers, "Content-Type": "application/json" } }, { from: system }]) await upload(init, init.body === "b" ? `?digest=${"A".repeat(43)}` : undefined);
  await upload({}, "");
  await of(path, "described");
  for (const name of ["described", "unknown"]) {
    await holds("/c/{name}", `/c/${name}`, { from: open });
    for (const format of ["json", "xml"]) await holds("/oembed", `/oembed?url=${open.origin}/c/${name}&format=${format}`, { from: open });
  }
  for (const kind of ["collection", "activity"]) {
    for (const name of ["described", "unknown"]) await holds(`/iiif/${kind}/{name}`, `/iiif/${kind}/${name}`, { from: open });
  }
  for (const [known, target] of [[path, "unknown"], [entries, "unknown/entries"]]) await of(known, target);
  await of(path, "described", { method: "DELETE", headers });
  await upload();
  await put("described");
});

test("the example responses of the documentation are the Worker's", async () => {
  const base = "https://zoom.example";
  const documented = await start({ BASE_URL: base, SHARE_BASE: base, CACHE_URL: `${base}/cache` });
  const source = "https://example.com/city.jpg";
  const byUrl = encodeURIComponent(source);
  const json = async (target) => JSON.parse((await documented.send(target)).body);
  const shown = (path, status, mediaType) => example(path, "get", status, mediaType);
  try {
    assert.deepEqual(await json(`/v1/content/?url=${byUrl}`), shown("/v1/content/", 301));
    const id = await documented.content(source, "ready");
    assert.equal(id, components.schemas.Id.example);
    assert.deepEqual(await json(`/v1/content/${id}`), shown("/v1/content/{id}", 200));
    assert.deepEqual(await json(`/v1/dzi/?url=${byUrl}`), shown("/v1/dzi/", 301));
    assert.deepEqual(await json(`/v1/dzi/${id}`), shown("/v1/dzi/{id}", 200));
    assert.deepEqual(await json(`/oembed?url=${encodeURIComponent(`${base}/${id}`)}`), shown("/oembed", 200));
    for (const name of ["info.json", "manifest.json"]) {
      assert.deepEqual(await json(`/iiif/${id}/${name}`), shown(`/iiif/{id}/${name}`, 200, "application/ld+json"));
    }
    assert.deepEqual(await json("/health"), shown("/health", 200));
    assert.deepEqual(Object.keys(await json("/version")), Object.keys(shown("/version", 200)));
    const text = async (target) => (await documented.send(target)).body;
    assert.equal(await text(`/v1/content/${id}/events`), shown("/v1/content/{id}/events", 200, "text/event-stream"));
    assert.equal(await text(`/v1/content/${id}/dzi.js`), shown("/v1/content/{id}/dzi.js", 200, "text/javascript"));
  } finally {
    await documented.close();
  }
});

test("a response that differs from the document is noticed", () => {
  assert.throws(() => assertMatches(components.schemas.Content, { id: "x" }, "the content"), /must match pattern/);
});

test("/bot has the name of the user agent, and a place for the operator's contact", async () => {
  const page = await built("bot.html");
  for (const words of ["User-agent: Edgezoom\nDisallow: /", "<code>Edgezoom/</code>", '<p id="contact">']) assert.ok(page.includes(words), words);
  assert.doesNotMatch(page, /undefined|\{\w+\}|<script|<[^>]+\s(src|srcset)="(https?:)?\/\//);
});

test("/docs has every operation and object, and loads nothing from other origins", async () => {
  const page = await built("docs.html");
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of Object.keys(methods)) assert.ok(page.includes(`${method.toUpperCase()} ${path}`), path);
  }
  for (const schema of Object.keys(components.schemas)) assert.ok(page.includes(`id="${schema}"`), schema);
  for (const part of ["guide", "api", "operators"]) assert.ok(page.includes(`<section id="${part}"`), part);
  for (const language of ["curl", "JavaScript", "Python"]) assert.ok(page.includes(`<h5>${language}</h5>`), language);
  assert.doesNotMatch(page, /undefined|\{\w+\}<\/(h\d|title)>|<script|<[^>]+\s(src|srcset)="(https?:)?\/\/|<link[^>]+href="(https?:)?\/\//);
  const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target);
  for (const target of targets) assert.ok(page.includes(`id="${target}"`), `#${target} leads nowhere`);
});
