// The internal calls of tilers: claim, report and reset.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { assertMatches, components } from "./openapi.mjs";
import { PICTURE, TOKEN, eventually, start, startWithClock } from "./system.mjs";

let system;
aroundTests(async () => (system = await startWithClock({ LEASE_SECONDS: "30" })), () => system.close());

const jobsOf = async (id) => (await system.seen()).jobs.filter((job) => job === id).length;
const rendering = (progress) => ({ progress: { stage: "rendering", progress } });

test("calls without the token are refused", async () => {
  const { id } = await system.ask("http://example.com/secret.jpg");
  for (const Authorization of [undefined, "Bearer ", "Bearer wrong-wrong-wrong", `Basic ${TOKEN}`, TOKEN]) {
    for (const what of ["claim", "report", "reset"]) {
      const headers = Authorization ? { Authorization } : {};
      const response = await system.fetch(`/internal/content/${id}/${what}`, { method: "POST", headers });
      assert.equal(response.status, 401, `${what} with ${Authorization}`);
    }
  }
  assert.equal((await system.fetch(`/internal/content/${id}/claim`)).status, 405);
});

test("a Worker without TILER_TOKEN refuses all calls", async () => {
  const open = await start({ TILER_TOKEN: "" });
  try {
    assert.equal((await open.claim("00000000000")).status, 503);
  } finally {
    await open.close();
  }
});

test("a job is claimed once, and only reports of its attempt are accepted", async () => {
  const { id } = await system.ask("http://example.com/claimed.jpg");
  const claim = await system.claim(id);
  assert.deepEqual(await claim.json(), { id, url: "http://example.com/claimed.jpg", attempt: 1, leaseMs: 30_000 });
  assert.equal((await system.claim(id)).status, 409);
  assert.equal((await system.report(id, 2, rendering(0.5))).status, 409);
  assert.equal((await system.report(id, 1, rendering(0.5))).status, 204);
  const { progress, stage } = await system.find(id);
  assert.deepEqual({ progress, stage }, { progress: 0.5, stage: "rendering" });
  assert.equal((await system.report(id, 1, { finished: { dzi: PICTURE } })).status, 204);
  assert.equal((await system.claim(id)).status, 409);
  assert.equal((await system.report(id, 1, rendering(0.6))).status, 409);
});

test("the damage of a source is a warning in the ready content, in KV and on the page", async () => {
  const { id } = await system.ask("http://example.com/damaged.jpg");
  await system.claim(id);
  const warning = "The file is damaged: from row 3,012 of 4,000 on nothing could be read.";
  const damage = { "from-row": { row: 3011, rows: 4000 } };
  assert.equal((await system.report(id, 1, { finished: { dzi: PICTURE, damage } })).status, 204);
  await eventually(() => system.finished.get(id));
  assert.equal((await system.find(id)).warning, warning);
  const page = await (await system.fetch(`/${id}`)).text();
  assert.ok(page.includes("on nothing could be read.</p>"), page);
});

test("a tiler's scale is in the ready content as JSON and XML", async () => {
  const { id } = await system.ask("http://example.com/slide.svs");
  await system.claim(id);
  const scale = { significand: 2532, exponent: -10, unit: "metre", basis: "aperio" };
  assert.equal((await system.report(id, 1, { finished: { dzi: PICTURE, scale } })).status, 204);
  await eventually(() => system.finished.get(id));
  assert.deepEqual((await system.find(id)).scale, { value: 2.532e-7, unit: "metre", basis: "MPP of the Aperio slide" });
  const xml = await (await system.fetch(`/v1/content/${id}?format=xml`)).text();
  assert.match(xml, /<scale><value>2532e-10<\/value><unit>metre<\/unit>/);
});

test("a tiler's credits are cleaned, and in the ready content, in KV and on the page", async () => {
  const { id } = await system.ask("http://example.com/credited.jpg");
  await system.claim(id);
  const credits = { creator: "Ann\u0000\n\u202e<b>", copyright: "x".repeat(5000), rights: "https://creativecommons.org/licenses/by/4.0/deed.de", alternative: "A map" };
  assert.equal((await system.report(id, 1, { finished: { dzi: PICTURE, credits } })).status, 204);
  await eventually(() => system.finished.get(id));
  const found = await system.find(id);
  assertMatches(components.schemas.Content, found, "the content");
  const rights = "http://creativecommons.org/licenses/by/4.0/";
  assert.deepEqual([found.alt, found.credits], ["A map", { ...credits, creator: "Ann <b>", copyright: "x".repeat(300), rights }]);
  const page = await (await system.fetch(`/${id}`)).text();
  assert.ok(page.includes(`<p>Ann &lt;b&gt; · ${"x".repeat(300)} · <a href="${rights}"`), page);
});

test("an unknown content cannot be claimed, and a malformed report is refused", async () => {
  assert.equal((await system.claim("00000000000")).status, 404);
  assert.equal((await system.report("00000000000", 1, rendering(0.5))).status, 404);
  const { id } = await system.ask("http://example.com/report.jpg");
  for (const body of ["", "{", "[]", '{"attempt":-1}', '{"attempt":1,"outcome":{"won":{}}}']) {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const response = await system.fetch(`/internal/content/${id}/report`, { method: "POST", headers, body });
    assert.equal(response.status, 400, body);
  }
});

test("a claim has the tiler and whether it is alone", async () => {
  const { id } = await system.ask("http://example.com/said.jpg");
  assert.equal((await system.claim(id, { tiler: 4_000_000_000 })).status, 400);
  assert.equal((await system.claim(id, { tiler: 4_000_000_000, alone: false })).status, 200);
});

test("an unknown failure code becomes internal and keeps its message", async () => {
  const { id } = await system.ask("http://example.com/newer.jpg");
  await system.claim(id);
  const message = "The source has moved.";
  assert.equal((await system.report(id, 1, { "gave-up": { failure: { code: "of-a-newer-tiler", message } } })).status, 204);
  const { failed, failure } = await system.find(id);
  assert.deepEqual([failed, failure.code, failure.message], [true, "internal", message]);
});

test("an expired lease queues the job again, and progress does not decrease", async () => {
  const { id } = await system.ask("http://example.com/killed.jpg");
  await system.claim(id);
  await system.report(id, 1, rendering(0.7));
  await system.advance(29_999);
  assert.equal((await system.claim(id)).status, 409);
  await system.advance(1);
  await eventually(async () => (await jobsOf(id)) === 2);
  assert.equal((await system.report(id, 1, rendering(0.8))).status, 409);
  assert.equal((await (await system.claim(id)).json()).attempt, 2);
  await system.report(id, 2, rendering(0.1));
  assert.equal((await system.find(id)).progress, 0.7);
});

test("reset restarts a failed content", async () => {
  const { id } = await system.ask("http://example.com/again.jpg");
  await system.claim(id);
  const failure = { code: "internal", message: "The fault is ours." };
  await system.report(id, 1, { "gave-up": { failure } });
  assert.ok(await system.finished.get(id));
  assert.equal((await system.reset(id)).status, 200);
  assert.equal(await system.finished.get(id), null);
  assert.equal((await system.find(id)).stage, "queued");
  await eventually(async () => (await jobsOf(id)) === 2);
});
