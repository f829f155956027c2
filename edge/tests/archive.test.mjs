// Tiles of a pyramid that is stored as one object: the reads of R2, and the responses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { archive, content, DZI, grid, LAST_LEVEL, PREVIEW, store, THUMBNAIL } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { countingCalls, start } from "./system.mjs";

const made = archive();
const { object, tiles } = made;
let system;
let id;
aroundTests(
  async () => {
    system = await start({ CACHE_URL: "https://tiles.example/cache" }, countingCalls(["PYRAMIDS"]));
    id = await store(system, "http://example.com/maps/old%20town.tif", made);
  },
  () => system.close(),
);

/** Returns the calls of R2 since the last time. */
const reads = async () => JSON.parse((await system.send("/calls")).body);
const tile = (level, column, row) => `/cache/${id}/1_files/${level}/${column}_${row}.jpg`;

test("a thousand tiles take a thousand and one reads, requested concurrently or not", async () => {
  await reads();
  const addresses = [];
  const [columns, rows] = grid(LAST_LEVEL);
  for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) addresses.push([LAST_LEVEL, column, row]);
  const some = Array.from({ length: 1000 }, (_, at) => addresses[at % addresses.length]);
  for (let first = 0; first < some.length; first += 20) {
    const answers = await Promise.all(some.slice(first, first + 20).map((place) => system.send(`${tile(...place)}?${first}`)));
    answers.forEach(({ status, body }, at) => assert.deepEqual([status, body], [200, content(...some[first + at])]));
  }
  const made = await reads();
  assert.ok(made.length <= 1001, `${made.length} reads`);
  assert.ok(made.every((call) => call === "PYRAMIDS.get"));
});

test("every tile of every level is found, and no others", async () => {
  let seen = 0;
  for (let level = 0; level <= LAST_LEVEL; level++) {
    const [columns, rows] = grid(level);
    for (const [column, row] of [[0, 0], [columns - 1, 0], [0, rows - 1], [columns - 1, rows - 1], [columns >> 1, rows >> 1]]) {
      assert.equal((await system.send(tile(level, column, row))).body, content(level, column, row));
      seen++;
    }
    await reads();
    for (const [column, row] of [[columns, 0], [0, rows], [4_000_000_000, 0]]) {
      assert.equal((await system.send(tile(level, column, row))).status, 404);
    }
    assert.deepEqual(await reads(), [], "tiles that do not exist cause no read");
  }
  assert.ok(seen > 60 && tiles > 800);
  for (const path of [`/cache/${id}/1_files/15/0_0.jpg`, `/cache/${id}/1_files/14/0_0.png`, `/cache/${id}/2_files/14/0_0.jpg`, `/cache/${id}/1.szi`]) {
    assert.equal((await system.send(path)).status, 404, path);
  }
});

test("a tile is sent like an object of its own", async () => {
  const whole = await system.send(tile(14, 4, 0));
  const header = (response, name) => response.headers.get(name);
  assert.equal(header(whole, "Content-Type"), "image/jpeg");
  assert.equal(header(whole, "Cache-Control"), "public, max-age=31536000, immutable");
  assert.equal(header(whole, "Access-Control-Allow-Origin"), "*");
  const tag = header(whole, "ETag");
  await reads();
  const known = await system.send(tile(14, 4, 0), { headers: { "If-None-Match": tag } });
  assert.deepEqual([known.status, known.body, header(known, "ETag")], [304, "", tag]);
  const head = await system.send(tile(14, 4, 0), { method: "HEAD" });
  assert.deepEqual([head.status, head.body, header(head, "Content-Length")], [200, "", String(whole.body.length)]);
  assert.deepEqual(await reads(), []);
  const part = await system.send(tile(14, 4, 0), { headers: { Range: "bytes=5-8" } });
  assert.deepEqual([part.status, part.body], [206, whole.body.slice(5, 9)]);
  assert.equal(header(part, "Content-Range"), `bytes 5-8/${whole.body.length}`);
  const past = await system.send(tile(14, 4, 0), { headers: { Range: "bytes=5000-" } });
  assert.deepEqual([past.status, header(past, "Content-Range")], [416, `bytes */${whole.body.length}`]);
  const other = await system.send(tile(14, 4, 1));
  assert.notEqual(header(other, "ETag"), tag);
});

