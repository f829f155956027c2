// Attacks by uploads: keeping places, filling the store, completing a file again and again, learning a key.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mock, test } from "node:test";
import { free, hold } from "../src/platform/bounds.js";
import { chunksOf, putPart, takePlace } from "../src/uploads/files.js";
import { aroundTests } from "./around.mjs";
import { countingCalls, startWithClock } from "./system.mjs";

const PART = 8 << 20;
const MOST = 2 * PART;
const MINUTE = 60_000;
// The limits in `edge/src/uploads/object.js`, which only the runtime can load.
const [MAX_OPEN, MAX_TRIES, MAX_PUTS, FILES_A_DAY] = [16, 16, 2 * 2 + 8, 20];

let system;
aroundTests(async () => (system = await startWithClock({ UPLOAD_BYTES: String(MOST) }, countingCalls(["PYRAMIDS", "CREATIONS", "UPLOADS"]))), () => system.close());

let clients = 0;
/** Returns the headers of a client that has not sent anything yet. */
const newClient = () => ({ "CF-Connecting-IP": `203.0.113.${++clients}` });
const digest = (body) => createHash("sha256").update(body).digest("base64url");
const begin = (headers, query = "") => system.send(`/v1/uploads/${query}`, { method: "POST", headers });
const begun = async (headers, query) => new URL(JSON.parse((await begin(headers, query)).body).address).pathname;
const put = (path, number, body, headers) => system.send(`${path}/${number}`, { method: "PUT", body, headers });
const finish = (path, parts, headers) => system.send(path, { method: "POST", body: JSON.stringify({ parts }), headers });
const etag = ({ body }) => JSON.parse(body).etag;
const calls = async () => JSON.parse((await system.send("/calls")).body);

test("a file is read for its hash once, and each time that it is completed counts as a new content", async () => {
  const headers = newClient();
  const path = await begun(headers);
  const part = etag(await put(path, 1, Buffer.alloc(1000, "once"), headers));
  await calls();
  const first = await finish(path, [part], headers);
  assert.equal(first.status, 301, first.body);
  const read = (made) => made.filter((call) => call === "PYRAMIDS.get").length;
  const firstCalls = await calls();
  assert.deepEqual([read(firstCalls), firstCalls.filter((call) => call.startsWith("CREATIONS")).length], [1, 1]);
  for (let again = 1; again < MAX_TRIES; again += 1) {
    const repeated = await finish(path, [part], headers);
    assert.deepEqual([repeated.status, repeated.headers.get("Location")], [301, first.headers.get("Location")]);
  }
  const repeatedCalls = await calls();
  assert.equal(read(repeatedCalls), 0, "the digest is kept");
  assert.equal(repeatedCalls.filter((call) => call.startsWith("CREATIONS")).length, MAX_TRIES - 1);
  assert.equal((await finish(path, [part], newClient())).status, 404, "not for ever");
});

test("parts are not sent again without end", async () => {
  const headers = newClient();
  const path = await begun(headers);
  const answers = [];
  for (let times = 0; times <= MAX_PUTS; times += 1) answers.push((await put(path, 1, "x", headers)).status);
  assert.deepEqual(answers, [...Array(MAX_PUTS).fill(200), 400]);
});

test("a client's uploads that are not complete have a maximum number and size, and others' do not count", async () => {
  const headers = newClient();
  const paths = [];
  for (let number = 0; number < MAX_OPEN; number += 1) paths.push(await begun(headers));
  const refused = await begin(headers);
  assert.deepEqual([refused.status, refused.headers.get("Retry-After")], [503, "3600"]);
  assert.match(refused.body, /not complete/);
  assert.equal((await begin(newClient())).status, 201);

  const whole = Buffer.alloc(PART, "open");
  for (const path of paths.slice(0, 2)) for (const number of [1, 2]) assert.equal((await put(path, number, whole, headers)).status, 200);
  assert.equal((await put(paths[2], 1, "x", headers)).status, 503, "two of the largest files are open");
  assert.equal((await put(paths[2], 1, "x", newClient())).status, 503, "whichever client sends it");
  assert.equal((await put(paths[0], 1, whole, headers)).status, 200, "a repeated part takes no more room");
});

