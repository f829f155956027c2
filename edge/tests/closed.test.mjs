// A closed service creates contents only for signed requests. A service without BASE_URL responds only on the machine
// itself.

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { byUrl, eventually, start } from "./system.mjs";

const KEY = "0123456789abcdef";
let system;
aroundTests(async () => (system = await start({ SIGNING_KEYS: `shop:${KEY}`, ALLOW_HOSTS: "example.com", DENY_HOSTS: "private.example.com", UPLOAD_BYTES: "100000" })), () => system.close());

/** Returns the parameters that sign a request for a URL or an id. */
function signature(what, { key = KEY, expires = Math.floor(Date.now() / 1000) + 3600 } = {}) {
  const signature = createHmac("sha256", key).update(`${expires}\n${what}`).digest("hex");
  return `key=shop&expires=${expires}&signature=${signature}`;
}
const signed = (url, how) => `${byUrl(url)}&${signature(url, how)}`;

test("a new content needs a valid signature", async () => {
  const url = "http://example.com/a b.jpg?c=d&e";
  for (const target of [byUrl(url), signed(url, { key: "0123456789abcdee" }), signed(url, { expires: 1 }), `${byUrl(url)}&${signature("http://example.com/b")}`]) {
    const { status, type, body } = await system.send(target);
    assert.deepEqual([status, type], [403, "text/plain; charset=utf-8"], target);
    assert.match(body, /signature/);
    assert.equal(JSON.parse((await system.send(`${target}&format=json`)).body).status, 403);
  }
  assert.equal((await system.send(`/?url=${encodeURIComponent(url)}`)).status, 403, "the home page's form");
  const created = await system.send(signed(url));
  assert.equal(created.status, 301);
  assert.equal(created.headers.get("location"), `${system.origin}/v1/content/${JSON.parse(created.body).id}`, "without the signature");
  assert.equal((await system.send(byUrl(url))).status, 301, "existing contents need no signature");
});

test("options of a web page are signed with its URL", async () => {
  const url = "http://example.com/page";
  const target = (options, what) => system.send(`${byUrl(url)}&${options}&${signature(what)}`);
  for (const options of ["web-width=390", "%77eb-width=390"]) {
    assert.equal((await target(options, url)).status, 403, options);
    assert.equal((await target(`web-scheme=dark&${options}`, `${url}\n${options}`)).status, 403, options);
  }
  assert.equal((await target("web-width=390&x=1&web-hide=.a", `${url}\nweb-width=390&web-hide=.a`)).status, 301);
});

test("sealed headers need a signature, and are shown to nobody", async () => {
  const url = "http://example.com/login";
  const box = `ez1-${"sS-_".repeat(20)}`;
  const options = `web-scheme=dark&web-sealed=${box}`;
  const ask = (what) => system.send(`${byUrl(url)}&${options}&${signature(what)}`);
  assert.equal((await ask(url)).status, 403, "the box is signed, too");
  const created = await ask(`${url}\n${options}`);
  const { id, options: shown } = JSON.parse(created.body);
  assert.deepEqual([created.status, shown], [301, "web-scheme=dark&web-sealed="]);
  assert.equal((await (await system.claim(id)).json()).url, `${options}>${url}`, "the tiler gets it");
  await system.report(id, 1, { finished: { dzi: { width: 9, height: 9, tileSize: 512, tileOverlap: 0, tileFormat: "jpg" } } });
  await eventually(async () => (await system.operate("list", { state: "ready" })).contents.some((row) => row.id === id));
  const answers = await Promise.all([
    system.operate("show", { target: id }),
    ...[`/v1/content/${id}`, `/v1/content/${id}?format=xml`, `/${id}`, `/oembed?url=${encodeURIComponent(`${system.origin}/${id}`)}`, `/iiif/${id}/manifest.json`].map((path) => system.send(path)),
  ]);
  await system.operate("takedown", { target: url, reason: "a test" });
  assert.equal((await system.send(`/v1/content/${id}`)).status, 410, "the takedown of the URL holds");
  for (const call of ["list", "audit"]) answers.push(await system.operate(call, {}));
  const texts = answers.map((answer) => JSON.stringify(answer));
  assert.deepEqual([texts.filter((text) => text.includes("sS-_")), texts[0].includes("web-sealed=>")], [[], true]);
  for (const wrong of ["ez1-", `ez2-${"s".repeat(60)}`, `ez1-${"s".repeat(4093)}`]) {
    assert.equal((await system.send(`${byUrl(url)}&web-sealed=${wrong}`)).status, 400);
  }
});

