// Clients that leave before their response: the runtime drops what their requests await, so whatever these took has to
// come back by itself. Each test fails if a request ends where its client leaves.

import assert from "node:assert/strict";
import { randomFillSync } from "node:crypto";
import net from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { encodePng } from "../viewer/png.mjs";
import { DZI as LARGE, archive, grid, store } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { eventually, start } from "./system.mjs";

const DZI = { ...LARGE, tileFormat: "png" };
/** Level of which a picture of the whole takes all 48 tiles, if it is a little wider than the level above. */
const LEVEL = 12;

/**
 * The Worker with a store and an operator's object that take their time, so that clients can leave meanwhile. `/slow`
 * sets the milliseconds that each call takes; `/made` returns the number of calls that were slow, and the size of
 * the largest memory of the second wasm module. The first one has two megabytes.
 */
const SLOW = `
  import edge from "./index.js";
  export * from "./index.js";

  let slow = 0;
  let begun = 0;
  const memories = [];
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function (...of) {
    const instance = new Instance(...of);
    memories.push(instance.exports.memory);
    return instance;
  };

  /** Returns a binding whose calls of these methods take their time. */
  const slowly = (binding, methods) =>
    new Proxy(binding, {
      get(target, property) {
        const value = target[property];
        if (property === "constructor" || typeof value !== "function") return value;
        if (property === "getByName") return (...of) => slowly(target.getByName(...of), methods);
        return async (...of) => {
          if (!methods.includes(property)) return target[property](...of);
          if (slow > 0) begun += 1;
          const result = await target[property](...of);
          await scheduler.wait(slow);
          return result;
        };
      },
    });

  export default {
    queue() {},
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/slow") return Response.json((slow = Number(searchParams.get("ms"))));
      if (pathname === "/made") return Response.json({ begun, bytes: Math.max(...memories.map(({ buffer }) => buffer.byteLength)) });
      return edge.fetch(request, { ...env, PYRAMIDS: slowly(env.PYRAMIDS, ["get"]), OPERATOR: slowly(env.OPERATOR, ["countRenderings"]) }, context);
    },
  };
`;

/** Returns a tile with opacity and noise: about half a megabyte, as much as a region of 48 tiles may have of each. */
function noise(column, row) {
  const [columns, rows] = grid(LEVEL, DZI);
  const [width, height] = [column === columns - 1 ? 4000 % 512 : 512, row === rows - 1 ? 3000 % 512 : 512];
  const pixels = Buffer.alloc(width * height * 4, 90);
  randomFillSync(pixels, 0, Math.min(480_000, pixels.length));
  return encodePng({ width, height, channels: 4, pixels }, 1);
}

/** Returns an archive whose level `LEVEL` has tiles. */
const archiveOf = (fill) => archive((level, ...place) => (level === LEVEL ? fill(...place) : "none"), DZI);

const small = encodePng({ width: 512, height: 512, channels: 4, pixels: Buffer.alloc(512 * 512 * 4, 90) }, 1);

let system;
let noisy;
aroundTests(
  async () => {
    system = await start({ REGIONS: "on", UPLOAD_BYTES: String(20 << 20) }, SLOW);
    noisy = await store(system, "http://example.com/noisy.png", archiveOf(noise), DZI);
  },
  () => system.close(),
);

/** Sends a request, and closes the connection by RST once one of the slow calls, or another condition, has begun. */
async function leave(at, request, hasBegun) {
  const { hostname, port } = new URL(at.address);
  const { begun } = await made(at);
  const socket = net.connect(Number(port), hostname);
  socket.on("error", () => {});
  const [head, body = ""] = request.split("\n\n");
  socket.write(`${head.replace("\n", `\nHost: ${hostname}\n`).replaceAll("\n", "\r\n")}\r\n\r\n${body}`);
  await (hasBegun ? hasBegun() : eventually(async () => (await made(at)).begun > begun));
  socket.resetAndDestroy();
}
const get = (path) => `GET ${path} HTTP/1.1\n`;
const slow = (milliseconds, at = system) => at.send(`/slow?ms=${milliseconds}`);
const made = async (at) => JSON.parse((await at.send("/made")).body);
let regions = 0;
/** Returns the path of a region that nobody has requested yet. */
const region = (of) => `/iiif/${of}/0,0,${1200 + (regions += 1)},1000/300,250/0/default.jpg`;
const whole = () => `/iiif/${noisy}/full/2040,${700 + (regions += 1)}/0/default.jpg`;

