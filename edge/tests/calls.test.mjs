// How many calls of the platform a request takes: those of the Worker, and those of the Durable Objects that it calls.
// Each call is a way through the network in production.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./wire.mjs";

/** The Worker and its object with an environment whose calls are counted. `/calls` gives them and begins anew. */
const COUNTING = `
  import edge, { ConversionObject as Inner } from "./index.js";
  export * from "./index.js"; // but for the class below

  let calls = [];
  const COUNTED = ["FINISHED", "CONVERSIONS", "CREATIONS", "BACKLOG", "JOBS", "PYRAMIDS"];

  /** The binding, with a note of each call. The Worker checks the class of a binding by its constructor. */
  function counted(name, binding) {
    return new Proxy(binding, {
      get(target, property) {
        const value = target[property];
        if (property === "constructor" || typeof value !== "function") return value;
        return (...of) => (calls.push(name), value.apply(target, of));
      },
    });
  }
  const countedAll = (env) => ({ ...env, ...Object.fromEntries(COUNTED.map((name) => [name, counted(name, env[name])])) });

  export class ConversionObject extends Inner {
    constructor(state, env) {
      super(state, countedAll(env));
    }
  }

  export default {
    queue() {},
    fetch(request, env) {
      if (new URL(request.url).pathname !== "/calls") return edge.fetch(request, countedAll(env));
      const made = calls;
      calls = [];
      return Response.json(made);
    },
  };
`;

let system;
before(async () => (system = await start({}, COUNTING)));
after(() => system.close());

const byUrl = (name) => `/v1/content/?url=${encodeURIComponent(`http://example.com/${name}.jpg`)}`;

/** The calls that a request takes, in their order. */
async function calls(path, status) {
  await system.send("/calls");
  const response = await system.send(path, { headers: { "CF-Connecting-IP": "203.0.113.7" } });
  assert.equal(response.status, status, path);
  return JSON.parse((await system.send("/calls")).body);
}

test("a new URL asks its object once, which checks admission and queues it", async () => {
  const first = await calls(byUrl("first"), 301);
  assert.deepEqual(first, ["FINISHED", "CONVERSIONS", "CREATIONS", "BACKLOG", "JOBS"]);
  const home = await calls("/?url=http%3A%2F%2Fexample.com%2Fsecond.jpg", 302);
  assert.deepEqual(home, ["FINISHED", "CONVERSIONS", "CREATIONS", "BACKLOG", "JOBS"]);
});

test("a content that exists is not checked, and its client is not counted", async () => {
  const id = await system.content("http://example.com/queued.jpg", "queued");
  for (const path of [`/v1/content/${id}`, `/${id}`]) {
    assert.deepEqual(await calls(path, 200), ["FINISHED", "CONVERSIONS"], path);
  }
  assert.deepEqual(await calls(byUrl("queued"), 301), ["FINISHED", "CONVERSIONS"]);
});

test("a finished content takes one read of KV", async () => {
  const id = await system.content("http://example.com/ready.jpg", "ready");
  assert.deepEqual(await calls(`/v1/content/${id}`, 200), ["FINISHED"]);
  assert.deepEqual(await calls(`/${id}`, 200), ["FINISHED"]);
  assert.deepEqual(await calls(byUrl("ready"), 301), ["FINISHED"]);
});

test("an id without a content asks its object once in ten seconds, and nothing is queued", async () => {
  assert.deepEqual(await calls("/v1/content/00000000000", 404), ["FINISHED", "CONVERSIONS"]);
  for (const path of ["/v1/content/00000000000", "/00000000000", "/v1/dzi/00000000000", "/v1/content/00000000000/events"]) {
    assert.deepEqual(await calls(path, 404), ["FINISHED"], path);
  }
});

test("a content is found at once when it is created after a request for its id", async () => {
  const id = "6qy4OXfXSid"; // of http://example.com/a.jpg
  assert.equal((await system.send(`/v1/content/${id}`)).status, 404);
  assert.equal((await system.send(byUrl("a"))).status, 301);
  assert.equal((await system.send(`/v1/content/${id}`)).status, 200);
});

test("a client that guesses ids asks no object after the sixtieth, and has to wait", async () => {
  const guess = (number) => `/v1/content/${String(number).padStart(11, "0")}`;
  for (let number = 100; number < 170; number++) await system.send(guess(number), { headers: { "CF-Connecting-IP": "203.0.113.7" } });
  assert.deepEqual(await calls(guess(171), 503), ["FINISHED"]);
  const other = await system.send(guess(171), { headers: { "CF-Connecting-IP": "203.0.113.8" } });
  assert.equal(other.status, 404);
});
