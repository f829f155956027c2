// What all responses have in common: methods, headers, conditions; and the size of the Worker.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ORIGIN, PICTURE, start } from "./system.mjs";

let system;
let id;
before(async () => {
  system = await start();
  ({ id } = await system.ask("http://example.com/a.jpg"));
  await system.claim(id);
  await system.report(id, 1, { finished: { dzi: PICTURE } });
});
after(() => system.close());

const paths = () => ["/", "/health", "/version", "/robots.txt", `/${id}`, `/${id}.js`, `/v1/content/${id}`, "/nothing", "/v1/content/"];

test("every response may be read by any page, and has its media type", async () => {
  for (const path of paths()) {
    const { headers } = await system.fetch(path);
    assert.equal(headers.get("Access-Control-Allow-Origin"), "*", path);
    assert.equal(headers.get("X-Content-Type-Options"), "nosniff", path);
    assert.match(headers.get("Content-Type"), /; charset=utf-8$/, path);
  }
});

test("HEAD is GET without its body", async () => {
  for (const path of paths()) {
    const [got, head] = [await system.fetch(path), await system.fetch(path, { method: "HEAD" })];
    assert.equal(head.status, got.status, path);
    assert.equal(await head.text(), "", path);
    for (const name of ["Content-Type", "ETag", "Cache-Control"]) {
      assert.equal(head.headers.get(name), got.headers.get(name), `${name} of ${path}`);
    }
  }
});

test("a preflight request succeeds, another method is refused", async () => {
  const preflight = await system.fetch("/v1/content/", { method: "OPTIONS" });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get("Access-Control-Allow-Methods"), "GET, HEAD, OPTIONS");
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "PROPFIND"]) {
    const response = await system.fetch(`/v1/content/${id}`, { method });
    assert.deepEqual([response.status, response.headers.get("Allow")], [405, "GET, HEAD, OPTIONS"], method);
  }
});

test("a client that has a finished content gets 304", async () => {
  const path = `/v1/content/${id}`;
  const etag = (await system.fetch(path)).headers.get("ETag");
  const again = await system.fetch(path, { headers: { "If-None-Match": `"x", ${etag}` } });
  assert.deepEqual([again.status, await again.text()], [304, ""]);
  assert.equal(again.headers.get("Access-Control-Allow-Origin"), "*");
});

test("a wrapped response is always 200", async () => {
  for (const [query, status] of [[`${id}?format=json`, 200], ["?format=json", 400], ["x?format=json", 404], [`${id}?format=no`, 400]]) {
    const response = await system.fetch(`/v1/content/${query}`);
    assert.equal(response.status, 200, query);
    assert.equal((await response.json()).status, status, query);
  }
});

test("Accept chooses XML", async () => {
  const response = await system.fetch(`/v1/content/${id}`, { headers: { Accept: "application/xml" } });
  assert.equal(response.headers.get("Content-Type"), "application/xml; charset=utf-8");
  assert.equal(response.headers.get("Vary"), "Accept");
  assert.match(await response.text(), /^<\?xml version="1.0" encoding="UTF-8"\?><content><id>/);
});

test("a URL that cannot be a source is refused and never queued", async () => {
  for (const url of ["ftp://example.com/", "http://127.0.0.1/", "http://me:secret@example.com/", "http://nodots/"]) {
    const response = await system.fetch(`/v1/content/?url=${encodeURIComponent(url)}`);
    assert.equal(response.status, 400, url);
    assert.equal(response.headers.get("Content-Type"), "text/plain; charset=utf-8", url);
  }
});

test("the form of the home page leads to the share page", async () => {
  const found = await system.fetch("/?url=http%3A%2F%2Fexample.com%2Fa.jpg");
  assert.deepEqual([found.status, found.headers.get("Location")], [302, `${ORIGIN}/${id}`]);
  assert.equal((await system.fetch("/?url=nonsense")).status, 400);
});

test("the Worker has at most 400 KB, compressed", async () => {
  const files = ["index.js", "index_bg.wasm"].map((name) => readFile(new URL(`../build/worker/${name}`, import.meta.url)));
  const size = gzipSync(Buffer.concat(await Promise.all(files)), { level: 9 }).length;
  assert.ok(size <= 400_000, `${size} bytes`);
});
