// Clients who do their worst for half a simulated hour: pages and pictures that fail or take ten minutes, files whole
// and in parts, begun and never finished, completed again and again, made-up ids and queries; and one that opens event
// streams, leaves before every second response, and deletes what it uploads. The Worker is the deployed one, with its
// objects; the clock, the rate limiters and the tiler are the test's. It counts what reaches the store, the queue and
// the objects, and compares it with "What one client can cause" in docs/limits.md. A third client's picture takes at
// most twice its usual time, and its tiles and regions have no error.

import assert from "node:assert/strict";
import net from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { encodePng } from "../viewer/png.mjs";
import { archive, DZI } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { PATIENCE_MS } from "./patience.mjs";
import { byUrl, eventually, startWithClock } from "./system.mjs";

// A fortieth of the limit of production, so that the half hour takes seconds. What a counted request causes does not
// depend on it.
const PER_MINUTE = 3;
const PART = 8 << 20;
const UPLOAD_BYTES = 2 * PART;
const FILES_A_DAY = 20; // in `edge/src/uploads/object.js`, which only the runtime can load
const MAX_GUESSES = 60; // in `edge/src/lookup/unknown_ids.rs`
const REQUESTS = 200; // a tenth of that of production

const STEP = 10_000;
const HALF_HOUR = 1_800_000;
const SLOTS = 4;
/** Time that a picture of the third client takes in a tiler, and that of an attacker. */
const [USUAL, SLOW] = [10_000, 600_000];

/**
 * The Worker between a queue that is a list, and counters. `/jobs` takes jobs from the queue; `/counts` returns and
 * clears the counters.
 */
const COUNTING = `
  import edge, * as inner from "./index.js";
  export * from "./index.js"; // except for the classes below

  console.log = () => {};

  let counts = {};
  const count = (what, by = 1) => (counts[what] = (counts[what] ?? 0) + by);
  const jobs = [];

  /** Counts the calls of a binding, except for those that are replaced. */
  const counted = (name, binding, replaced = {}) =>
    new Proxy(binding, {
      get(target, property) {
        if (Object.hasOwn(replaced, property)) return replaced[property];
        const value = target[property];
        if (property === "constructor" || typeof value !== "function") return value;
        return (...of) => (count(name + "." + property), value.apply(target, of));
      },
    });

  const upload = (of) => counted("store", of);
  const store = (bucket) =>
    counted("store", bucket, {
      async createMultipartUpload(...of) {
        count("store.createMultipartUpload");
        return upload(await bucket.createMultipartUpload(...of));
      },
      resumeMultipartUpload: (...of) => upload(bucket.resumeMultipartUpload(...of)), // reaches no store
    });

  const limiter = (limits, kind = "") =>
    counted("limiter", limits, {
      async limit({ key }) {
        const { success } = await limits.limit({ key });
        if (success) count("admitted " + kind + key);
        return { success };
      },
    });

  const countedAll = (env) => ({
    ...env,
    FINISHED: counted("kv", env.FINISHED),
    PYRAMIDS: store(env.PYRAMIDS),
    UPLOADS: counted("UPLOADS", env.UPLOADS),
    JOBS: counted("queue", env.JOBS, {
      async send(job) {
        count("queue.send");
        jobs.push(job);
      },
    }),
    CREATIONS: limiter(env.CREATIONS),
    RENDERINGS: limiter(env.RENDERINGS, "to render "),
    REQUESTS: limiter(env.REQUESTS, "to request "),
  });

  /** A class of objects whose messages, writes and alarms are counted. */
  const object = (binding, Inner) =>
    class extends Inner {
      constructor(state, env) {
        super(state, countedAll(env));
        const storage = new Proxy(state.storage, {
          get(target, property) {
            const value = target[property];
            if (property === "constructor" || typeof value !== "function") return value;
            return async (...of) => {
              if (["put", "delete", "setAlarm", "deleteAlarm"].includes(property)) count(binding + " writes");
              return value.apply(target, of);
            };
          },
        });
        this.ctx = new Proxy(state, {
          get(target, property) {
            if (property === "storage") return storage;
            const value = target[property];
            return typeof value === "function" && property !== "constructor" ? value.bind(target) : value;
          },
        });
      }

      send(message) {
        count(binding + " messages");
        return super.send(message);
      }

      fetch(request) {
        count(binding + " messages");
        return super.fetch(request);
      }
    };

  export const ConversionObject = object("CONVERSIONS", inner.ConversionObject);
  export const BacklogObject = object("BACKLOG", inner.BacklogObject);
  export class UploadsObject extends inner.UploadsObject {
    constructor(state, env) {
      super(state, countedAll(env));
    }
  }

  export default {
    queue() {},
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/jobs") return Response.json(jobs.splice(0, Number(searchParams.get("most"))));
      if (pathname === "/counts") {
        const made = counts;
        counts = {};
        return Response.json({ ...made, waiting: jobs.length });
      }
      return edge.fetch(request, countedAll(env), context);
    },
  };
`;

