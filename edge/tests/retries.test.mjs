// Retries: automatic ones after temporary failures, those that clients request, and those after a tiler's death.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { assertMatches, components } from "./openapi.mjs";
import { PICTURE, byUrl, eventually, startWithClock } from "./system.mjs";

const LATER = { later: {} };
const unreachable = (retry) => ({ "gave-up": { failure: { code: "source-unreachable", message: "The host is down." }, retry } });
const BESIDE_OTHERS = { tiler: 7, alone: false };
const ALONE = { tiler: 8, alone: true };
const LEASE = 60_000;

let system;
aroundTests(async () => (system = await startWithClock()), () => system.close());

const messagesOf = async (id) => (await system.seen()).messages.filter((message) => message.id === id);
const queued = (id, times) => eventually(async () => (await messagesOf(id)).length === times);

/** Claims a content and reports a failure. */
async function fail(id, retry) {
  const { attempt } = await (await system.claim(id, BESIDE_OTHERS)).json();
  assert.equal((await system.report(id, attempt, unreachable(retry))).status, 204);
}

test("a temporary failure is retried automatically four times, and then stands", async () => {
  const { id } = await system.ask("http://example.com/down.jpg");
  for (const [times, pause] of [10, 60, 300, 1800].entries()) {
    await queued(id, times + 1);
    await fail(id, LATER);
    const { stage, ready, failed, failure, retry } = await system.find(id);
    assert.deepEqual([stage, ready, failed, failure], ["waiting", false, false, undefined]);
    const { retryAfter, ...reason } = retry;
    assert.deepEqual(reason, { code: "source-unreachable", message: "The host is down.", attemptsLeft: 4 - times });
    assert.equal(retryAfter, pause);
    await system.advance(pause * 1000 - 1);
    assert.equal((await system.claim(id, BESIDE_OTHERS)).status, 409, "while it waits");
    await system.advance(1);
  }
  await queued(id, 5);
  await fail(id, LATER);
  assert.equal((await system.find(id)).failed, true);
});

test("a waiting content says when and why in every form, and the first pause is ten seconds", async () => {
  const { id } = await system.ask("http://example.com/form.jpg");
  await fail(id, LATER);
  const content = await system.find(id);
  assertMatches(components.schemas.Content, content, "a waiting content");
  assert.equal(content.retry.retryAfter, 10);
  const [xml, page] = await Promise.all([`/v1/content/${id}?format=xml`, `/${id}`].map(async (path) => (await system.fetch(path)).text()));
  assert.match(xml, /<stage>waiting<\/stage><retry><code>source-unreachable<\/code><message>The host is down\.<\/message><retryAfter>\d+<\/retryAfter><attemptsLeft>4<\/attemptsLeft><\/retry>/);
  assert.match(page, /"attemptsLeft":4/);
  const events = await fetch(`${system.address}/v1/content/${id}/events`);
  const { value } = await events.body.pipeThrough(new TextDecoderStream()).getReader().read();
  assert.match(value, /"attemptsLeft":4/);
});

test("a source that recovers becomes ready without another request", async () => {
  const { id } = await system.ask("http://example.com/back.jpg");
  await fail(id, LATER);
  await system.advance(10_000);
  await queued(id, 2);
  const { attempt } = await (await system.claim(id, BESIDE_OTHERS)).json();
  await system.report(id, attempt, { finished: { dzi: PICTURE } });
  assert.equal((await system.find(id)).ready, true);
});

test("a request sets an alarm again that the platform has given up", async () => {
  const { id } = await system.ask("http://example.com/lost.jpg");
  await fail(id, LATER);
  await system.lose(id);
  await system.advance(10 * 60_000);
  assert.equal((await messagesOf(id)).length, 1);
  assert.equal((await system.find(id)).stage, "waiting");
  await system.advance(1);
  await queued(id, 2);
});

test("the source's Retry-After is honoured, up to the longest pause", async () => {
  const { id } = await system.ask("http://example.com/busy.jpg");
  await fail(id, { later: { after_seconds: 86_400 } });
  await system.advance(1_799_999);
  assert.equal((await system.find(id)).stage, "waiting");
  await system.advance(1);
  await queued(id, 2);
});

test("a failure is cached until its retryAfter, and then a request retries it", async () => {
  for (const path of ["id", "url"]) {
    const url = `http://example.com/gone-${path}.jpg`;
    const { id } = await system.ask(url);
    await fail(id, "never");
    for (const target of [`/v1/content/${id}`, byUrl(url), `/v1/content/${id}?format=xml`, `/${id}`, `/${id}/embed`]) {
      assert.match((await system.fetch(target)).headers.get("Cache-Control"), /^public, max-age=600$|no-store/, target);
    }
    assert.equal((await system.find(id)).failure.retryAfter, 600);
    await system.advance(600_000);
    assert.ok(await system.finished.get(id), "KV still has the record");
    const again = path === "id" ? await system.find(id) : await system.ask(url);
    assert.deepEqual([again.failed, again.stage], [false, "queued"]);
    await queued(id, 2);
  }
});

