// Retries: automatic ones after temporary failures, those that clients request, and those after a tiler's death.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { aroundTests } from "./around.mjs";
import { assertMatches, components } from "./openapi.mjs";
import { PICTURE, byUrl, eventually, start } from "./system.mjs";

const LATER = { later: {} };
const unreachable = (retry) => ({ "gave-up": { failure: { code: "source-unreachable", message: "The host is down." }, retry } });
const BESIDE_OTHERS = { tiler: 7, alone: false };
const ALONE = { tiler: 8, alone: true };

let system;
let patient;
aroundTests(
  async () => {
    system = await start({ RETRY_SECONDS: "1,1,1", ASK_AGAIN_SECONDS: "2", LEASE_SECONDS: "1" });
    patient = await start();
  },
  () => Promise.all([system.close(), patient.close()]),
);

const messagesOf = async (id, of = system) => (await of.seen()).messages.filter((message) => message.id === id);
const queued = (id, times, of) => eventually(async () => (await messagesOf(id, of)).length === times);

/** Claims a content and reports a failure. */
async function fail(of, id, retry) {
  const { attempt } = await (await of.claim(id, BESIDE_OTHERS)).json();
  assert.equal((await of.report(id, attempt, unreachable(retry))).status, 204);
}

test("a temporary failure is retried automatically three times, and then stands", async () => {
  const { id } = await system.ask("http://example.com/down.jpg");
  for (const times of [1, 2, 3]) {
    await queued(id, times);
    await fail(system, id, LATER);
    const { stage, ready, failed, failure, retry } = await system.find(id);
    assert.deepEqual([stage, ready, failed, failure], ["waiting", false, false, undefined]);
    const { retryAfter, ...reason } = retry;
    assert.deepEqual(reason, { code: "source-unreachable", message: "The host is down.", attemptsLeft: 4 - times });
    assert.equal(retryAfter, 1);
    assert.equal((await system.claim(id, BESIDE_OTHERS)).status, 409, "while it waits");
  }
  await queued(id, 4);
  await fail(system, id, LATER);
  assert.equal((await system.find(id)).failed, true);
});

test("a waiting content says when and why in every form, and the first pause is ten seconds", async () => {
  const { id } = await patient.ask("http://example.com/form.jpg");
  await fail(patient, id, LATER);
  const content = await patient.find(id);
  assertMatches(components.schemas.Content, content, "a waiting content");
  assert.ok(content.retry.retryAfter > 5 && content.retry.retryAfter <= 10, content.retry.retryAfter);
  const [xml, page] = await Promise.all([`/v1/content/${id}?format=xml`, `/${id}`].map(async (path) => (await patient.fetch(path)).text()));
  assert.match(xml, /<stage>waiting<\/stage><retry><code>source-unreachable<\/code><message>The host is down\.<\/message><retryAfter>\d+<\/retryAfter><attemptsLeft>4<\/attemptsLeft><\/retry>/);
  assert.match(page, /"attemptsLeft":4/);
  const events = await fetch(`${patient.address}/v1/content/${id}/events`);
  const { value } = await events.body.pipeThrough(new TextDecoderStream()).getReader().read();
  assert.match(value, /"attemptsLeft":4/);
});

test("a source that recovers becomes ready without another request", async () => {
  const { id } = await system.ask("http://example.com/back.jpg");
  await fail(system, id, LATER);
  await queued(id, 2);
  const { attempt } = await (await system.claim(id, BESIDE_OTHERS)).json();
  await system.report(id, attempt, { finished: { dzi: PICTURE } });
  assert.equal((await system.find(id)).ready, true);
});

test("the source's Retry-After is honoured, up to the longest pause", async () => {
  const { id } = await system.ask("http://example.com/busy.jpg");
  await fail(system, id, { later: { after_seconds: 86_400 } });
  assert.equal((await system.find(id)).stage, "waiting");
  await queued(id, 2);
});

test("a failure is cached until its retryAfter, and then a request retries it", async () => {
  for (const path of ["id", "url"]) {
    const url = `http://example.com/gone-${path}.jpg`;
    const { id } = await system.ask(url);
    await fail(system, id, "never");
    for (const target of [`/v1/content/${id}`, byUrl(url), `/v1/content/${id}?format=xml`, `/${id}`, `/${id}/embed`]) {
      const [, seconds] = (await system.fetch(target)).headers.get("Cache-Control").match(/^public, max-age=([0-2])$|no-store/);
      assert.ok(Number(seconds ?? 0) <= 2, target);
    }
    const { failure } = await system.find(id);
    assert.ok(failure.retryAfter >= 1 && failure.retryAfter <= 2);
    await new Promise((resolve) => setTimeout(resolve, failure.retryAfter * 1000));
    assert.ok(await system.finished.get(id), "KV keeps records for at least a minute");
    const again = path === "id" ? await system.find(id) : await system.ask(url);
    assert.deepEqual([again.failed, again.stage], [false, "queued"]);
    await queued(id, 2);
  }
});