test("an open service has no signed requests, and takes no sealed headers", async () => {
  const open = await start({ DEVELOPMENT: "off" });
  try {
    const { status, body } = await open.send(`${byUrl("http://a.example/")}&web-sealed=ez1-${"s".repeat(60)}`);
    assert.deepEqual([status, body.includes("sealed headers")], [403, true]);
  } finally {
    await open.close();
  }
});

test("a retry needs a signature for the content's id", async () => {
  const url = "http://example.com/failing.jpg";
  const { id } = JSON.parse((await system.send(signed(url))).body);
  await system.claim(id);
  await system.report(id, 1, { "gave-up": { failure: { code: "source-not-found", message: "There is nothing." } } });
  assert.equal((await system.send(`/v1/content/${id}?retry=1`)).status, 403);
  const retried = JSON.parse((await system.send(`/v1/content/${id}?retry=1&${signature(id)}`)).body);
  assert.equal(retried.stage, "queued");
});

test("the signature of a picture allows neither uploads nor retries of other contents", async () => {
  const [own, other] = ["http://example.com/own.jpg", "http://example.com/other.jpg"];
  const { id } = JSON.parse((await system.send(signed(other))).body);
  await system.claim(id);
  await system.report(id, 1, { "gave-up": { failure: { code: "source-not-found", message: "There is nothing." } } });
  const query = `url=${encodeURIComponent(own)}&${signature(own)}`;
  const post = (path, body) => system.send(path, { method: "POST", body, headers: { "Content-Type": "image/png" } });
  assert.equal((await system.send(`/v1/content/${id}?retry=1&${query}`)).status, 403);
  assert.equal((await post(`/v1/content/?${query}`, "file")).status, 403);
  assert.equal((await post(`/v1/uploads/?${query}`)).status, 403);
  assert.equal((await system.send(`/v1/content/?${query}`)).status, 301, "it is valid");
});

test("a signature that is valid for months is refused", async () => {
  const inDays = (days) => ({ expires: Math.floor(Date.now() / 1000) + days * 86_400 });
  assert.equal((await system.send(signed("http://example.com/months.jpg", inDays(8)))).status, 403);
  assert.equal((await system.send(signed("http://example.com/months.jpg", inDays(6.9)))).status, 301);
});

test("an upload needs a signature for the digest of its file, and its parts need none", async () => {
  const digest = (body) => createHash("sha256").update(body).digest("base64url");
  const file = (body) => `digest=${digest(body)}&${signature(`upload:${digest(body)}`)}`;
  const post = (path, body) => system.send(path, { method: "POST", body, headers: { "Content-Type": "image/png" } });
  assert.equal((await post(`/v1/content/?digest=${digest("a file")}`, "a file")).status, 403);
  assert.match((await post(`/v1/content/?${file("a file")}`, "another")).body, /SHA-256/);
  assert.equal((await post(`/v1/content/?${file("a file")}`, "a file")).status, 301);

  assert.equal((await post(`/v1/uploads/?digest=${digest("in parts")}`)).status, 403);
  const { address } = JSON.parse((await post(`/v1/uploads/?${file("in parts")}`)).body);
  const path = new URL(address).pathname;
  const part = await system.send(`${path}/1`, { method: "PUT", body: "in parts" });
  const finished = await post(path, JSON.stringify({ parts: [JSON.parse(part.body).etag] }));
  assert.equal(finished.status, 301, finished.body);
});

test("denied hosts, and hosts that are not allowed, are refused", async () => {
  for (const url of ["http://other.example/a.jpg", "http://private.example.com/a.jpg", "http://a.private.example.com./"]) {
    const { status, body } = await system.send(signed(url));
    assert.equal(status, 400, url);
    assert.match(body, /does not accept sources/);
  }
  assert.match((await system.send(signed("http://example.com:25/"))).body, /port/);
});

test("a foreign Host header is never reflected", async () => {
  const open = await start({ BASE_URL: "" });
  for (const path of ["/", "/health", byUrl("http://example.com/a.jpg"), "/robots.txt", "/v1/content/00000000000"]) {
    const { status, body, headers } = await open.send(path);
    assert.equal(status, 503, path);
    assert.match(body, /BASE_URL/);
    assert.ok(![...headers.values(), body].some((text) => text.includes("zoom.test")), path);
  }
  const local = await fetch(`${open.addresses.edgezoom}/robots.txt`);
  assert.ok((await local.text()).includes(`Sitemap: ${open.addresses.edgezoom}/sitemap.xml`));
  await open.close();

  const elsewhere = await fetch(`${system.addresses.edgezoom}/robots.txt`);
  assert.ok((await elsewhere.text()).includes(`Sitemap: ${system.origin}/sitemap.xml`));
});