test("the descriptor's URL begins with CACHE_URL", async () => {
  const answer = await system.find(id);
  assert.equal(answer.dzi.url, `https://tiles.example/cache/${id}/1.dzi`);
  const descriptor = await system.send(`/cache/${id}/1.dzi`);
  assert.equal(descriptor.status, 200);
  assert.match(descriptor.body, /TileSize="512"[^]*<Size Width="16000" Height="12000"\/>/);
  assert.match(descriptor.type, /^application\/xml/);
  assert.ok(Date.parse(descriptor.headers.get("Last-Modified")) > 0);
});

test("previews are entries of the archive: one read each, and none if the client's copy is current", async () => {
  await reads();
  for (const [name, body] of [["preview", PREVIEW], ["thumbnail", THUMBNAIL]]) {
    const answer = await system.send(`/${id}/${name}.jpg`);
    assert.deepEqual([answer.status, answer.type, answer.body], [200, "image/jpeg", body]);
    assert.deepEqual(await reads(), ["PYRAMIDS.get"]);
    const known = await system.send(`/${id}/${name}.jpg`, { headers: { "If-None-Match": answer.headers.get("ETag") } });
    const head = await system.send(`/${id}/${name}.jpg`, { method: "HEAD" });
    assert.deepEqual([known.status, head.status, head.headers.get("Content-Length")], [304, 200, String(body.length)]);
    assert.deepEqual(await reads(), []);
  }
  const page = (await system.send(`/${id}`)).body;
  assert.match(page, /<meta property="og:image:width" content="1200">\n<meta property="og:image:height" content="900">/);
  const oembed = JSON.parse((await system.send(`/oembed?url=${encodeURIComponent(`${system.origin}/${id}`)}`)).body);
  assert.deepEqual([oembed.thumbnail_url, oembed.thumbnail_width, oembed.thumbnail_height], [`${system.origin}/${id}/preview.jpg`, 1200, 900]);
});

test("made-up queries of a tile cost one read, and the cache has no entry for each", async () => {
  const get = async (query, headers) => (await system.send(tile(14, 7, 3) + query, { headers: { "Through-Cache": "1", ...headers } })).status;
  assert.equal(await get("?first"), 200);
  await reads();
  for (let number = 0; number < 20; number += 1) assert.equal(await get(`?${number}`), 200);
  assert.equal(await get(""), 200);
  assert.deepEqual(await reads(), []);
});

test("previews and downloads are kept for an hour and then asked for again, so that takedowns and new conversions show", async () => {
  const unversioned = await store(system, "http://example.com/unversioned.jpg", made);
  for (const name of ["preview.jpg", "thumbnail.jpg", "download"]) {
    const whole = await system.send(`/${unversioned}/${name}`);
    const tag = whole.headers.get("ETag");
    assert.deepEqual([whole.status, whole.headers.get("Cache-Control")], [200, "public, max-age=3600"], name);
    const known = await system.send(`/${unversioned}/${name}`, { headers: { "If-None-Match": tag } });
    assert.deepEqual([known.status, known.headers.get("Cache-Control")], [304, "public, max-age=3600"], name);
  }
  await system.operate("takedown", { target: unversioned, reason: "a reason" });
  for (const address of [`/${unversioned}/preview.jpg`, `/v1/content/${unversioned}/text`]) {
    const gone = await system.send(address, { headers: { "If-None-Match": "*" } });
    assert.deepEqual([gone.status, gone.headers.get("Cache-Control")], [410, "no-store"], address);
  }
});

test("the download is the object, named after the picture", async () => {
  const response = await system.fetch(`/${id}/download`);
  assert.equal(response.status, 200);
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(object));
  assert.equal(response.headers.get("Content-Disposition"), `attachment; filename="old town.szi"; filename*=UTF-8''old%20town.szi`);
  const part = await system.send(`/${id}/download`, { headers: { Range: "bytes=0-1" } });
  assert.deepEqual([part.status, part.body], [206, "PK"]);
  assert.equal((await system.send("/00000000000/download")).status, 404);
});