/** The ready content's picture. */
const VIEWED = { ...DZI, tileFormat: "png" };

let system;
const now = () => system.now();
/** Id of a ready content with an archive. */
let ready;
aroundTests(begin, () => system.close());

/** Starts a system without jobs. */
async function begin() {
  const limits = { CREATIONS: PER_MINUTE, RENDERINGS: PER_MINUTE, REQUESTS };
  system = await startWithClock({ DEVELOPMENT: "off", UPLOAD_BYTES: String(UPLOAD_BYTES), REGIONS: "on" }, COUNTING, limits);
  await system.reportBacklog({ messages: 0, capacity: { tiler: 7, slots: SLOTS } });
  ready = await readyContent();
}

/** Returns numbers below `below` that are the same in each run. */
let state = 20261125;
function random(below) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}
const pick = (list) => list[random(list.length)];
const randomId = () => Array.from({ length: 11 }, () => pick("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")).join("");
const counts = async () => JSON.parse((await system.send("/counts")).body);
const from = (address) => ({ "CF-Connecting-IP": address });

/** A tiler with `SLOTS` slots in simulated time. */
const tiler = {
  running: [],
  /** Ids of the third client's contents, which are quick. */
  quick: new Set(),
  /** Times at which contents became ready. */
  readyAt: new Map(),

  async work() {
    const over = this.running.filter(({ until }) => until <= now());
    this.running = this.running.filter(({ until }) => until > now());
    for (const { id, attempt, fails } of over) {
      const failure = { code: "source-unreachable", message: "The host is down." };
      const dzi = this.quick.has(id) ? DZI : { ...DZI, width: 60_000, height: 40_000 };
      const outcome = fails ? { "gave-up": { failure, retry: { later: {} } } } : { finished: { dzi } };
      assert.equal((await system.report(id, attempt, outcome)).status, 204);
      if (!fails) this.readyAt.set(id, now());
    }
    await system.reportBacklog({ messages: this.running.length, capacity: { tiler: 7, slots: SLOTS } });
    const jobs = JSON.parse((await system.send(`/jobs?most=${SLOTS - this.running.length}`)).body);
    for (const { id } of jobs) {
      const claimed = await system.claim(id, { tiler: 7, alone: false });
      if (claimed.status !== 200) continue; // a surplus message
      const { attempt, url } = await claimed.json();
      const fails = url.includes("down");
      const takes = this.quick.has(id) ? USUAL : fails ? STEP : SLOW;
      this.running.push({ id, attempt, fails, until: now() + takes });
    }
    // A lease is a minute.
    if (now() % 20_000 === 0) {
      for (const { id, attempt } of this.running) {
        await system.report(id, attempt, { progress: { stage: "rendering", progress: 0.5, tiles: 10_000 } });
      }
    }
  },
};

/** Numbers of requests with made-up queries. */
const queries = { tile: 0, preview: 0, ready: 0, waiting: 0 };

/** The third client's pictures, with the times at which it asked for them. */
const asked = new Map();
/** True if the third client also requests tiles and regions, and the number of times that it has done so. */
let looksAt = false;
let looks = 0;
async function askThird() {
  if (looksAt) {
    for (const path of [`/cache/${ready}/1_files/12/${looks % 8}_0.png`, `/iiif/${ready}/0,0,${2000 + looks},1000/900,450/0/default.jpg`, `/v1/content/${ready}`]) {
      const { status, body } = await system.send(path, { headers: from("203.0.113.3") });
      assert.equal(status, 200, `${path}: ${body.slice(0, 200)}`);
    }
    looks += 1;
  }
  const { body, status } = await system.send(byUrl(`http://third.example/${now()}`), { headers: from("203.0.113.3") });
  assert.equal(status, 301, body);
  const { id } = JSON.parse(body);
  tiler.quick.add(id);
  asked.set(id, now());
}

/** Runs the clock. Returns the longest time that a picture of the third client took. */
async function run(milliseconds, attack = async () => {}) {
  for (const end = now() + milliseconds; now() < end; ) {
    await system.advance(STEP);
    await attack();
    if (now() % 30_000 === 0) await askThird();
    await tiler.work();
  }
  for (let steps = 0; [...asked.keys()].some((id) => !tiler.readyAt.has(id)); steps += 1) {
    assert.ok(steps < 60, "a picture of the third client is never ready");
    await system.advance(STEP);
    await tiler.work();
  }
  const longest = Math.max(...[...asked].map(([id, at]) => tiler.readyAt.get(id) - at));
  asked.clear();
  return longest;
}

