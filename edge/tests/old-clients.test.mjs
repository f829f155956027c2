// Clients written for zoom.it and ZoomHub: their requests, and how they use the responses.

import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import vm from "node:vm";
import { aroundTests } from "./around.mjs";
import { paths } from "./openapi.mjs";
import { PICTURE, byUrl, start } from "./system.mjs";

const SOURCE = "http://example.com/old.jpg";
let system;
let id;
aroundTests(
  async () => {
    system = await start();
    id = await system.content(SOURCE, "ready");
  },
  () => system.close(),
);

test("a JavaScript SDK uses JSONP with a trailing slash and its own callback", async () => {
  const answer = await system.send(`/v1/content/${id}/?callback=_jsonCallback123`);
  const got = [];
  vm.runInNewContext(answer.body, { _jsonCallback123: (response) => got.push(response) });
  assert.equal(got.length, 1);
  assert.equal(got[0].content.ready, true);
  assert.match(got[0].content.id, /^[0-9a-zA-Z]+$/);
  assert.equal(got[0].error, undefined);
});

test("jQuery uses JSONP with a generated callback and a cache-busting parameter", async () => {
  const url = `/v1/content/?callback=jQuery19104_1700000000000&url=${encodeURIComponent(SOURCE)}&_=1700000000001`;
  const got = [];
  vm.runInNewContext((await system.send(url)).body, { jQuery19104_1700000000000: (response) => got.push(response) });
  assert.deepEqual([got[0].status, got[0].redirectLocation], [301, `${system.origin}/v1/content/${id}`]);
  assert.equal(got[0].content.dzi.width, PICTURE.width);
});

test("a late JSONP response without its function does nothing", async () => {
  const { body } = await system.send(`/v1/content/${id}?callback=gone`);
  vm.runInNewContext(body, {});
});

test("a Ruby client that never follows redirects reads the content from the 301", async () => {
  const body = await new Promise((resolve, reject) => {
    const request = http.get(system.address + byUrl(SOURCE), (response) => {
      assert.equal(response.statusCode, 301);
      let text = "";
      response.on("data", (part) => (text += part));
      response.on("end", () => resolve(text));
    });
    request.on("error", reject);
  });
  const content = JSON.parse(body);
  assert.deepEqual([content.id, content.ready, content.failed, content.progress], [id, true, false, 1]);
});

test("a Python client that follows redirects lands on the content", async () => {
  const local = await start({ BASE_URL: "" }); // so redirects lead to its own address
  const response = await fetch(local.address + byUrl(SOURCE));
  assert.deepEqual([response.redirected, response.status], [true, 200]);
  assert.equal(response.url, `${local.address}/v1/content/${id}`);
  assert.equal((await response.json()).id, id);
  await local.close();
});

test("an ActionScript client reads wrapped XML without elements for missing values", async () => {
  const waiting = await system.content("http://example.com/waiting.jpg", "queued");
  const unfinished = (await system.send(`/v1/content/${waiting}?format=xml`)).body;
  assert.match(unfinished, /<ready>false<\/ready><failed>false<\/failed><progress>0<\/progress>/);
  for (const name of ["dzi", "failure", "redirectLocation", "error", "retryAfter"]) {
    assert.doesNotMatch(unfinished, new RegExp(`<${name}\\b`));
  }
  const missing = (await system.send("/v1/content/00000000000?format=xml")).body;
  assert.match(missing, /<status>404<\/status>.*<error>[^<]+<\/error><\/response>$/);
  assert.doesNotMatch(missing, /<content\b/);
});

test("a PHP plugin polls the wrapped JSON until ready or failed", async () => {
  const url = "http://example.com/polled.jpg";
  const { id: polled } = await system.ask(url);
  const ask = async () => JSON.parse((await system.send(`/v1/content/${polled}?format=json`)).body).content;
  assert.deepEqual([(await ask()).ready, (await ask()).progress], [false, 0]);
  await system.claim(polled);
  await system.report(polled, 1, { progress: { stage: "downloading", progress: 0.5 } });
  assert.equal((await ask()).progress, 0.5);
  await system.report(polled, 1, { finished: { dzi: PICTURE } });
  const done = await ask();
  assert.deepEqual([done.ready, done.failed, done.progress, done.dzi.tileFormat], [true, false, 1, "jpg"]);
});

test("OpenSeadragon loads the descriptor by JSONP", async () => {
  const answer = await system.send(`/v1/content/${id}/dzi.js`);
  assert.equal(answer.type, "text/javascript; charset=utf-8");
  const got = [];
  vm.runInNewContext(answer.body, { dzi: (descriptor) => got.push(JSON.parse(JSON.stringify(descriptor))) });
  const { width, height, tileSize, tileOverlap, tileFormat } = PICTURE;
  const image = {
    xmlns: "http://schemas.microsoft.com/deepzoom/2008",
    Url: `${system.origin}/cache/${id}/1_files/`,
    Format: tileFormat,
    Overlap: String(tileOverlap),
    TileSize: String(tileSize),
    Size: { Width: String(width), Height: String(height) },
  };
  assert.deepEqual(got, [{ Image: image }]);
});