test("a client has a daily budget of bytes, in parts and whole", async () => {
  const headers = newClient();
  let sent = 0;
  for (let path; ; sent += 1) {
    if (sent % 4 === 0) path = await begun(headers);
    const { status, body } = await put(path, 1, "x", headers);
    if (status === 200) continue;
    assert.deepEqual([status, /today's upload limit/.test(body)], [503, true], body);
    break;
  }
  assert.equal(sent, (FILES_A_DAY * MOST) / PART, "a short part counts as a whole one");
  const upload = (of, body = "x") => system.send("/v1/content/", { method: "POST", body, headers: { ...of, "Content-Type": "image/png" } });
  assert.match((await upload(headers)).body, /today's upload limit/);
  assert.equal((await upload(newClient())).status, 301);
});

test("a body of unknown length is counted by what arrived", async () => {
  // One client has 20 contents a minute here, so two of a network share the budget of bytes.
  const from = (number) => ({ "CF-Connecting-IP": `2001:db8:7:${number % 2}00::1`, "Content-Type": "image/png" });
  const headers = from(0);
  for (let number = 0; number < FILES_A_DAY + 2; number += 1) {
    const body = new Blob([`stream ${number}`]).stream();
    const answer = await system.send("/v1/content/", { method: "POST", body, duplex: "half", headers: from(number) });
    assert.equal(answer.status, 301, `${number}: ${answer.body}`);
  }
  const answer = await system.send("/v1/content/", { method: "POST", body: Buffer.alloc(MOST - 1), headers });
  assert.equal(answer.status, 301, answer.body);
});

test("made-up addresses of uploads are refused after the sixtieth, without a call of an object", async () => {
  const headers = newClient();
  const address = (number) => `/v1/uploads/${String(number).padStart(32, "0")}.${"0".repeat(32)}`;
  for (let number = 0; number < 60; number += 1) assert.equal((await put(address(number), 1, "x", headers)).status, 404);
  await calls();
  assert.equal((await put(address(60), 1, "x", headers)).status, 503);
  assert.equal((await finish(address(60), ["x"], headers)).status, 503);
  assert.deepEqual(await calls(), []);
});

test("no answer has the key of a file or the address of a client", async () => {
  const headers = newClient();
  const begin = await system.send("/v1/uploads/", { method: "POST", headers });
  const path = new URL(JSON.parse(begin.body).address).pathname;
  const stored = await put(path, 1, Buffer.alloc(77, "key"), headers);
  const finished = await finish(path, [etag(stored)], headers);
  const { id } = JSON.parse(finished.body);
  const { upload } = await (await system.claim(id)).json();
  assert.match(upload, /^uploads\/[0-9a-f]{32}$/);
  for (const { body, headers: sent } of [begin, stored, finished]) {
    const text = body + JSON.stringify([...sent]);
    assert.ok(!text.includes(upload.slice(8)) && !text.includes(headers["CF-Connecting-IP"]), text);
  }
  // Neither its hash, which can be found by trying all addresses of IPv4.
  const hash = createHash("sha256").update(headers["CF-Connecting-IP"]).digest("hex");
  assert.ok(!path.includes(hash.slice(0, 16)), path);
});

test("a file that is not the one of the digest is refused and deleted, in parts and whole", async () => {
  const [body, other] = [Buffer.alloc(500, "the file"), Buffer.alloc(500, "another")];
  const query = `?digest=${digest(body)}`;
  const kept = async () => (await system.pyramids.list({ prefix: "uploads/" })).objects.length;
  const before = await kept();
  const whole = (of) => system.send(`/v1/content/${query}`, { method: "POST", body: of, headers: { ...newClient(), "Content-Type": "image/png" } });
  assert.deepEqual([(await whole(other)).status, (await whole(body)).status], [400, 301]);
  const headers = newClient();
  const path = await begun(headers, query);
  const parts = [etag(await put(path, 1, other, headers))];
  assert.match((await finish(path, parts, headers)).body, /SHA-256/);
  assert.equal((await finish(path, parts, headers)).status, 404);
  assert.equal(await kept(), before + 1);
  assert.equal((await begin(headers, "?digest=short")).status, 400);
});

/** Returns the reason for which a body is refused that has a chunk of `bytes` after each of the times in `pauses`. */
async function refusal(bytes, pauses) {
  mock.timers.enable({ apis: ["Date", "setInterval"] });
  const pass = async (milliseconds) => {
    for (let left = milliseconds; left > 0; left -= 5000) {
      mock.timers.tick(Math.min(left, 5000));
      await Promise.resolve();
    }
  };
  let isCancelled = false;
  const reader = {
    async read() {
      const pause = pauses.shift();
      if (pause === undefined) return { done: true };
      await pass(pause);
      return isCancelled ? { done: true } : { value: new Uint8Array(bytes), done: false };
    },
    cancel: async () => (isCancelled = true),
  };
  try {
    const file = { at: Date.now(), started: Date.now(), bytes: 0, room: {} };
    for await (const _ of chunksOf(reader, file));
    return undefined;
  } catch ({ message }) {
    return message;
  } finally {
    mock.timers.reset();
  }
}

test("one byte in 59 seconds keeps no place, nor does a body that takes half an hour", async () => {
  assert.equal(await refusal(1, Array(3).fill(59_000)), "stalled", "slower than the least rate");
  assert.equal(await refusal(1, [76_000]), "stalled", "no data for a minute");
  assert.equal(await refusal(1_000_000, Array(29).fill(MINUTE - 1000)), undefined, "fast enough");
  assert.equal(await refusal(1_000_000, Array(40).fill(MINUTE - 1000)), "stalled", "longer than half an hour");
});

test("one client never has all places", () => {
  const own = [takePlace("203.0.113.1", 1000), takePlace("203.0.113.1", 1000), takePlace("203.0.113.1", 1000)];
  assert.deepEqual(own.map(Boolean), [true, true, false]);
  const others = Array.from({ length: 7 }, (_, number) => takePlace(`203.0.113.${number + 2}`, 1000));
  assert.equal(others.filter(Boolean).length, 6);
  for (const place of [...own, ...others]) if (place) place.room.until = 0;
});

test("large files leave room for a region, and places of requests that ended without a word are free after a time", () => {
  const large = Array.from({ length: 5 }, (_, number) => takePlace(`203.0.113.${number}`, number % 2 ? -1 : 100 << 20));
  assert.deepEqual(large.map(Boolean), [true, true, true, false, false]);
  const region = hold(24 << 20, Date.now() + MINUTE);
  assert.ok(region, "the largest");
  assert.equal(hold(24 << 20, Date.now() + MINUTE), undefined, "one after the other");
  free(region);
  mock.timers.enable({ apis: ["Date"], now: Date.now() + 3 * MINUTE });
  assert.ok(hold(56 << 20, Date.now() + MINUTE), "everything is free");
  mock.timers.reset();
});

test("a part that arrives too slowly ends", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const object = { part: () => ({ key: "key", id: "id" }) };
  const bucket = { resumeMultipartUpload: () => ({ uploadPart: () => new Promise(() => {}) }) };
  const env = { UPLOADS: { getByName: () => object }, PYRAMIDS: bucket };
  const stored = putPart({ body: {} }, env, "object", "token", 1, PART, PART, MOST);
  await Promise.resolve();
  await new Promise(setImmediate);
  mock.timers.tick(10 * MINUTE);
  assert.equal(await stored, '{"Err":"stalled"}');
  mock.timers.reset();
});
