// Calls of Durable Objects that are reset after they have done what was asked and before they reply, as a deployment does:
// what two calls do as one is called once more, and nothing else.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { aroundTests } from "./around.mjs";
import { RESETS } from "./errors.mjs";
import { ALONE, byUrl, eventually, start } from "./system.mjs";

/**
 * The Worker, and conversions' objects, whose calls of other objects fail when these have returned. `/fail` says which call
 * fails how often with which error, and returns the calls since the last `/fail` and all messages of the queue.
 */
const RESET = `
  import edge, { ConversionObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  let failing = {};
  let calls = [];
  const messages = [];

  const stub = (name, target) =>
    new Proxy(target, {
      get: (_, method) => async (...of) => {
        const call = name + "." + method;
        const reply = await target[method](...of);
        calls.push(call);
        if (failing.call !== call || failing.times === 0) return reply;
        failing.times -= 1;
        throw Object.assign(new Error(failing.error.message), failing.error);
      },
    });
  /** The Worker checks the class of a binding by its constructor. */
  const namespace = (name, target) =>
    new Proxy(target, {
      get(_, property) {
        const value = target[property];
        if (property === "getByName") return (...of) => stub(name, target.getByName(...of));
        return property !== "constructor" && typeof value === "function" ? value.bind(target) : value;
      },
    });
  const NAMES = ["CONVERSIONS", "BACKLOG", "CONTENTS", "OPERATOR"];
  const wrapped = (env) => ({ ...env, ...Object.fromEntries(NAMES.map((name) => [name, namespace(name, env[name])])) });

  export class ConversionObject extends Inner {
    constructor(state, env) {
      super(state, wrapped(env));
    }
  }

  export default {
    queue: ({ messages: [{ body }] }) => void messages.push(body),
    async fetch(request, env, context) {
      if (new URL(request.url).pathname !== "/fail") return edge.fetch(request, wrapped(env), context);
      const made = { calls, messages };
      calls = [];
      failing = await request.json();
      return Response.json(made);
    },
  };
`;

let system;
aroundTests(async () => (system = await start({}, RESET)), () => system.close());

/** Makes the next calls fail. Returns the calls since the last time, and the messages in the queue. */
const fail = async (call, error, times = 1) => (await system.request("/fail", { method: "POST", body: JSON.stringify({ call, error, times }) })).json();
const made = async (call) => (await fail("none")).calls.filter((name) => name === call).length;
afterEach(() => fail("none"));

test("requests for a content outlast a reset of its object, and its job is sent once", async () => {
  for (const [number, error] of RESETS.entries()) {
    const url = `http://example.com/${number}.jpg`;
    await fail("CONVERSIONS.send", error);
    const { status, headers } = await system.send(byUrl(url));
    assert.deepEqual([status, await made("CONVERSIONS.send")], [301, 2], error.message);
    const id = headers.get("location").match(/content\/([^/?]+)/)[1];
    await fail("CONVERSIONS.send", error);
    assert.equal((await system.send(`/v1/content/${id}`)).status, 200);
    assert.equal(await made("CONVERSIONS.send"), 2);
    const sent = await eventually(async () => (await fail("none")).messages.filter((message) => message.id === id));
    assert.equal(sent.length, 1);
    assert.equal((await system.claim(id)).status, 200);
  }
});

test("an object that is reset again and again is called twice, one that is overloaded once", async () => {
  for (const [error, times, calls] of [[RESETS[0], 9, 2], [{ message: "Overloaded.", retryable: true, overloaded: true }, 1, 1], [{ message: "A fault." }, 1, 1]]) {
    await fail("CONVERSIONS.send", error, times);
    assert.equal((await system.send(byUrl("http://example.com/again.jpg"))).status, 503, error.message);
    assert.equal(await made("CONVERSIONS.send"), calls, error.message);
  }
});

test("a claim and a report are not repeated: the first one may have counted", async () => {
  const { id } = await system.ask("http://example.com/claim.jpg");
  await fail("CONVERSIONS.send", RESETS[1]);
  assert.equal((await system.claim(id)).status, 503);
  assert.equal(await made("CONVERSIONS.send"), 1);
  assert.equal((await system.claim(id, ALONE)).status, 409, "the claim was taken");
  await fail("CONVERSIONS.send", RESETS[1]);
  const lost = { "gave-up": { failure: { code: "source-unreachable", message: "Down." } } };
  assert.equal((await system.report(id, 1, lost)).status, 503);
  assert.equal(await made("CONVERSIONS.send"), 1);
});

test("objects that conversions call are called once more, too, and count a job once", async () => {
  await fail("BACKLOG.send", RESETS[1]);
  const client = { "CF-Connecting-IP": "203.0.113.9" };
  const { id } = await (await system.request(byUrl("http://example.com/admitted.jpg"), { headers: client })).json();
  assert.ok((await made("BACKLOG.send")) >= 2);
  const sent = await eventually(async () => (await fail("none")).messages.filter((message) => message.id === id));
  assert.equal(sent.length, 1);
  await system.claim(id);
  await fail("CONTENTS.note", RESETS[1]);
  const failure = { code: "source-not-found", message: "There is nothing at the URL (404)." };
  assert.equal((await system.report(id, 1, { "gave-up": { failure } })).status, 204);
  await eventually(async () => (await system.operate("list", {})).contents?.some((row) => row.id === id));
});
