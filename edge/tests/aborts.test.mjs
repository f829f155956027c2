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
import { start } from "./system.mjs";

const DZI = { ...LARGE, tileFormat: "png" };
const A_DAY = 200;
/** Level of which a picture of the whole takes all 48 tiles, if it is a little wider than the level above. */
const LEVEL = 12;

/**
 * The Worker with a store and an operator's object that take their time, so that clients can leave meanwhile. `/slow`
 * sets the milliseconds that each call takes; `/made` returns the number of messages to the operator's object, and the
 * size of the largest memory of the second wasm module. The first one has two megabytes.
 */
const SLOW = `
  import edge from "./index.js";
  export * from "./index.js";

  let slow = 0;
  let asked = 0;
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
          if (property === "countRenderings") asked += 1;
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
      if (pathname === "/made") return Response.json({ asked, bytes: Math.max(...memories.map(({ buffer }) => buffer.byteLength)) });
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

let system;
let noisy;
let plain;
aroundTests(
  async () => {
    system = await start({ REGIONS: "on", REGIONS_A_DAY: `${A_DAY}`, UPLOAD_BYTES: String(20 << 20) }, SLOW);
    const small = encodePng({ width: 512, height: 512, channels: 4, pixels: Buffer.alloc(512 * 512 * 4, 90) }, 1);
    noisy = await store(system, "http://example.com/noisy.png", archiveOf(noise), DZI);
    plain = await store(system, "http://example.com/plain.png", archiveOf(() => small), DZI);
  },
  () => system.close(),
);

/** Sends a request and closes the connection after some milliseconds, by RST. */
async function leave(path, milliseconds, head = "", body = "") {
  const { hostname, port } = new URL(system.address);
  const socket = net.connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(`${head ? "POST" : "GET"} ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${head}\r\n${body}`);
  await pause(milliseconds);
  socket.resetAndDestroy();
}
const slow = (milliseconds) => system.send(`/slow?ms=${milliseconds}`);
const made = async () => JSON.parse((await system.send("/made")).body);
let regions = 0;
/** Returns the path of a region that nobody has requested yet. */
const region = () => `/iiif/${plain}/0,0,${1200 + (regions += 1)},1000/300,250/0/default.jpg`;
const whole = () => `/iiif/${noisy}/full/2040,${700 + (regions += 1)}/0/default.jpg`;

test("regions of clients that leave hold no memory, and a region finds room at once", async () => {
  await system.send(`/cache/${noisy}/1.dzi`);
  await slow(300);
  for (let number = 0; number < 6; number += 1) await leave(whole(), 60);
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

test("renderings of clients that leave use up no more of the day than themselves", async () => {
  const before = await made();
  await slow(150);
  let left = 0;
  for (; left < 40; left += 1) await leave(region(), 30);
  await slow(0);
  const answers = [];
  for (let number = 0; number < 100; number += 1) answers.push((await system.send(region())).status);
  assert.deepEqual(new Set(answers), new Set([200]), `${answers.filter((status) => status === 200).length} of 100 after ${left} that left`);
  const { asked } = await made();
  assert.ok(asked - before.asked <= 8, `${asked - before.asked} messages to the operator's object`);
});

test("uploads of clients that leave keep no place", async () => {
  const head = "Content-Type: image/png\r\nContent-Length: 9000000\r\n";
  for (let number = 0; number < 7; number += 1) await leave("/v1/content/", 60, head, "x".repeat(1000));
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