test("regions of clients that leave hold no memory, and the next one finds room", async () => {
  // Reads the index, and takes a block of the day's renderings.
  assert.equal((await system.send(whole())).status, 200);
  await slow(1500);
  // Both together have nearly all of it.
  for (let number = 0; number < 2; number += 1) await leave(system, get(whole()));
  await slow(0);
  for (let number = 0; number < 3; number += 1) {
    const { status, body } = await system.send(whole());
    assert.equal(status, 200, body.slice(0, 200));
  }
});

test("the largest region takes less than 64 MB", async (t) => {
  const alone = await start({ REGIONS: "on" }, SLOW);
  try {
    const of = await store(alone, "http://example.com/noisy.png", archiveOf(noise), DZI);
    for (const format of ["png", "jpg", "webp"]) {
      const { status, body } = await alone.send(`/iiif/${of}/full/2040,980/0/default.${format}`);
      assert.equal(status, 200, body.slice(0, 200));
    }
    const { bytes } = JSON.parse((await alone.send("/made")).body);
    t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
    assert.ok(bytes > 24 << 20 && bytes < 62e6, `${bytes} bytes`);
  } finally {
    await alone.close();
  }
});

test("a client that leaves while the day's renderings are counted uses up no more than its own", async () => {
  const aDay = 8; // the first block
  const bounded = await start({ REGIONS: "on", REGIONS_A_DAY: `${aDay}` }, SLOW);
  try {
    const of = await store(bounded, "http://example.com/plain.png", archiveOf(() => small), DZI);
    await slow(1500, bounded);
    await leave(bounded, get(region(of)));
    await slow(0, bounded);
    const statuses = [];
    for (let number = 0; number < aDay; number += 1) statuses.push((await bounded.send(region(of))).status);
    assert.deepEqual(statuses, [...Array(aDay - 1).fill(200), 503]);
  } finally {
    await bounded.close();
  }
});

test("requests that run at the same time take one block of the day's renderings", async () => {
  const bounded = await start({ REGIONS: "on", REGIONS_A_DAY: "1000" }, SLOW);
  try {
    const of = await store(bounded, "http://example.com/plain.png", archiveOf(() => small), DZI);
    await bounded.send(`/cache/${of}/1.dzi`);
    await slow(100, bounded);
    const answers = await Promise.all(Array.from({ length: 8 }, () => bounded.send(region(of))));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal((await made(bounded)).begun, 8 + 1, "reads of the store, and one message");
  } finally {
    await bounded.close();
  }
});

test("uploads of clients that leave keep no place", async () => {
  const request = `POST /v1/content/ HTTP/1.1\nContent-Type: image/png\nContent-Length: 9000000\n\n${"x".repeat(1000)}`;
  for (let number = 0; number < 7; number += 1) await leave(system, request, () => pause(60));
  const upload = async () => (await system.send("/v1/content/", { method: "POST", body: Buffer.alloc(9_000_000, `${(regions += 1)}`), headers: { "Content-Type": "image/png" } })).status;
  const statuses = await Promise.all([upload(), upload(), upload()]);
  assert.deepEqual(statuses, [301, 301, 301]);
});

test("a reply of another version of the operator's object is no allowance without end", async () => {
  const other = await start({ REGIONS: "on" }, `
    export { default } from "./index.js";
    export * from "./index.js";
    import { OperatorObject as Inner } from "./index.js";
    export class OperatorObject extends Inner {
      countRenderings() {
        return new Response("Unknown message", { status: 400 });
      }
    }
  `);
  try {
    const of = await store(other, "http://example.com/other.png", archive(() => "none", DZI), DZI);
    for (let number = 0; number < 3; number += 1) assert.equal((await other.send(`/iiif/${of}/full/${90 + number},/0/default.jpg`)).status, 503);
  } finally {
    await other.close();
  }
});
