// The platform calls of a request: those of the Worker and of the Durable Objects that it calls. In production each is
// a network round trip.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { countingCalls, startWithClock } from "./system.mjs";

let system;
aroundTests(
  async () => {
    system = await startWithClock({}, countingCalls(["FINISHED", "CONVERSIONS", "CREATIONS", "BACKLOG", "JOBS", "PYRAMIDS"]));
  },
  () => system.close(),
);

const byUrl = (name) => `/v1/content/?url=${encodeURIComponent(`http://example.com/${name}.jpg`)}`;

/** Returns the bindings that a request calls, in order. */
async function calls(path, status) {
  await system.send("/calls");
  const response = await system.send(path, { headers: { "CF-Connecting-IP": "203.0.113.7" } });
  assert.equal(response.status, status, path);
  return JSON.parse((await system.send("/calls")).body).map((call) => call.split(".")[0]);
}

test("a new URL calls its object once, which checks admission and queues the job", async () => {
  const first = await calls(byUrl("first"), 301);
  assert.deepEqual(first, ["FINISHED", "CONVERSIONS", "CREATIONS", "BACKLOG", "JOBS"]);
  const home = await calls("/?url=http%3A%2F%2Fexample.com%2Fsecond.jpg", 302);
  assert.deepEqual(home, ["FINISHED", "CONVERSIONS", "CREATIONS", "BACKLOG", "JOBS"]);
});

test("an existing content needs no admission, and its client is not counted", async () => {
  const id = await system.content("http://example.com/queued.jpg", "queued");
  for (const path of [`/v1/content/${id}`, `/${id}`]) {
    assert.deepEqual(await calls(path, 200), ["FINISHED", "CONVERSIONS"], path);
  }
  assert.deepEqual(await calls(byUrl("queued"), 301), ["FINISHED", "CONVERSIONS"]);
});

test("two clients who ask for a waiting content keep the object with the queue busy once in thirty seconds", async () => {
  const from = (address) => ({ headers: { "CF-Connecting-IP": address } });
  const ask = (name, address) => system.send(byUrl(name), from(address));
  // The first ones get the slots of the tilers that are assumed, and others what is left: a job that is sent would not
  // wait.
  for (let number = 0; number < 18; number += 1) await ask(`line-${number}`, "203.0.113.20");
  for (let number = 0; number < 12; number += 1) await ask(`other-${number}`, `203.0.113.${30 + number}`);
  await ask("waits", "203.0.113.20");
  for (const expected of [1, 0, 1]) {
    await system.send("/calls");
    for (let number = 0; number < 20; number += 1) await ask("waits", `203.0.113.${21 + (number % 2)}`);
    const calls = JSON.parse((await system.send("/calls")).body).filter((call) => call.startsWith("BACKLOG"));
    assert.equal(calls.length, expected, `${calls}`);
    await system.advance(15_000);
  }
});

test("a finished content takes one read of KV", async () => {
  const id = await system.content("http://example.com/ready.jpg", "ready");
  assert.deepEqual(await calls(`/v1/content/${id}`, 200), ["FINISHED"]);
  assert.deepEqual(await calls(`/${id}`, 200), ["FINISHED"]);
  assert.deepEqual(await calls(byUrl("ready"), 301), ["FINISHED"]);
});

test("an unknown id calls its object once in ten seconds, and queues nothing", async () => {
  assert.deepEqual(await calls("/v1/content/00000000000", 404), ["FINISHED", "CONVERSIONS"]);
  for (const path of ["/v1/content/00000000000", "/00000000000", "/v1/dzi/00000000000", "/v1/content/00000000000/events"]) {
    assert.deepEqual(await calls(path, 404), ["FINISHED"], path);
  }
  await system.advance(10_000);
  assert.deepEqual(await calls("/v1/content/00000000000", 404), ["FINISHED", "CONVERSIONS"]);
});

test("a content that is created after a request for its id is found at once", async () => {
  const id = "6qy4OXfXSid"; // of http://example.com/a.jpg
  assert.equal((await system.send(`/v1/content/${id}`)).status, 404);
  assert.equal((await system.send(byUrl("a"))).status, 301);
  assert.equal((await system.send(`/v1/content/${id}`)).status, 200);
});

test("a client that guesses ids is refused after the sixtieth, without a call of an object", async () => {
  const guess = (number) => `/v1/content/${String(number).padStart(11, "0")}`;
  for (let number = 100; number < 170; number++) await system.send(guess(number), { headers: { "CF-Connecting-IP": "203.0.113.7" } });
  assert.deepEqual(await calls(guess(171), 503), ["FINISHED"]);
  const other = await system.send(guess(171), { headers: { "CF-Connecting-IP": "203.0.113.8" } });
  assert.equal(other.status, 404);
});