/**
 * Requests a `dzi` object by JSONP and interprets `status` and `retryAfter`, like zoom.it's client, `Zoomit.getDzi`.
 */
async function getDzi(target) {
  const answer = await system.send(`/v1/dzi/${target}${target.includes("?") ? "&" : "?"}callback=_jsonCallback1`);
  const got = [];
  vm.runInNewContext(answer.body, { _jsonCallback1: (response) => got.push(response) });
  const [response] = got;
  if (response.status < 400) return { ready: response.dzi };
  if (response.status === 404) return response.retryAfter ? { progress: response.retryAfter } : { failed: response.error };
  return response.status < 500 ? { error: response.error } : { down: response.error };
}

test("zoom.it's JavaScript client gets the dzi object, and polls until it exists", async () => {
  const dzi = { url: `${system.origin}/cache/${id}/1.dzi`, ...PICTURE };
  const asked = (url) => `?url=${encodeURIComponent(url)}`;
  for (const target of [id, asked(SOURCE)]) assert.deepEqual({ ...(await getDzi(target)).ready }, dzi, target);
  assert.ok((await getDzi(asked("http://example.com/dzi-new.jpg"))).progress > 0);
  const { url } = await system.find(await system.content("http://example.com/dzi-failed.jpg", "failed"));
  for (const target of [asked(url), "00000000000", "x"]) assert.ok((await getDzi(target)).failed, target);
  assert.ok((await getDzi(asked("ftp://example.com/"))).error);
  assert.ok((await getDzi("")).error);
});

test("zoom.it's getThumbnail gets an error, not pictures that do not exist, and the documentation says why", async () => {
  const asked = `zoomit://thumbnail/?url=${encodeURIComponent("http://example.com/")}`;
  assert.match((await getDzi(`?url=${encodeURIComponent(asked)}`)).error, /http:\/\/ or https:\/\//);
  assert.match(paths["/v1/dzi/"].get.description, /`getThumbnail` is not supported: .* Use `\/\{id\}\/thumbnail\.jpg`/);
});

test("the dzi object has statuses and is available as XML and wrapped", async () => {
  const redirect = await system.send(`/v1/dzi/?url=${encodeURIComponent(SOURCE)}`);
  assert.deepEqual([redirect.status, redirect.headers.get("location")], [301, `${system.origin}/v1/dzi/${id}`]);
  const byId = await system.send(`/v1/dzi/${id}`);
  assert.deepEqual([byId.status, byId.type, byId.body], [200, "application/json; charset=utf-8", redirect.body]);
  const xml = await system.send(`/v1/dzi/${id}`, { headers: { Accept: "application/xml" } });
  assert.match(xml.body, /^<\?xml [^>]+\?><dzi><url>[^<]+<\/url><width>8000<\/width>.*<\/dzi>$/);
  const wrapped = JSON.parse((await system.send(`/v1/dzi/${id}?format=json`)).body);
  assert.deepEqual(wrapped, { status: 200, statusText: "OK", dzi: JSON.parse(byId.body) });
  const inXml = await system.send(`/v1/dzi/${id}?format=xml`);
  assert.match(inXml.body, /<response><status>200<\/status><statusText>OK<\/statusText><dzi><url>/);

  const waiting = await system.content("http://example.com/dzi-waiting.jpg", "queued");
  const unfinished = await system.send(`/v1/dzi/${waiting}`);
  assert.deepEqual([unfinished.status, unfinished.type], [404, "text/plain; charset=utf-8"]);
  assert.ok(Number(unfinished.headers.get("retry-after")) > 0);
  assert.equal(unfinished.headers.get("cache-control"), "no-store");
  const unknown = await system.send("/v1/dzi/00000000000");
  assert.deepEqual([unknown.status, unknown.headers.get("retry-after")], [404, null]);
});

test("an embed is a script element that can be written into an iframe", async () => {
  const { content } = JSON.parse((await system.send(`/v1/content/${id}?format=json`)).body);
  const [, address] = content.embedHtml.match(/^<script src="([^"<>]+)"><\/script>$/);
  const script = await system.send(address.replace(system.origin, ""));
  assert.deepEqual([script.status, script.type], [200, "text/javascript; charset=utf-8"]);
  assert.doesNotThrow(() => new vm.Script(script.body));
  assert.doesNotMatch(script.body, /document\.write|<\/script/);
});
