// Responses over HTTP: what the runtime and the Worker's entry add to the responses in `edge/src/tests/`, such as CORS,
// HEAD, lengths and conditions.

import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import { archive, store } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { ORIGIN, byUrl, start } from "./system.mjs";

const SOURCE = "http://example.com/a.jpg";
/** The representations of a result: JSON, XML, and both wrapped, and a script. */
const VARIANTS = [[""], ["", "application/xml"], ["format=json"], ["format=xml"], ["callback=a.b"]];

let system;
let id;
aroundTests(
  async () => {
    system = await start();
    id = await system.content(SOURCE, "ready");
  },
  () => system.close(),
);

const paths = () => {
  const own = ["/", "/health", "/health/", "/version", "/robots.txt", "/sitemap.xml", "/nothing"];
  const contents = [`/${id}`, `/${id}.js`, `/v1/content/${id}`, byUrl(SOURCE), `/v1/dzi/${id}`, "/v1/content/", "/v1", "/v1/"];
  const variants = VARIANTS.flatMap(([parameter]) => [`/v1/content/${id}?${parameter}`, `/v1/content/00000000000?${parameter}`]);
  return [...own, ...contents, ...variants];
};

test("every response can be read by any page, and has a media type", async () => {
  for (const path of paths()) {
    const { headers } = await system.fetch(path);
    assert.equal(headers.get("Access-Control-Allow-Origin"), "*", path);
    assert.equal(headers.get("Cross-Origin-Resource-Policy"), "cross-origin", path);
    assert.equal(headers.get("X-Content-Type-Options"), "nosniff", path);
    assert.match(headers.get("Content-Type"), /; charset=utf-8$/, path);
    const exposed = headers.get("Access-Control-Expose-Headers").split(", ");
    for (const name of ["ETag", "Location", "Retry-After", "Content-Range"]) assert.ok(exposed.includes(name), `${name} of ${path}`);
  }
});

test("HEAD gets the status and headers of GET, without the body", async () => {
  for (const path of paths()) {
    const [got, head] = [await system.fetch(path), await system.fetch(path, { method: "HEAD" })];
    assert.equal(head.status, got.status, path);
    assert.equal(await head.text(), "", path);
    for (const name of ["Content-Type", "ETag", "Cache-Control"]) {
      assert.equal(head.headers.get(name), got.headers.get(name), `${name} of ${path}`);
    }
  }
});

test("HEAD gets the length of the body", async () => {
  const stored = await store(system, "http://example.com/stored.jpg", archive());
  for (const path of [...paths(), `/cache/${stored}/1.dzi`]) {
    const lengths = await Promise.all(["GET", "HEAD"].map((method) => lengthOf(method, path)));
    assert.ok(lengths[0].body > 0, path);
    assert.deepEqual([lengths[1].header, lengths[1].body], [lengths[0].body, 0], path);
  }
});

/** Returns the lengths in the header and of the body, for a client that requests no compression. */
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

test("the sitemap has the service's own pages, and robots.txt the sitemap", async () => {
  const robots = await (await system.fetch("/robots.txt")).text();
  const [, sitemap] = /^Sitemap: (.+)$/m.exec(robots);
  const listed = await (await system.fetch(sitemap.replace(ORIGIN, ""))).text();
  const pages = [...listed.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, page]) => page);
  assert.deepEqual(pages, [`${ORIGIN}/`, `${ORIGIN}/docs`]);
});

test("crawlers can fetch previews, but start no conversion", async () => {
  const rules = [...(await (await system.fetch("/robots.txt")).text()).matchAll(/^(Allow|Disallow): (.+)$/gm)];
  /** The longest matching rule applies; of two, the one that allows (RFC 9309, 2.2.2). */
  const allowed = (path) => {
    const pattern = (rule) => new RegExp(`^${rule.split("*").map((part) => part.replace(/[.?]/g, "\\$&")).join(".*")}`);
    const matching = rules.filter(([, , rule]) => pattern(rule).test(path));
    matching.sort((a, b) => b[2].length - a[2].length || (a[1] === "Allow" ? -1 : 1));
    return matching.length === 0 || matching[0][1] === "Allow";
  };
  for (const path of ["/", `/${id}`, `/${id}/preview.jpg`, `/cache/${id}/1_files/9/0_0.jpg`, "/docs"]) assert.ok(allowed(path), path);
  for (const path of [`/v1/content/${id}`, "/?url=x", "/https://example.com/a.jpg", `/cache/${id}/1_files/13/4_5.jpg`]) assert.ok(!allowed(path), path);
});