/**
 * A client who does its worst. `ready` is the id of a content with an archive, and `sources` says what its sources are.
 */
function attacker(address, sources, ready) {
  const headers = from(address);
  const streams = [];
  const uploads = [];
  let made = 0;
  let waiting;
  let file = 0;
  const send = (path, init) => system.send(path, { ...init, headers: { ...headers, ...init?.headers } });
  /** Uploads a file, on connections of its own: the runtime closes one if it refuses a file that it has not read. */
  async function whole(body, query = "") {
    const init = { method: "POST", redirect: "manual", duplex: "half", headers: { ...headers, "Content-Type": "image/png" } };
    await fetch(`${system.address}/v1/content/${query}`, { ...init, body }).then((response) => response.text()).catch(() => {});
  }
  const name = () => `${address}-${(made += 1)}`;

  const counted = {
    async content() {
      const { status, body } = await send(byUrl(`http://${name()}.example/${sources}`));
      if (status === 301) waiting = JSON.parse(body).id;
    },
    retry: () => waiting && send(`/v1/content/${waiting}?retry=1`),
    begin: async () => {
      const { status, body } = await send("/v1/uploads/", { method: "POST" });
      if (status === 201) uploads.push({ path: new URL(JSON.parse(body).address).pathname, parts: [] });
    },
    complete: async () => {
      const upload = uploads.length > 0 && pick(uploads);
      if (upload) await send(upload.path, { method: "POST", body: JSON.stringify({ parts: upload.parts }) });
    },
    file: () => whole(Buffer.from(name())),
    sameFile: () => whole("the same"),
    fileOfUnknownLength: () => whole(new Blob([name()]).stream()),
    fileInPieces: () => ((file += 1) <= 4 ? whole(Buffer.alloc((5 << 20) + file, name())) : counted.file()),
    otherFile: () => whole(name(), `?digest=${"A".repeat(43)}`),
    nothing: () => whole(""),
  };
  const actions = [...Object.values(counted), counted.content, counted.content, counted.content, counted.begin, counted.complete];

  return {
    /** Requests that count, of which the limit refuses half, parts of uploads, and others that do not count. */
    async step() {
      await pick(actions)();
      const upload = random(2) && uploads.length > 0 && pick(uploads);
      if (upload) {
        const { status, body } = await send(`${upload.path}/1`, { method: "PUT", body: "x" });
        if (status === 200) upload.parts = [JSON.parse(body).etag];
      }
      const paths = { tile: `/cache/${ready}/1_files/14/7_3.png`, preview: `/${ready}/preview.jpg`, ready: `/v1/content/${ready}`, waiting: `/v1/content/${waiting}` };
      const kind = pick(Object.keys(paths));
      queries[kind] += 1;
      await send(`${paths[kind]}?${random(1e9)}`);
    },
    /** Requests what does not exist. */
    async guess(times) {
      const paths = [
        (id) => `/v1/content/${id}`,
        (id) => `/${id}`,
        (id) => `/cache/${id}/1_files/9/0_0.jpg`,
        (id) => `/cache/${id}/1.dzi`,
        (id) => `/iiif/${id}/info.json`,
        (id) => `/${id}/preview.jpg`,
        (id) => `/${id}/download`,
        (id) => `/v1/content/${id}/events`,
      ];
      for (let guesses = 0; guesses < times; guesses += 1) await send(pick(paths)(randomId()));
    },
    async listen(times) {
      for (let opened = 0; opened < times && waiting; opened += 1) {
        const response = await system.fetch(`/v1/content/${waiting}/events`, { headers });
        if (response.status === 200) streams.push(response);
        else await response.text();
      }
      return streams.length;
    },
    leave: () => Promise.all(streams.map(({ body }) => body.cancel())),
  };
}

/**
 * A client that leaves before every second response, at a random moment, and follows all that it has asked for. Returns
 * its step. No stream stays open unless a tiler works on its content.
 */
