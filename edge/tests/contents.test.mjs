// A content from its first request to its result: responses, queued jobs, and records in KV.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { ORIGIN, PICTURE, byUrl, eventually, startWithClock } from "./system.mjs";

let system;
aroundTests(async () => (system = await startWithClock()), () => system.close());

const jobsOf = async (id) => (await system.seen()).jobs.filter((job) => job === id).length;

const finish = (url) => system.content(url, "ready");

test("a new URL creates a content and queues a job", async () => {
  const response = await system.fetch("/v1/content/?url=http://example.com/new.jpg");
  assert.equal(response.status, 301);
  assert.equal(response.headers.get("Cache-Control"), "no-store");
  const content = await response.json();
  assert.equal(response.headers.get("Location"), `${ORIGIN}/v1/content/${content.id}`);
  assert.deepEqual(content, {
    id: content.id,
    url: "http://example.com/new.jpg",
    ready: false,
    failed: false,
    progress: 0,
    shareUrl: `${ORIGIN}/${content.id}`,
    embedHtml: `<script src="${ORIGIN}/${content.id}.js?width=auto&height=400px"></script>`,
    stage: "queued",
  });
  await eventually(async () => (await jobsOf(content.id)) === 1);
  assert.deepEqual(await system.find(content.id), content);
});

test("the request that creates a content says what is in the picture", async () => {
  const url = "http://example.com/described.jpg";
  const ask = async (alt) => JSON.parse((await system.send(`${byUrl(url)}&alt=${encodeURIComponent(alt)}`)).body);
  const created = await ask("A  <map>\n of\u202e Troy");
  assert.equal(created.alt, "A <map> of Troy");
  assert.equal((await ask("Something else")).alt, created.alt);
  const id = await finish(url);
  assert.equal((await system.find(id)).alt, created.alt);
  assert.match((await system.send(`/v1/content/${id}?format=xml`)).body, /<alt>A &lt;map&gt; of Troy<\/alt>/);
  assert.match((await system.send(`/${id}`)).body, /<img src="[^"]+" alt="A &lt;map&gt; of Troy">/);
  const oembed = JSON.parse((await system.send(`/oembed?url=${encodeURIComponent(`${ORIGIN}/${id}`)}`)).body);
  assert.match(oembed.html, / title="A &lt;map&gt; of Troy"/);
  const manifest = JSON.parse((await system.send(`/iiif/${id}/manifest.json`)).body);
  assert.deepEqual(manifest.summary, { none: [created.alt] });
});