test("a preflight request succeeds, and other methods are refused", async () => {
  const preflight = await system.fetch("/v1/content/", { method: "OPTIONS" });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get("Access-Control-Allow-Methods"), "GET, HEAD, OPTIONS");
  for (const method of ["POST", "PUT", "PATCH", "PROPFIND"]) {
    const response = await system.fetch(`/v1/content/${id}`, { method });
    assert.deepEqual([response.status, response.headers.get("Allow")], [405, "GET, HEAD, OPTIONS, DELETE"], method);
  }
});

test("a browser that opens an address of the API gets JSON", async () => {
  const Accept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";
  for (const path of [`/v1/content/${id}`, byUrl(SOURCE), `/v1/dzi/${id}`]) {
    const { headers } = await system.fetch(path, { headers: { Accept } });
    assert.equal(headers.get("Content-Type"), "application/json; charset=utf-8", path);
  }
});

test("a reserved word is no callback", async () => {
  for (const callback of ["class", "this"]) {
    const { status, type } = await system.send(`/v1/content/${id}?callback=${callback}`);
    assert.deepEqual([status, type], [400, "text/plain; charset=utf-8"], callback);
  }
});

test("a current copy of a finished content gets 304, with an ETag for each endpoint and variant", async () => {
  const tags = new Set();
  const targets = [`/v1/content/${id}?`, `/v1/dzi/${id}?`, `${byUrl(SOURCE)}&`, `/v1/dzi/?url=${encodeURIComponent(SOURCE)}&`];
  for (const target of targets) {
    for (const [parameter, Accept = "*/*"] of VARIANTS) {
      const tag = (await system.send(target + parameter, { headers: { Accept } })).headers.get("ETag");
      tags.add(tag);
      const again = await system.send(target + parameter, { headers: { Accept, "If-None-Match": `"other", ${tag}` } });
      assert.deepEqual([again.status, again.body, again.headers.get("ETag")], [304, "", tag], target + parameter);
      assert.equal(again.headers.get("Access-Control-Allow-Origin"), "*");
      if (!parameter) assert.match(again.headers.get("Vary"), /\bAccept\b/);
    }
  }
  assert.equal(tags.size, targets.length * VARIANTS.length);
});

test("an unfinished content is never 304", async () => {
  const queued = await system.content("http://example.com/queued.jpg", "queued");
  const { status, headers } = await system.send(`/v1/content/${queued}`, { headers: { "If-None-Match": "*" } });
  assert.deepEqual([status, headers.get("ETag")], [200, null]);
});

test("Accept selects XML", async () => {
  const response = await system.fetch(`/v1/content/${id}`, { headers: { Accept: "application/xml" } });
  assert.equal(response.headers.get("Content-Type"), "application/xml; charset=utf-8");
  assert.equal(response.headers.get("Vary"), "Accept");
  assert.match(await response.text(), /^<\?xml version="1.0" encoding="UTF-8"\?><content><id>/);
});

test("the form of the home page redirects to the share page", async () => {
  const found = await system.fetch("/?url=http%3A%2F%2Fexample.com%2Fa.jpg");
  assert.deepEqual([found.status, found.headers.get("Location")], [302, `${ORIGIN}/${id}`]);
  assert.equal((await system.fetch("/?url=nonsense")).status, 400);
  assert.match(await (await system.fetch("/?url=%22cats%22")).text(), /value="&quot;cats&quot;".*>The URL has no domain\. Enter a whole URL, such as/s);
  for (const [entered, assumed, source] of [
    ["example.com/bare.jpg", "?assumed=https", "https://example.com/bare.jpg"],
    ["“http://example.com/quoted.jpg”", "", "http://example.com/quoted.jpg"],
  ]) {
    const { status, headers } = await system.fetch(`/?url=${encodeURIComponent(entered)}`);
    const [, content, query] = /\/([0-9A-Za-z]{11})(.*)$/.exec(headers.get("Location"));
    assert.deepEqual([status, query, (await system.find(content)).url], [302, assumed, source]);
    assert.equal((await system.fetch(`/${content}${query}`)).status, 200);
  }
});

test("a URL in the path of the home page redirects to its share page", async () => {
  for (const path of ["/http://example.com/a.jpg", "/http:/example.com/a.jpg"]) {
    const { status, headers } = await system.fetch(path);
    assert.deepEqual([status, headers.get("Location")], [302, `${ORIGIN}/${id}`], path);
  }
});

test("bytes of a URL that are not UTF-8 are kept", async () => {
  const { url } = await (await system.fetch("/v1/content/?url=http%3A%2F%2Fexample.com%2Fcaf%E9.jpg")).json();
  assert.equal(url, "http://example.com/caf%E9.jpg");
});