test("retry=1 retries a failed content now, by id and by URL, once a minute", async () => {
  for (const path of ["id", "url"]) {
    const url = `http://example.com/appears-${path}.jpg`;
    const { id } = await system.ask(url);
    await fail(id, "never");
    assert.equal((await system.find(id)).failed, true);
    assert.equal((await system.ask(url)).failed, true, "without retry=1 a request changes nothing");
    const target = path === "id" ? `/v1/content/${id}?retry=1` : byUrl(url, "&retry=1");
    const retried = await system.fetch(target);
    assert.equal(retried.status, path === "id" ? 200 : 301);
    assert.equal(retried.headers.get("Cache-Control"), "no-store");
    assert.equal((await retried.json()).stage, "queued");
    await queued(id, 2);
    assert.equal(await system.finished.get(id), null);

    await fail(id, "never");
    const { failed, failure } = await (await system.fetch(target)).json();
    assert.equal(failed, true, "too soon");
    assert.equal(failure.retryAfter, 600);
    assert.equal((await messagesOf(id)).length, 2);
    await system.advance(60_000);
    assert.equal((await (await system.fetch(target)).json()).stage, "queued");
  }
});

test("retry=1 restarts a waiting content, creates a new one, and leaves a ready one alone", async () => {
  const { id } = await system.ask("http://example.com/waits.jpg");
  await fail(id, LATER);
  assert.equal((await (await system.fetch(`/v1/content/${id}?retry=1`)).json()).stage, "queued");
  const { attempt } = await (await system.claim(id)).json();
  await system.report(id, attempt, { finished: { dzi: PICTURE } });
  for (const target of [`/v1/content/${id}?retry=1`, byUrl("http://example.com/waits.jpg", "&retry=1")]) {
    assert.equal((await (await system.fetch(target)).json()).ready, true, target);
  }
  const created = await (await system.fetch(byUrl("http://example.com/at-once.jpg", "&retry=1"))).json();
  assert.equal(created.stage, "queued");
  assert.equal((await system.fetch("/v1/content/00000000000?retry=1")).status, 404);
});

test("the events of a retried content do not end with its old failure", async () => {
  const { id } = await system.ask("http://example.com/old-failure.jpg");
  await fail(id, "never");
  const stale = await system.finished.get(id);
  await system.fetch(`/v1/content/${id}?retry=1`);
  await system.finished.put(id, stale); // like a location with an old copy, for up to a minute
  assert.equal((await system.find(id)).failed, true);
  const events = await fetch(`${system.address}/v1/content/${id}/events`);
  const { value } = await events.body.pipeThrough(new TextDecoderStream()).getReader().read();
  assert.match(value, /"stage":"queued"/);
});

test("a retry counts as a new content of the client", async () => {
  const headers = { "CF-Connecting-IP": "203.0.113.9" };
  const { id } = await system.ask("http://example.com/limited.jpg");
  await fail(id, "never");
  for (let created = 0; created < 20; created += 1) {
    await system.fetch(byUrl(`http://example.com/limited-${created}.jpg`), { headers });
  }
  const refused = await system.fetch(`/v1/content/${id}?retry=1`, { headers });
  assert.deepEqual([refused.status, refused.headers.get("Retry-After")], [503, "60"]);
  assert.equal((await system.find(id)).failed, true);
});

test("a killed renderer is retried twice at once on other tilers, and then later", async () => {
  const { id } = await system.ask("http://example.com/killed.jpg");
  await fail(id, "elsewhere");
  await queued(id, 2);
  await fail(id, "elsewhere");
  await queued(id, 3);
  assert.deepEqual(await messagesOf(id), [{ id }, { id, avoid: 7 }, { id, avoid: 7 }]);
  await fail(id, "elsewhere");
  assert.equal((await system.find(id)).stage, "waiting");
});

test("after three expired leases a content is retried once more, alone on its tiler", async () => {
  const { id } = await system.ask("http://example.com/deadly.jpg");
  for (const times of [1, 2, 3]) {
    await queued(id, times);
    assert.equal((await system.claim(id, BESIDE_OTHERS)).status, 200);
    await system.advance(LEASE);
  }
  await queued(id, 4);
  assert.deepEqual((await messagesOf(id)).at(-1), { id, alone: true });
  assert.equal((await system.claim(id, BESIDE_OTHERS)).status, 409);
  const { attempt } = await (await system.claim(id, ALONE)).json();
  assert.equal(attempt, 4);
  await system.advance(LEASE);
  assert.match((await system.find(id)).failure.message, /started 4 times/);
});
