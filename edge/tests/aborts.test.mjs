// Clients that leave before their response: the runtime drops what their requests await, so whatever these took has to
// come back by itself. Each test fails if a request ends where its client leaves.

import assert from "node:assert/strict";
import { randomFillSync } from "node:crypto";
import net from "node:net";
import { test } from "node:test";
import { encodePng } from "../viewer/png.mjs";
import { DZI as LARGE, archive, grid, store } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { eventually, start, startWithClock } from "./system.mjs";

const DZI = { ...LARGE, tileFormat: "png" };
/** Level of which a picture of the whole takes all 48 tiles, if it is a little wider than the level above. */
const LEVEL = 12;

/**
 * The Worker with a gate behind its store and its objects, so that clients can leave meanwhile: while it is `/closed`,
 * no call returns. `/made` returns the number of calls, that of requests that made any, that of clients which have
 * left, and the size of the largest memory of the second wasm module. The first one has two megabytes.
 */
const GATED = `
  import edge from "./index.js";
  export * from "./index.js";

  let isClosed = false;
  let calls = 0;
  let left = 0;
  const callers = new Set();
  const memories = [];
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function (...of) {
    const instance = new Instance(...of);
    memories.push(instance.exports.memory);
    return instance;
  };

  /** Returns a binding whose calls of a method by a request wait for the gate. */
  const gated = (binding, method, request) =>
    new Proxy(binding, {
      get(target, property) {
        const value = target[property];
        if (property === "constructor" || typeof value !== "function") return value;
        if (property === "getByName") return (...of) => gated(target.getByName(...of), method, request);
        return async (...of) => {
          const result = await target[property](...of);
          if (property !== method) return result;
          calls += 1;
          callers.add(request);
          while (isClosed) await scheduler.wait(10);
          return result;
        };
      },
    });

  export default {
    queue() {},
    async fetch(request, env, context) {
      const { pathname } = new URL(request.url);
      if (pathname === "/closed" || pathname === "/open") return Response.json((isClosed = pathname === "/closed"));
      if (pathname === "/made") return Response.json({ calls, callers: callers.size, left, bytes: Math.max(...memories.map(({ buffer }) => buffer.byteLength)) });
      request.signal.addEventListener("abort", () => (left += 1));
      const methods = { PYRAMIDS: "get", OPERATOR: "countRenderings", UPLOADS: "receive" };
      const bindings = Object.entries(methods).map(([name, method]) => [name, gated(env[name], method, request)]);
      return edge.fetch(request, { ...env, ...Object.fromEntries(bindings) }, context);
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

const noisyArchive = archiveOf(noise);
const small = encodePng({ width: 512, height: 512, channels: 4, pixels: Buffer.alloc(512 * 512 * 4, 90) }, 1);

let system;
let noisy;
aroundTests(
  async () => {
    system = await start({ REGIONS: "on", UPLOAD_BYTES: String(20 << 20) }, GATED);
    noisy = await store(system, "http://example.com/noisy.png", noisyArchive, DZI);
  },
  () => system.close(),
);

/** Sends a request, and closes the connection by RST once it has made one of the calls. */
async function leave(at, request) {
  const { hostname, port } = new URL(at.address);
  const { callers } = await made(at);
  const socket = net.connect(Number(port), hostname);
  socket.on("error", () => {});
  const [head, body = ""] = request.split("\n\n");
  socket.write(`${head.replace("\n", `\nHost: ${hostname}\n`).replaceAll("\n", "\r\n")}\r\n\r\n${body}`);
  await eventually(async () => (await made(at)).callers > callers);
  socket.resetAndDestroy();
}
const get = (path) => `GET ${path} HTTP/1.1\n`;
const made = async (at) => JSON.parse((await at.send("/made")).body);
let regions = 0;
/** Returns the path of a region that nobody has requested yet. */
const region = (of) => `/iiif/${of}/0,0,${1200 + (regions += 1)},1000/300,250/0/default.jpg`;
const whole = () => `/iiif/${noisy}/full/2040,${700 + (regions += 1)}/0/default.jpg`;

test("regions of clients that leave hold no memory, and the next one finds room", async () => {
  // Reads the index, and takes a block of the day's renderings.
  assert.equal((await system.send(whole())).status, 200);
  await system.send("/closed");
  // Both together have nearly all of it.
  for (let number = 0; number < 2; number += 1) await leave(system, get(whole()));
  await eventually(async () => (await made(system)).left === 2); // the runtime aborts the signals of their requests
  await system.send("/open");
  for (let number = 0; number < 3; number += 1) {
    const { status, body } = await system.send(whole());
    assert.equal(status, 200, body.slice(0, 200));
  }
});

test("the largest region takes less than 64 MB", async (t) => {
  const alone = await start({ REGIONS: "on" }, GATED);
  try {
    const of = await store(alone, "http://example.com/noisy.png", noisyArchive, DZI);
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
  const bounded = await start({ REGIONS: "on", REGIONS_A_DAY: `${aDay}` }, GATED);
  try {
    const of = await store(bounded, "http://example.com/plain.png", archiveOf(() => small), DZI);
    await bounded.send(`/cache/${of}/1.dzi`); // reads the index
    await bounded.send("/closed");
    await leave(bounded, get(region(of)));
    await bounded.send("/open");
    const statuses = [];
    for (let number = 0; number < aDay; number += 1) statuses.push((await bounded.send(region(of))).status);
    assert.deepEqual(statuses, [...Array(aDay - 1).fill(200), 503]);
  } finally {
    await bounded.close();
  }
});

test("requests that run at the same time take one block of the day's renderings", async () => {
  const bounded = await startWithClock({ REGIONS: "on", REGIONS_A_DAY: "1000" }, GATED);
  try {
    const of = await store(bounded, "http://example.com/plain.png", archiveOf(() => small), DZI);
    await bounded.send(`/cache/${of}/1.dzi`);
    const { calls } = await made(bounded);
    await bounded.send("/closed");
    const answers = Array.from({ length: 8 }, () => bounded.send(region(of)));
    await bounded.timers(7, 5000); // the others wait for the first one
    await bounded.send("/open");
    for (const answer of answers) assert.equal((await answer).status, 200);
    assert.equal((await made(bounded)).calls - calls, 8 + 1, "reads of the store, and one message");
  } finally {
    await bounded.close();
  }
});

test("uploads of clients that leave keep no place", async () => {
  const request = `POST /v1/content/ HTTP/1.1\nContent-Type: image/png\nContent-Length: 9000000\n\n${"x".repeat(1000)}`;
  for (let number = 0; number < 7; number += 1) await leave(system, request);
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
