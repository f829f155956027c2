// The stream of a content's events: its events, its end, and the limits of subscribers. An object with an open stream is
// billed for all of its time, so contents that wait have none.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { PICTURE, startWithClock } from "./system.mjs";

let system;
aroundTests(async () => (system = await startWithClock()), () => system.close());

/** Subscribes to a content; `next` returns the next event, or null at the end. */
async function listen(id, sent = {}) {
  const { status, headers, body } = await fetch(`${system.address}/v1/content/${id}/events`, { headers: sent });
  if (status !== 200) return { status };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  async function next() {
    while (!text.includes("\n\n")) {
      const { value, done } = await reader.read();
      if (done) return null;
      text += value;
    }
    const end = text.indexOf("\n\n");
    const lines = text.slice(0, end).split("\n");
    text = text.slice(end + 2);
    const field = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    return { id: field("id"), retry: field("retry"), content: field("data") && JSON.parse(field("data")) };
  }
  return { status, headers, next, leave: () => reader.cancel() };
}

test("a subscriber gets the state at once, each change, and the end of the stream", async () => {
  const id = await system.content("http://example.com/live.jpg", "queued");
  const events = await listen(id);
  assert.equal(events.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(events.headers.get("cache-control"), "no-store");
  assert.equal(events.headers.get("access-control-allow-origin"), "*");
  const first = (await events.next()).content;
  assert.deepEqual([first.id, first.stage, first.progress], [id, "queued", 0]);
  await system.claim(id);
  assert.equal((await events.next()).content.stage, "downloading");
  await system.report(id, 1, { progress: { stage: "rendering", progress: 0.5 } });
  const changed = (await events.next()).content;
  assert.deepEqual([changed.stage, changed.progress, changed.coarseUrl], ["rendering", 0.5, undefined]);
  await system.report(id, 1, { progress: { stage: "rendering", progress: 0.5, coarse: 2 } });
  const { coarseUrl } = (await events.next()).content;
  assert.match(coarseUrl, /^http:.*\/cache\/.*\/1_coarse\/2\.jpg$/);
  await system.pyramids.put(`${id}/1_coarse/2.jpg`, "a picture");
  const coarse = await system.send(new URL(coarseUrl).pathname);
  assert.deepEqual([coarse.status, coarse.body], [200, "a picture"]);
  assert.equal((await system.send(new URL(coarseUrl).pathname.replace("2.jpg", "3.jpg"))).status, 204);
  await system.report(id, 1, { finished: { dzi: PICTURE } });
  const last = await events.next();
  assert.deepEqual([last.id, last.content.ready, last.content.progress], ["finished", true, 1]);
  assert.match(last.content.dzi.url, /^http:.*\/cache\/.*\/1\.dzi$/);
  assert.equal(await events.next(), null);
});

test("a finished content is sent once, and a client that has received it gets 204", async () => {
  for (const state of ["ready", "failed"]) {
    const id = await system.content(`http://example.com/${state}.jpg`, state);
    const events = await listen(id);
    const only = await events.next();
    assert.deepEqual([only.id, only.content[state]], ["finished", true]);
    assert.equal(await events.next(), null);
    const again = await system.send(`/v1/content/${id}/events`, { headers: { "Last-Event-ID": "finished" } });
    assert.deepEqual([again.status, again.body], [204, ""]);
  }
});

test("an unknown content has no events, and HEAD opens no stream", async () => {
  assert.equal((await system.send("/v1/content/00000000000/events")).status, 404);
  const id = await system.content("http://example.com/head.jpg", "queued");
  const head = await system.send(`/v1/content/${id}/events`, { method: "HEAD" });
  assert.deepEqual([head.status, head.type, head.body], [200, "text/event-stream; charset=utf-8", ""]);
});

test("a content has at most a hundred subscribers, and those that leave make room", async () => {
  const id = await system.content("http://example.com/popular.jpg", "rendering");
  const all = [];
  for (let count = 0; count < 100; count++) all.push(await listen(id));
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]));
  assert.equal((await listen(id)).status, 503);
  for (const events of all) assert.equal((await events.next()).content.progress, 0.25);
  await Promise.all(all.splice(50).map((events) => events.leave()));
  await system.report(id, 1, { progress: { stage: "rendering", progress: 0.5 } });
  for (const events of all) assert.equal((await events.next()).content.progress, 0.5);
  const late = await listen(id);
  assert.equal(late.status, 200);
  await Promise.all([late, ...all].map((events) => events.leave()));
});

test("a stream that is idle for fifteen seconds sends a heartbeat", async () => {
  const id = await system.content("http://example.com/silent.jpg", "rendering");
  const events = await listen(id);
  await events.next();
  await system.timers(1, 15_000);
  await system.advance(14_999);
  await system.report(id, 1, { progress: { stage: "rendering", progress: 0.5 } });
  assert.equal((await events.next()).content.progress, 0.5, "no heartbeat before that");
  await system.timers(1, 15_000);
  await system.advance(15_000);
  assert.deepEqual(await events.next(), { id: undefined, retry: undefined, content: undefined });
  await events.leave();
});

test("contents that wait keep no stream open, however many a client creates", async () => {
  const queued = await system.content("http://example.com/queued.jpg", "queued");
  await system.advance(10_000);
  const waiting = await system.content("http://example.com/waiting.jpg", "rendering");
  const open = await listen(waiting);
  await open.next();
  const failure = { code: "source-unreachable", message: "The host is down." };
  await system.report(waiting, 1, { "gave-up": { failure, retry: { later: {} } } });
  assert.deepEqual([(await open.next()).content.stage, await open.next()], ["waiting", null], "it ends when the attempt does");
  for (const [id, stage] of [[queued, "queued"], [waiting, "waiting"]]) {
    const events = await listen(id);
    const { content, retry } = await events.next();
    assert.equal(content.stage, stage);
    assert.ok(Number(retry) >= 5000 && Number(retry) <= 60_000, `${stage}: a browser comes back after ${retry} ms`);
    assert.equal(await events.next(), null, stage);
  }
});

test("a stream that is open while a content is queued ends by time, unless a tiler claims it", async () => {
  const left = await system.content("http://example.com/left.jpg", "queued");
  await system.advance(9000);
  const claimed = await system.content("http://example.com/claimed.jpg", "queued");
  const [ending, going] = [await listen(left), await listen(claimed)];
  assert.deepEqual([(await ending.next()).content.stage, (await going.next()).content.stage], ["queued", "queued"]);
  await system.claim(claimed);
  await system.timers(1, 1000);
  await system.advance(1000);
  assert.equal(await ending.next(), null);
  assert.equal((await going.next()).content.stage, "downloading");
  await going.leave();
});

test("one client does not take the places of all others", async () => {
  const id = await system.content("http://example.com/watched.jpg", "rendering");
  const from = (address) => ({ "CF-Connecting-IP": address });
  const own = [];
  for (let count = 0; count < 5; count += 1) own.push(await listen(id, from(count % 2 ? "2001:db8:7:1::1" : "2001:db8:7:2::2")));
  assert.deepEqual(own.map(({ status }) => status), [200, 200, 200, 200, 503]);
  const other = await listen(id, from("203.0.113.7"));
  assert.equal(other.status, 200);
  await Promise.all([...own.slice(0, 4), other].map((events) => events.leave()));
});