test("options of a web page are part of a content's identity", async () => {
  const url = "http://example.com/page";
  const ask = async (options, path = byUrl(url)) => JSON.parse((await system.send(`${path}&${options}`)).body);
  const plain = await system.ask(url);
  const created = await ask("web-scheme=dark&web-hide=.a%2C%20.b&web-width=390&_=1");
  assert.deepEqual([created.url, created.options, plain.options], [url, "web-width=390&web-scheme=dark&web-hide=.a%2C+.b", undefined]);
  assert.notEqual(created.id, plain.id);
  assert.equal((await ask(created.options)).id, created.id, "in any order");
  const form = await system.send(`/?url=${encodeURIComponent(url)}&web-device=&${created.options}`);
  assert.deepEqual([form.status, form.headers.get("location")], [302, `${ORIGIN}/${created.id}`]);
  const { url: source } = await (await system.claim(created.id)).json();
  assert.equal(source, `${created.options}>${url}`);
  await system.report(created.id, 1, { finished: { dzi: PICTURE } });
  const { options, ready } = await system.find(created.id);
  assert.deepEqual([options, ready], [created.options, true]);
  assert.equal((await system.send(`${byUrl(url)}&${options}`)).headers.get("location"), `${ORIGIN}/v1/content/${created.id}`, "from KV");
  assert.ok((await system.send(`/${created.id}`)).body.includes(`<a href="${url}"`));
  assert.equal((await system.send(`/oembed?url=${encodeURIComponent(created.shareUrl)}`)).status, 200);
  const embedded = (options) => system.send(`/oembed?maxwidth=400&url=${encodeURIComponent(`${ORIGIN}/?url=${encodeURIComponent(url)}&${options}#x`)}`);
  assert.ok(JSON.parse((await embedded(`_=1&${options}`)).body).html.includes(`src="${created.shareUrl}/embed" width="400"`));
  const other = JSON.parse((await embedded("web-from=.b")).body);
  assert.ok(other.html.includes(`src="${(await ask("web-from=.b")).shareUrl}/embed"`), "a new content");
  assert.deepEqual([other.cache_age, (await embedded("web-width=9")).status, (await embedded("web-from=.b&web-selector=.b")).status], [0, 400, 400]);
  for (const wrong of ["web-width=9", "web-colour=red", "web-scheme=blue", "web-wait=0", `web-hide=${"a".repeat(201)}`, "web-hide=a&web-hide=b"]) {
    const { status, type, body } = await system.send(`${byUrl(url)}&${wrong}`);
    assert.deepEqual([status, type], [400, "text/plain; charset=utf-8"], wrong);
    assert.match(body, /web-/);
    assert.equal((await system.send(`/?url=${encodeURIComponent(url)}&${wrong}`)).status, 400);
  }
});

test("concurrent requests for a new URL queue one job", async () => {
  const asks = Array.from({ length: 20 }, () => system.ask("http://example.com/crowd.jpg"));
  const [{ id }, ...others] = await Promise.all(asks);
  assert.ok(others.every((other) => other.id === id));
  // A job of a later request is queued behind them.
  const later = await system.ask("http://example.com/later.jpg");
  await eventually(() => jobsOf(later.id));
  assert.equal(await jobsOf(id), 1);
});

test("each of 600 concurrent requests gets its own response", async () => {
  const ids = await Promise.all([1, 2, 3].map((n) => finish(`http://example.com/throng-${n}.jpg`)));
  const asks = Array.from({ length: 600 }, (_, n) => [ids[n % 3], system.find(ids[n % 3])]);
  for (const [id, answer] of asks) assert.equal((await answer).id, id);
});

test("a finished content is in KV, and a request takes one read", async () => {
  const id = await finish("http://example.com/finished.jpg");
  const record = await system.finished.get(id);
  assert.ok(record.startsWith("http://example.com/finished.jpg\n"), record);
  assert.ok(!record.includes(ORIGIN), "the record has no addresses, which the operator may change");

  for (const path of [`/v1/content/${id}`, "/v1/content/?url=http://example.com/finished.jpg", `/${id}`]) {
    const { reads } = await system.seen();
    const response = await system.fetch(path);
    assert.equal(response.headers.get("Cache-Control"), "public, max-age=3600", path);
    assert.equal((await system.seen()).reads, reads + 1, path);
  }
  const { ready, progress, dzi, stage } = await system.find(id);
  assert.deepEqual({ ready, progress, stage }, { ready: true, progress: 1, stage: undefined });
  assert.deepEqual(dzi, { url: `${ORIGIN}/cache/${id}/1.dzi`, ...PICTURE });
});

test("a finished content is found before KV has it", async () => {
  const id = await finish("http://example.com/stale.jpg");
  await system.finished.delete(id); // like a location that has cached a miss
  assert.equal((await system.find(id)).ready, true);
  assert.equal((await system.ask("http://example.com/stale.jpg")).ready, true);
  assert.equal(await jobsOf(id), 1);
});

test("a failed content has a failure, and its record in KV expires when the retry is due", async () => {
  const { id } = await system.ask("http://example.com/missing.jpg");
  const { attempt } = await (await system.claim(id)).json();
  const failure = { code: "source-not-found", message: "The host answers 404." };
  const before = Date.now() / 1000; // KV has a clock of its own
  await system.report(id, attempt, { "gave-up": { failure } });
  const { ready, failed, failure: given } = await system.find(id);
  assert.deepEqual([ready, failed, given], [false, true, { ...failure, retryAfter: 600 }]);
  const [{ expiration }] = (await system.finished.list({ prefix: id })).keys;
  assert.ok(expiration - 600 > before - 1 && expiration - 600 <= Date.now() / 1000, `expires at ${expiration}`);
});

test("a URL whose id is taken by another URL gets the next id", async () => {
  const first = (await system.ask("http://example.com/taken.jpg")).id;
  await system.finished.put(first, await recordOf(await finish("http://example.com/other.jpg"), first));
  const content = await system.ask("http://example.com/taken.jpg");
  assert.notEqual(content.id, first);
  assert.equal(content.url, "http://example.com/taken.jpg");
  assert.equal((await system.find(first)).url, "http://example.com/other.jpg");

  async function recordOf(id, under) {
    return (await system.finished.get(id)).replaceAll(id, under);
  }
});

test("an unknown id is not found, and a malformed one causes no read", async () => {
  assert.equal((await system.fetch("/v1/content/00000000000")).status, 404);
  const { reads } = await system.seen();
  for (const text of ["x", "zzzzzzzzzzz", "..%2f..%2fetc"]) {
    assert.equal((await system.fetch(`/v1/content/${text}`)).status, 404, text);
  }
  assert.equal((await system.seen()).reads, reads);
});

test("a record of another format in KV counts as missing", async () => {
  const id = await finish("http://example.com/another-version.jpg");
  for (const record of ["another form", "", '{"id":"x"}']) {
    await system.finished.put(id, record);
    assert.equal((await system.find(id)).ready, true, record);
    assert.equal((await system.fetch(`/${id}`)).status, 200, record);
  }
});