function restless(address, ready) {
  const headers = from(address);
  const { hostname, port } = new URL(system.address);
  const known = [];
  const owned = [];
  let made = 0;
  /** Sends a request, and perhaps closes the connection by RST. */
  async function send(method, path, body = "") {
    made += 1;
    if (made % 2) {
      const response = await fetch(system.address + path, { method, redirect: "manual", headers, ...(body && { body }) }).catch(() => undefined);
      return response && { status: response.status, body: await response.text().catch(() => "") };
    }
    const socket = net.connect(Number(port), hostname).on("error", () => {});
    const length = body ? `Content-Type: image/png\r\nContent-Length: ${body.length + random(2) * 6_000_000}\r\n` : "";
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\nCF-Connecting-IP: ${address}\r\n${length}\r\n${body}`);
    await pause(random(30));
    socket.resetAndDestroy();
    return undefined;
  }
  /** Waits until a content's stream has ended. */
  async function follow(id) {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    await fetch(`${system.address}/v1/content/${id}/events`, { headers, signal }).then((response) => response.text()).catch(() => {});
    assert.ok(!signal.aborted, "the stream of a content that waits stays open");
  }
  return async () => {
    const created = await send("GET", byUrl(`http://${address}-${made}.example/huge`));
    if (created?.status === 301) known.push(JSON.parse(created.body).id);
    const uploaded = await send("POST", "/v1/content/", `file ${made}`);
    if (uploaded?.status === 301) owned.push(JSON.parse(uploaded.body));
    for (const { id, deletionKey } of owned.splice(0)) {
      if (deletionKey) await system.send(`/v1/content/${id}`, { method: "DELETE", headers: { ...headers, Authorization: `Bearer ${deletionKey}` } });
    }
    await send("GET", `/iiif/${ready}/0,0,${3000 + made},1500/1400,700/0/default.jpg`);
    await send("GET", `/cache/${ready}/1_files/12/${made % 8}_1.png?${made}`);
    await send("GET", `/v1/content/${ready}`); // an odd number of requests, so that each kind is left at times
    const claimed = new Set(tiler.running.map(({ id }) => id));
    for (const id of known.slice(-12, -1).filter((id) => !claimed.has(id))) await follow(id);
  };
}

const sum = (made, ...names) => names.reduce((total, name) => total + (made[name] ?? 0), 0);
const writes = (made) => sum(made, ...["put", "createMultipartUpload", "uploadPart", "complete", "list"].map((of) => `store.${of}`));
const reads = (made) => sum(made, "store.get", "store.head");

/** Creates a ready content with an archive. Some of its tiles are pictures. */
async function readyContent() {
  const tile = encodePng({ width: 512, height: 512, channels: 3, pixels: Buffer.alloc(512 * 512 * 3, 90) }, 1);
  const { object, place, previews } = archive((level, column, row) => (level >= 12 && column < 8 && row < 4 ? tile : "a tile"), VIEWED);
  const { id } = JSON.parse((await system.send(byUrl("http://third.example/ready.tif"), { headers: from("203.0.113.3") })).body);
  await system.send("/jobs?most=9");
  await system.claim(id);
  await system.pyramids.put(`${id}/1.szi`, object);
  assert.equal((await system.report(id, 1, { finished: { dzi: VIEWED, archive: place, previews } })).status, 204);
  return id;
}

