// One panic of the Worker's Rust, and what becomes of the other requests of its isolate, of its objects and of their
// streams (docs/decisions/0089). No code of the Worker panics on purpose: the crate `worker` unwraps what an object of
// the store says of itself, and here the store has one that throws.

import assert from "node:assert/strict";
import { test } from "node:test";
import { archive, DZI, store } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { eventually, start } from "./system.mjs";

/**
 * The Worker with a gate behind its store and KV: while it is `/closed`, what they return waits. `/waits` returns the
 * number of calls that have waited. Requests with `Panics` find the hostile object. `/due/<id>` moves the clock to the
 * alarm of a content's object, which the platform then fires, and `/time/<id>` returns its time.
 */
const GATED = `
  import edge, { ConversionObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  let isClosed = false;
  let waits = 0;
  let ahead = 0;
  const { now } = Date;
  globalThis.Date = class extends Date {
    constructor(...of) {
      super(...(of.length > 0 ? of : [now() + ahead]));
    }
    static now() {
      return now() + ahead;
    }
  };
  const hostile = { get uploaded() { throw new Error("hostile"); } };

  /** Returns a binding of which a method waits for the gate, and another one may return the hostile object. */
  const gated = (binding, method, panics) =>
    new Proxy(binding, {
      get(target, property) {
        const value = target[property];
        if (property === "constructor" || typeof value !== "function") return value;
        return async (...of) => {
          if (panics && property === "head") return hostile;
          const result = await value.apply(target, of);
          if (property !== method) return result;
          if (isClosed) waits += 1;
          while (isClosed) await scheduler.wait(10);
          return result;
        };
      },
    });

  export class ConversionObject extends Inner {
    constructor(state, env) {
      super(state, { ...env, FINISHED: gated(env.FINISHED, "put") });
    }

    time() {
      return this.ctx.storage.getAlarm();
    }

    async due() {
      const time = await this.time();
      if (time === null) return time;
      ahead = time - now();
      await this.ctx.storage.setAlarm(now());
      return time;
    }
  }

  export default {
    queue() {},
    async fetch(request, env, context) {
      const { pathname } = new URL(request.url);
      if (pathname === "/closed" || pathname === "/open") return Response.json((isClosed = pathname === "/closed"));
      if (pathname === "/waits") return Response.json(waits);
      const [, method, id] = pathname.split("/");
      if (["due", "time"].includes(method)) return Response.json(await env.CONVERSIONS.getByName(id)[method]());
      const panics = request.headers.has("Panics");
      const bindings = panics ? { PYRAMIDS: gated(env.PYRAMIDS, "head", true) } : { PYRAMIDS: gated(env.PYRAMIDS, "get"), FINISHED: gated(env.FINISHED, "get") };
      return edge.fetch(request, { ...env, ...bindings }, context);
    },
  };
`;

let system;
let id;
aroundTests(
  async () => {
    system = await start({}, GATED);
    id = await store(system, "http://example.com/picture.jpg", archive(), DZI);
    assert.equal((await system.send(tile(0))).status, 200); // the isolate keeps the index
  },
  () => system.close(),
);

const tile = (column) => `/cache/${id}/1_files/14/${column}_3.jpg`;
/** Requests the descriptor, which no cache has: nobody gets it otherwise. */
const panic = () => system.send(`/cache/${id}/1.dzi`, { headers: { Panics: "1" } });
const waits = async () => Number((await system.send("/waits")).body);
const areWaiting = (number) => eventually(async () => (await waits()) === number);
const retriable = ({ status, headers }) => [status, headers.get("Retry-After"), headers.get("Access-Control-Allow-Origin")];

test("a panic ends all that waits for its instance with 503, and the next request is answered", async () => {
  await system.send("/closed");
  const tiles = [1, 2, 3].map((column) => system.send(tile(column)));
  const record = system.send(`/v1/content/${id}`);
  await areWaiting(4);
  for (const answer of [await panic(), ...(await Promise.all(tiles))]) assert.deepEqual(retriable(answer), [503, "1", "*"]);
  await system.send("/open");
  assert.deepEqual(retriable(await record), [503, "1", "*"], "its route was in the memory of the instance");
  for (const path of [tile(1), `/v1/content/${id}`]) assert.equal((await system.send(path)).status, 200, path);
});

test("an object whose instance panics goes on with what it has stored, its calls fail, and its streams end", async () => {
  const [followed, reported] = await Promise.all(["followed", "reported"].map((name) => system.content(`http://example.com/${name}.jpg`, "rendering")));
  const events = (await system.fetch(`/v1/content/${followed}/events`)).body.getReader();
  assert.equal((await events.read()).done, false);
  const end = events.read().then(({ done }) => done, () => true);
  await system.send("/closed");
  const report = system.report(reported, 1, { finished: { dzi: DZI } });
  await areWaiting(5);
  await panic();
  assert.equal((await report).status, 503, "a tiler reports again");
  assert.equal(await end, true, "a browser opens it again");
  await system.send("/open");
  assert.equal((await system.report(reported, 1, { finished: { dzi: DZI } })).status, 204);
  const states = await Promise.all([followed, reported].map((id) => system.find(id)));
  assert.deepEqual(states.map(({ ready, stage }) => [ready, stage]), [[false, "rendering"], [true, undefined]]);
  assert.equal((await system.report(followed, 1, { finished: { dzi: DZI } })).status, 204);
  assert.equal((await system.ask("http://example.com/followed.jpg")).ready, true);
});

test("an alarm after a panic does what the panic interrupted, and one that a panic ends is repeated", async () => {
  const id = await system.content("http://example.com/alarmed.jpg", "rendering");
  const before = await waits();
  await system.send("/closed");
  const report = system.report(id, 1, { finished: { dzi: DZI } });
  await areWaiting(before + 1);
  await panic();
  assert.equal((await report).status, 503, "its state is stored, with an alarm to write it to KV again");
  for (const time of [2, 3]) {
    await eventually(async () => (await system.send(`/due/${id}`)).body !== "null");
    await areWaiting(before + time);
    if (time === 2) await panic();
  }
  await system.send("/open");
  await eventually(async () => (await system.send(`/time/${id}`)).body === "null");
  assert.equal((await system.find(id)).ready, true);
});
