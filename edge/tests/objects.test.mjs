// Which failed calls of Durable Objects are repeated, and which methods they have.

import assert from "node:assert/strict";
import { test } from "node:test";
import { repeated, wasReset } from "../src/platform/objects.js";
import { RESETS } from "./errors.mjs";
import { startWith } from "./system.mjs";

test("errors of a reset are told from those of the object's own code, and from an overload", () => {
  for (const error of RESETS) assert.equal(wasReset(Object.assign(new Error(), error)), true, error.message);
  const others = [
    { message: "The storage fails.", remote: true },
    { message: "Durable Object is overloaded.", retryable: true, overloaded: true },
    { message: "Requests queued for too long.", durableObjectReset: true, overloaded: true },
  ];
  for (const error of [...others, undefined, null, "reset"]) assert.equal(wasReset(error), false, error?.message);
});

test("a call is repeated once, on a new stub, and the second error is that of the call", async () => {
  let stubs = 0;
  const throwing = (times) => async () => {
    stubs += 1;
    if (stubs <= times) throw Object.assign(new Error(`reset ${stubs}`), { retryable: true });
    return stubs;
  };
  assert.equal(await repeated(throwing(1)), 2);
  stubs = 0;
  await assert.rejects(repeated(throwing(9)), /reset 2/);
  assert.equal(stubs, 2);
  await assert.rejects(repeated(() => Promise.reject(new TypeError("a fault"))), /a fault/);
});

test("the first module's classes have the methods of those in the second one", async () => {
  const entry = `
    import edge, * as first from "./index.js";
    import * as second from "./objects.js";
    export * from "./index.js";

    const methods = (of) => Object.getOwnPropertyNames(of?.prototype ?? {}).sort().join();
    const classes = Object.entries(second).filter(([, { prototype }]) => prototype);
    export default { fetch: () => Response.json(classes.map(([name, of]) => [name, methods(first[name]), methods(of)])) };
  `;
  const system = await startWith({ entry });
  const classes = JSON.parse((await system.send("/")).body);
  await system.close();
  assert.equal(classes.length, 7);
  for (const [name, first, second] of classes) assert.equal(first, second, name);
});