test("retry=1 retries a failed content now, by id and by URL, once a minute", async () => {
  for (const path of ["id", "url"]) {
    const url = `http://example.com/appears-${path}.jpg`;
    const { id } = await patient.ask(url);
    await fail(patient, id, "never");
    assert.equal((await patient.find(id)).failed, true);
    assert.equal((await patient.ask(url)).failed, true, "without retry=1 a request changes nothing");
    const target = path === "id" ? `/v1/content/${id}?retry=1` : byUrl(url, "&retry=1");
    const retried = await patient.fetch(target);
    assert.equal(retried.status, path === "id" ? 200 : 301);
    assert.equal(retried.headers.get("Cache-Control"), "no-store");
    assert.equal((await retried.json()).stage, "queued");
    await queued(id, 2, patient);
    await eventually(async () => (await patient.finished.get(id)) === null);

    await fail(patient, id, "never");
    const { failed, failure } = await (await patient.fetch(target)).json();
    assert.equal(failed, true, "too soon");
    assert.ok(failure.retryAfter > 590);
    assert.equal((await messagesOf(id, patient)).length, 2);
  }
});

test("retry=1 restarts a waiting content, creates a new one, and leaves a ready one alone", async () => {
  const { id } = await patient.ask("http://example.com/waits.jpg");
  await fail(patient, id, LATER);
  assert.equal((await (await patient.fetch(`/v1/content/${id}?retry=1`)).json()).stage, "queued");
  const { attempt } = await (await patient.claim(id)).json();
  await patient.report(id, attempt, { finished: { dzi: PICTURE } });
  for (const target of [`/v1/content/${id}?retry=1`, byUrl("http://example.com/waits.jpg", "&retry=1")]) {
    assert.equal((await (await patient.fetch(target)).json()).ready, true, target);
  }
  const created = await (await patient.fetch(byUrl("http://example.com/at-once.jpg", "&retry=1"))).json();
  assert.equal(created.stage, "queued");
  assert.equal((await patient.fetch("/v1/content/00000000000?retry=1")).status, 404);
});

test("the events of a retried content do not end with its old failure", async () => {
  const { id } = await patient.ask("http://example.com/old-failure.jpg");
  await fail(patient, id, "never");
  const stale = await patient.finished.get(id);
  await patient.fetch(`/v1/content/${id}?retry=1`);
  await patient.finished.put(id, stale); // like a location with an old copy, for up to a minute
  assert.equal((await patient.find(id)).failed, true);
  const events = await fetch(`${patient.address}/v1/content/${id}/events`);
  const { value } = await events.body.pipeThrough(new TextDecoderStream()).getReader().read();
  assert.match(value, /"stage":"queued"/);
});

test("a retry counts as a new content of the client", async () => {
  const headers = { "CF-Connecting-IP": "203.0.113.9" };
  const { id } = await patient.ask("http://example.com/limited.jpg");
  await fail(patient, id, "never");
  const left = 60_000 - (Date.now() % 60_000);
  if (left < 20_000) await pause(left); // counting restarts with each minute
  for (let created = 0; created < 20; created += 1) {
    await patient.fetch(byUrl(`http://example.com/limited-${created}.jpg`), { headers });
  }
  const refused = await patient.fetch(`/v1/content/${id}?retry=1`, { headers });
  assert.deepEqual([refused.status, refused.headers.get("Retry-After")], [503, "60"]);
  assert.equal((await patient.find(id)).failed, true);
});

test("a killed renderer is retried twice at once on other tilers, and then later", async () => {
  const { id } = await patient.ask("http://example.com/killed.jpg");
  await fail(patient, id, "elsewhere");
  await queued(id, 2, patient);
  await fail(patient, id, "elsewhere");
  await queued(id, 3, patient);
  assert.deepEqual(await messagesOf(id, patient), [{ id }, { id, avoid: 7 }, { id, avoid: 7 }]);
  await fail(patient, id, "elsewhere");
  assert.equal((await patient.find(id)).stage, "waiting");
});

test("after three expired leases a content is retried once more, alone on its tiler", async () => {
  const { id } = await system.ask("http://example.com/deadly.jpg");
  for (const times of [1, 2, 3]) {
    await queued(id, times);
    assert.equal((await system.claim(id, BESIDE_OTHERS)).status, 200);
  }
  await queued(id, 4);
  assert.deepEqual((await messagesOf(id)).at(-1), { id, alone: true });
  assert.equal((await system.claim(id, BESIDE_OTHERS)).status, 409);
  const { attempt } = await (await system.claim(id, ALONE)).json();
  assert.equal(attempt, 4);
  const failed = await eventually(async () => {
    const content = await system.find(id);
    return content.failed && content;
  });
  assert.match(failed.failure.message, /started 4 times/);
});