test("two clients who do their worst for half an hour hardly delay a third, and cause no more than is documented", async (t) => {
  const usual = await run(5 * 60_000);
  assert.equal(usual, USUAL);
  await counts();

  const attackers = [attacker("203.0.113.1", "huge", ready), attacker("203.0.113.2", "down", ready)];
  const both = (what) => Promise.all(attackers.map(what));
  const begun = now();
  const longest = await run(HALF_HOUR, () => both((of) => of.step()));
  const made = await counts();
  t.diagnostic(JSON.stringify({ longest, ...made }));
  assert.ok(longest <= 2 * usual, `${longest / 1000} s instead of ${usual / 1000}`);

  const counted = sum(made, "admitted 203.0.113.1", "admitted 203.0.113.2");
  const most = 2 * ((now() - begun) / 60_000 + 1) * PER_MINUTE;
  assert.ok(counted > 0.9 * most && counted <= most, `${counted} of ${most} requests were admitted`);
  // As documented: a part of a whole file has 5 MiB, and a file in several parts two more writes.
  const parts = 2 * Math.ceil((FILES_A_DAY * UPLOAD_BYTES) / (5 << 20));
  assert.ok(writes(made) <= 2 * counted + 3 * parts, `${writes(made)} writes of the store by ${counted} requests`);
  // Made-up queries cost one read for a preview, and none for a tile that is in the cache.
  assert.ok(reads(made) <= 2 * counted + queries.preview + 2, `${reads(made)} reads of the store by ${counted} requests`);
  const contents = counted + HALF_HOUR / 30_000;
  assert.ok(made["queue.send"] <= 5 * contents, `${made["queue.send"]} messages in the queue by ${counted} requests`);
  assert.ok(made.waiting <= SLOTS, `${made.waiting} jobs are in the queue`);
  const reports = (now() - begun) / STEP;
  assert.ok(made["BACKLOG messages"] <= 16 * contents + reports, `${made["BACKLOG messages"]} messages to the object with the queue`);
  assert.ok(made["BACKLOG writes"] <= 2 * made["BACKLOG messages"], `${made["BACKLOG writes"]} writes of the object with the queue`);

  // Ids and uploads that do not exist: sixty a minute reach an object, and none the store.
  for (let minute = 0; minute < 3; minute += 1) {
    await run(60_000);
    await counts();
    await both((of) => of.guess(MAX_GUESSES + 20));
    const guessed = await counts();
    assert.deepEqual([writes(guessed), reads(guessed), guessed["queue.send"] ?? 0], [0, 0, 0]);
    assert.ok(guessed["CONVERSIONS messages"] <= 2 * MAX_GUESSES, JSON.stringify(guessed));
    assert.equal(guessed["CONVERSIONS writes"] ?? 0, 0);
  }

  // Event streams: each costs its content's object two messages, and nothing else. None of a content that waits is open.
  const streams = 120;
  const opened = await both((of) => of.listen(streams));
  const listened = await counts();
  t.diagnostic(JSON.stringify({ opened, ...listened }));
  assert.deepEqual([writes(listened), reads(listened), listened["queue.send"] ?? 0, listened["BACKLOG messages"] ?? 0], [0, 0, 0, 0]);
  assert.ok(listened["CONVERSIONS messages"] <= 2 * 2 * streams);
  assert.ok((await run(2 * 60_000)) <= 2 * usual, "while the streams are open");
  await both((of) => of.leave());
});

test("a client that leaves before every second response for half an hour keeps nothing", async (t) => {
  await system.close();
  tiler.running = [];
  await begin();
  looksAt = true;
  const step = restless("203.0.113.4", ready);
  await counts();
  const begun = now();
  const longest = await run(HALF_HOUR, step);
  const made = await counts();
  t.diagnostic(JSON.stringify({ longest, looks, ...made }));
  assert.ok(longest <= 2 * USUAL, `${longest / 1000} s instead of ${USUAL / 1000}`);
  assert.ok(looks >= 50, "the third client's tiles and regions had no error");
  const minutes = (now() - begun) / 60_000 + 1;
  assert.ok(made["admitted 203.0.113.4"] <= minutes * PER_MINUTE && made["admitted to request 203.0.113.4"] <= minutes * REQUESTS);

  // All of the memory that requests share is free: three large files begin beside each other, and a region is rendered.
  const pieces = Array.from({ length: 3 }, (_, number) => {
    let send;
    const body = new ReadableStream({ start: (controller) => (send = controller) });
    send.enqueue(new Uint8Array(1000).fill(number));
    const headers = { ...from(`203.0.113.${50 + number}`), "Content-Type": "image/png" };
    return { send, answer: fetch(`${system.address}/v1/content/`, { method: "POST", redirect: "manual", duplex: "half", headers, body }) };
  });
  let receiving = 0;
  await eventually(async () => (receiving += (await counts())["UPLOADS.getByName"] ?? 0) >= pieces.length);
  await askThird();
  for (const { send } of pieces) send.close();
  for (const { answer } of pieces) assert.equal((await answer).status, 301, "a place was still taken");
});

test("a client has a limit of requests that no cache answers, and others have their own", async () => {
  const ask = async (address) => (await system.send(`/v1/content/${ready}`, { headers: from(address) })).status;
  const statuses = [];
  // One network, whose third group of digits is left out or not.
  for (let number = 0; number < REQUESTS + 5; number += 1) statuses.push(await ask(number % 2 ? `2001:db8:0:${number}::1` : `2001:db8::${number}:0:0:1`));
  assert.deepEqual(statuses, [...Array(REQUESTS).fill(200), ...Array(5).fill(429)]);
  assert.equal(await ask("203.0.113.60"), 200);
  assert.equal((await system.reportBacklog({ messages: 0, capacity: { tiler: 7, slots: SLOTS } })).status, 204, "tilers have none");
  const headers = { ...from("203.0.113.61"), Authorization: "Bearer a-wrong-token" };
  const refused = [];
  for (let number = 0; number < REQUESTS + 5; number += 1) refused.push((await system.request("/internal/backlog", { method: "POST", headers, body: "{}" })).status);
  assert.deepEqual(refused, [...Array(REQUESTS).fill(401), ...Array(5).fill(429)]);
});
