// Descriptors and tiles under `/cache/`, from R2.

import assert from "node:assert/strict";
import { test } from "node:test";
import { archive, DZI, store } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { countingCalls, start } from "./system.mjs";

const BYTES = "0123456789";

let system;
let id;
let etag;
aroundTests(
  async () => {
    system = await start({}, countingCalls(["PYRAMIDS"]));
    id = await store(system, "http://example.com/tiles.jpg", archive(() => BYTES));
    etag = (await get()).headers.get("ETag");
    await system.pyramids.put(`${id}/notes.txt`, "private");
  },
  () => system.close(),
);

const get = (headers = {}, method = "GET") => system.fetch(`/cache/${id}/1_files/9/0_0.jpg`, { headers, method });

test("a tile is immutable", async () => {
  const response = await get();
  assert.deepEqual([response.status, await response.text()], [200, BYTES]);
  const header = (name) => response.headers.get(name);
  assert.equal(header("Content-Type"), "image/jpeg");
  assert.equal(header("Cache-Control"), "public, max-age=31536000, immutable");
  assert.equal(header("Access-Control-Allow-Origin"), "*");
  assert.equal(header("X-Content-Type-Options"), "nosniff");
  assert.equal(header("ETag"), etag);
});

test("a descriptor is XML in UTF-8", async () => {
  const response = await system.fetch(`/cache/${id}/1.dzi`);
  assert.equal(response.headers.get("Content-Type"), "application/xml; charset=utf-8");
  assert.match(await response.text(), new RegExp(`TileSize="${DZI.tileSize}"[^]*<Size Width="${DZI.width}" Height="${DZI.height}"/>`));
});

test("a client with a current copy gets 304", async () => {
  for (const known of [etag, `W/${etag}`, `"a", W/"b,c", ${etag}`, "*"]) {
    const response = await get({ "If-None-Match": known });
    assert.deepEqual([response.status, await response.text()], [304, ""], known);
    assert.equal(response.headers.get("ETag"), etag);
  }
  assert.equal((await get({ "If-None-Match": '"other"' })).status, 200);
});

test("a range request gets its range", async () => {
  for (const [range, part, place] of [
    ["bytes=0-3", "0123", "bytes 0-3/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=-2", "89", "bytes 8-9/10"],
    ["bytes=5-500", "56789", "bytes 5-9/10"],
  ]) {
    const response = await get({ Range: range });
    assert.deepEqual([response.status, await response.text()], [206, part], range);
    assert.equal(response.headers.get("Content-Range"), place);
  }
  assert.equal(await (await get({ Range: "bytes=0-1", "If-Range": etag })).text(), "01");
});

test("a malformed range, or one of another version, gets the whole tile", async () => {
  for (const headers of [{ Range: "bytes=0-1,3-4" }, { Range: "x" }, { Range: "bytes=0-1", "If-Range": '"old"' }]) {
    const response = await get(headers);
    assert.deepEqual([response.status, await response.text()], [200, BYTES], JSON.stringify(headers));
  }
});

test("a range after the end gets 416", async () => {
  const response = await get({ Range: "bytes=10-" });
  assert.deepEqual([response.status, response.headers.get("Content-Range")], [416, "bytes */10"]);
});

test("HEAD gets the headers without the body", async () => {
  const response = await get({}, "HEAD");
  assert.deepEqual([response.status, await response.text()], [200, ""]);
  assert.equal(response.headers.get("ETag"), etag);
});

test("404 is not cached", async () => {
  for (const key of [`${id}/2.dzi`, `${id}/1_files/9/7_7.jpg`, `${id}/notes.txt`, "x"]) {
    const response = await system.fetch(`/cache/${key}`);
    assert.deepEqual([response.status, response.headers.get("Cache-Control")], [404, "no-store"], key);
  }
});

test("made-up addresses of tiles read nothing from the store", async () => {
  await system.send("/calls");
  for (let number = 0; number < 80; number += 1) {
    const made = String(number).padStart(11, "0");
    const paths = [`${made}/1.dzi`, `${made}/1_files/9/0_0.jpg`];
    for (const path of paths) assert.equal((await system.send(`/cache/${path}`, { headers: { "CF-Connecting-IP": "203.0.113.9" } })).status, 404, path);
  }
  assert.deepEqual(JSON.parse((await system.send("/calls")).body), []);
});
