// What all responses have in common: methods, headers, conditions; and the size of the Worker.

import assert from "node:assert/strict";
import http from "node:http";
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

const paths = () => {
  const own = ["/", "/health", "/health/", "/version", "/robots.txt", "/sitemap.xml", "/nothing"];
  const contents = [`/${id}`, `/${id}.js`, `/v1/content/${id}`, `/v1/dzi/${id}`, "/v1/content/", "/v1", "/v1/"];
  return [...own, ...contents];
};

test("every response may be read by any page, and has its media type", async () => {
  for (const path of paths()) {
    const { headers } = await system.fetch(path);
    assert.equal(headers.get("Access-Control-Allow-Origin"), "*", path);
    assert.equal(headers.get("X-Content-Type-Options"), "nosniff", path);
    assert.match(headers.get("Content-Type"), /; charset=utf-8$/, path);
    const exposed = headers.get("Access-Control-Expose-Headers").split(", ");
    for (const name of ["ETag", "Location", "Retry-After", "Content-Range"]) assert.ok(exposed.includes(name), `${name} of ${path}`);
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

test("HEAD says how long the body is", async () => {
  await system.pyramids.put(`${id}/1.dzi`, "<Image/>");
  for (const path of [...paths(), `/cache/${id}/1.dzi`]) {
    const lengths = await Promise.all(["GET", "HEAD"].map((method) => lengthOf(method, path)));
    assert.ok(lengths[0].body > 0, path);
    assert.deepEqual([lengths[1].header, lengths[1].body], [lengths[0].body, 0], path);
  }
});

/** What a plain HTTP client gets, which neither asks for compression nor hides a header. */
function lengthOf(method, path) {
  return new Promise((resolve, reject) => {
    const request = http.request(system.address + path, { method }, async (response) => {
      let body = 0;
      for await (const part of response) body += part.length;
      resolve({ header: Number(response.headers["content-length"]), body });
    });
    request.on("error", reject).end();
  });
}

test("a sitemap names the service's own pages, and robots.txt the sitemap", async () => {
  const robots = await (await system.fetch("/robots.txt")).text();
  const [, sitemap] = /^Sitemap: (.+)$/m.exec(robots);
  const listed = await (await system.fetch(sitemap.replace(ORIGIN, ""))).text();
  const pages = [...listed.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, page]) => page);
  assert.deepEqual(pages, [`${ORIGIN}/`, `${ORIGIN}/docs`]);
});

test("crawlers may fetch the pictures of cards, but start no conversion", async () => {
  const rules = [...(await (await system.fetch("/robots.txt")).text()).matchAll(/^(Allow|Disallow): (.+)$/gm)];
  /** The longest rule that matches decides, and of two the one that allows (RFC 9309, 2.2.2). */
  const allowed = (path) => {
    const pattern = (rule) => new RegExp(`^${rule.split("*").map((part) => part.replace(/[.?]/g, "\\$&")).join(".*")}`);
    const matching = rules.filter(([, , rule]) => pattern(rule).test(path));
    matching.sort((a, b) => b[2].length - a[2].length || (a[1] === "Allow" ? -1 : 1));
    return matching.length === 0 || matching[0][1] === "Allow";
  };
  for (const path of ["/", `/${id}`, `/${id}/preview.jpg`, `/cache/${id}/1_files/9/0_0.jpg`, "/docs"]) assert.ok(allowed(path), path);
  for (const path of [`/v1/content/${id}`, "/?url=x", `/cache/${id}/1_files/13/4_5.jpg`]) assert.ok(!allowed(path), path);
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
  const bare = await system.fetch("/?url=example.com%2Fbare.jpg");
  const { url } = await system.find(bare.headers.get("Location").split("/").at(-1));
  assert.deepEqual([bare.status, url], [302, "https://example.com/bare.jpg"]);
});

test("bytes of a source that are not UTF-8 stay as they are", async () => {
  const { url } = await (await system.fetch("/v1/content/?url=http%3A%2F%2Fexample.com%2Fcaf%E9.jpg")).json();
  assert.equal(url, "http://example.com/caf%E9.jpg");
});

test("the Worker has at most 400 KB, compressed", async () => {
  const files = ["index.js", "index_bg.wasm"].map((name) => readFile(new URL(`../build/worker/${name}`, import.meta.url)));
  const size = gzipSync(Buffer.concat(await Promise.all(files)), { level: 9 }).length;
  assert.ok(size <= 400_000, `${size} bytes`);
});
