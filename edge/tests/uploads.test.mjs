// Uploads: accepted and refused files, what remains in the store, and the parser of forms under random changes.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { fileIn } from "../src/uploads/files.js";
import { aroundTests } from "./around.mjs";
import { start, startWithClock } from "./system.mjs";

const MOST = 11_000_000;
const PICTURE = { width: 800, height: 600, tileSize: 510, tileOverlap: 1, tileFormat: "jpg" };

let system;
aroundTests(async () => (system = await startWithClock({ UPLOAD_BYTES: String(MOST) })), () => system.close());

const bytes = (length, seed) => Buffer.alloc(length, `${seed} `);
const digest = (body) => createHash("sha256").update(body).digest("base64url");
const kept = async () => (await system.pyramids.list({ prefix: "uploads/" })).objects;
const send = (body, { query = "", ...headers } = {}) => system.send(`/v1/content/${query}`, { method: "POST", body, duplex: "half", headers: { "Content-Type": "image/jpeg", ...headers } });
const json = (answer) => JSON.parse(answer.body);
const claimed = async (id) => (await system.claim(id)).json();

/** Builds a form of `[headers, content]` parts. */
function form(parts, boundary = "b0undary") {
  const lines = parts.flatMap(([headers, content]) => [Buffer.from(`--${boundary}\r\n${headers}\r\n\r\n`), content, Buffer.from("\r\n")]);
  return Buffer.concat([...lines, Buffer.from(`--${boundary}--\r\n`)]);
}
const field = (name, file) => `Content-Disposition: form-data; name="${name}"${file === undefined ? "" : `; filename="${file}"\r\nContent-Type: image/png`}`;
const FORM = { "Content-Type": "multipart/form-data; boundary=b0undary" };

test("a file gets a redirect to its content, whose id depends on its bytes", async () => {
  const body = bytes(1000, "first");
  const answer = await send(body, { query: "?name=old%20town.jpg" });
  const content = json(answer);
  assert.deepEqual([answer.status, answer.headers.get("Location")], [301, `${system.origin}/v1/content/${content.id}`]);
  assert.equal(answer.headers.get("Cache-Control"), "no-store");
  assert.equal(content.url, `ni:///sha-256;${digest(body)}?name=old%20town.jpg`);
  assert.deepEqual([content.ready, content.stage, content.title], [false, "queued", "old town"]);
  assert.match((await system.send(`/${content.id}`)).body, /<title>old town – Edgezoom<\/title>/);
  const claim = await claimed(content.id);
  assert.equal(claim.url, content.url);
  const object = await system.pyramids.get(claim.upload);
  assert.ok(Buffer.from(await object.arrayBuffer()).equals(body));

  const same = json(await send(body, { query: "?name=old%20town.jpg" }));
  assert.equal(same.url, content.url);
  const wrapped = json(await send(body, { query: "?format=json&name=other.jpg" }));
  assert.deepEqual([wrapped.status, wrapped.content.id, wrapped.content.url], [301, content.id, content.url.split("?")[0]], "with two names it has none");
  assert.equal((await kept()).length, 1, "the same file is stored once");

  await system.report(content.id, 1, { finished: { dzi: PICTURE } });
  assert.deepEqual(await kept(), [], "it is deleted when its pyramid is ready");
  assert.equal(json(await send(body)).ready, true);
  assert.deepEqual(await kept(), []);
});

test("a file without vectors is another content, and the tiler learns it", async () => {
  const body = bytes(1000, "a drawing");
  const [one, other] = [json(await send(body, { query: "?name=a.pdf" })), json(await send(body, { query: "?name=a.pdf&vectors=off" }))];
  assert.equal(other.url, `ni:///sha-256;${digest(body)}?vectors=off&name=a.pdf`);
  assert.notEqual(one.id, other.id);
  assert.equal(other.title, "a");
  assert.equal((await claimed(other.id)).url, other.url);
  assert.equal(json(await send(body, { query: "?name=a.pdf&vectors=off" })).id, other.id);
  for (const { id } of [one, other]) {
    if (id === one.id) await claimed(id);
    await system.report(id, 1, { "gave-up": { failure: { code: "corrupt-source", message: "no" } } });
  }
});

test("a large file is stored in parts, and is complete", async () => {
  for (const length of [5 << 20, (5 << 20) + 1, MOST]) {
    const body = bytes(length, `large ${length}`);
    const { id, url } = json(await send(body));
    assert.equal(url, `ni:///sha-256;${digest(body)}`);
    const { upload } = await claimed(id);
    const object = await system.pyramids.get(upload);
    assert.ok(Buffer.from(await object.arrayBuffer()).equals(body), String(length));
    await system.report(id, 1, { "gave-up": { failure: { code: "corrupt-source", message: "no" } } });
  }
  assert.deepEqual(await kept(), [], "files are deleted after failures too");
});

test("the first file of a form is stored, with its name", async () => {
  const body = bytes(3000, "\r\n--b0undar");
  const answer = await send(form([[field("note"), Buffer.from("hello")], [field("file", "a%22b 地图.png"), body], [field("more", "c.png"), body]]), FORM);
  assert.equal(answer.status, 301, answer.body);
  assert.equal(json(answer).url, `ni:///sha-256;${digest(body)}?name=a%22b%20%E5%9C%B0%E5%9B%BE.png`);
});

test("a form can be split into chunks anywhere", async () => {
  const content = Buffer.from("\r\n--b0undar\r\n--b0undarx\r\n-\r\n");
  const whole = Buffer.concat([Buffer.from("preamble\r\n"), form([[field("note"), Buffer.from("")], [field("file", "x.png"), content]])]);
  for (let cut = 1; cut < whole.length; cut += 1) {
    const { name, chunks } = await fileIn([whole.subarray(0, cut), whole.subarray(cut)], "b0undary", 1e6);
    const got = [];
    for await (const chunk of chunks) got.push(Buffer.from(chunk));
    assert.deepEqual([name, Buffer.concat(got).toString()], ["x.png", content.toString()], String(cut));
  }
  const single = [...whole].map((byte) => Uint8Array.of(byte));
  assert.equal((await fileIn(single, "b0undary", 1e6)).name, "x.png");
});

test("refusals have a reason, and nothing is stored", async () => {
  const before = await kept();
  const small = bytes(100, "small");
  const cut = form([[field("file", "x.png"), small]]).subarray(0, -20);
  const many = form(Array.from({ length: 3 }, () => ["X: ".padEnd(9000, "x"), small]));
  for (const [status, reason, body, headers] of [
    [413, /too large/, new Blob([bytes(MOST + 1, "of unknown length")]).stream()],
    [413, /too large/, form([[field("file", "x.png"), bytes(MOST + 1, "in a form")]]), FORM],
    [400, /no file/, "", { "Content-Type": "" }],
    [400, /^The file is empty\.$/, ""],
    [400, /^The file is empty\.$/, form([[field("file", "x.png"), Buffer.from("")]]), FORM],
    [400, /^The file is empty\.$/, new Blob([]).stream()],
    [400, /no file/, form([[field("note"), Buffer.from("text")]]), FORM],
    [400, /no file/, form([[field("file", ""), Buffer.from("")]]), FORM],
    [400, /not valid multipart/, small, { "Content-Type": "multipart/form-data" }],
    [400, /not valid multipart/, cut, FORM],
    [400, /not valid multipart/, many, FORM],
    [415, /-F file=@/, "a=b", { "Content-Type": "application/x-www-form-urlencoded" }],
    [415, /use GET \/v1\/content\/\?url=/, '{"url":"http://example.com/a.jpg"}', { "Content-Type": "application/json" }],
    [403, /other sites/, small, { Origin: "https://elsewhere.example" }],
    [403, /other sites/, small, { Origin: "null" }],
  ]) {
    const answer = await send(body, headers);
    assert.deepEqual([answer.status, answer.type], [status, "text/plain; charset=utf-8"], answer.body);
    assert.match(answer.body, reason);
  }
  assert.equal(json(await send("", { query: "?format=json" })).status, 400);
  assert.equal((await kept()).length, before.length);
});

const begin = async (headers) => {
  const { status, body } = await system.send("/v1/uploads/", { method: "POST", headers });
  assert.equal(status, 201, body);
  return JSON.parse(body);
};
const put = (address, number, body, headers) => system.send(`${new URL(address).pathname}/${number}`, { method: "PUT", body, headers });
const finish = (address, parts, query = "") => system.send(new URL(address).pathname + query, { method: "POST", body: JSON.stringify({ parts }) });
const etag = (answer) => JSON.parse(answer.body).etag;

test("parts can be sent in any order and again, and form the same content", async () => {
  const { address, partBytes, mostBytes } = await begin();
  assert.deepEqual([partBytes, mostBytes], [8 << 20, MOST]);
  const body = bytes(partBytes + 1000, "in parts");
  const [first, last] = [body.subarray(0, partBytes), body.subarray(partBytes)];
  const late = etag(await put(address, 2, last));
  await put(address, 1, bytes(partBytes, "wrong"));
  const early = etag(await put(address, 1, first));
  const answer = await finish(address, [early, late], "?name=large.tif");
  assert.deepEqual([answer.status, answer.headers.get("Cache-Control")], [301, "no-store"], answer.body);
  const { id, url } = json(answer);
  assert.equal(url, `ni:///sha-256;${digest(body)}?name=large.tif`);

  const again = await finish(address, [early, late]);
  assert.deepEqual([again.status, json(again).id], [301, id], "the response may have been lost");
  const { upload } = await claimed(id);
  assert.ok(Buffer.from(await (await system.pyramids.get(upload)).arrayBuffer()).equals(body));
  assert.equal(json(await send(body)).id, id, "the same file in one request");
  await system.report(id, 1, { finished: { dzi: PICTURE } });
  assert.equal((await system.pyramids.get(upload)), null);
  assert.equal((await finish(address, [early, late])).status, 404);
});

test("parts that form no file are refused, and so are those of an unknown upload", async () => {
  const { address } = await begin();
  const [part, small] = [etag(await put(address, 1, bytes(8 << 20, "part"))), etag(await put(address, 2, bytes(9, "small")))];
  for (const parts of [[], ["x"], [part, part], [small, part], null, [{}]]) {
    const answer = await finish(address, parts);
    assert.deepEqual([answer.status, answer.type], [400, "text/plain; charset=utf-8"], `${JSON.stringify(parts)}: ${answer.body}`);
  }
  const path = new URL(address).pathname;
  assert.equal((await system.send(path, { method: "POST", body: "{" })).status, 400);
  assert.equal((await system.send(`${path}?callback=1`, { method: "POST", body: "{}" })).status, 400);
  assert.equal(await system.announced(`${path}/1`, "PUT", (8 << 20) + 1), 413);
  assert.equal((await put(address, 3, "past the largest file")).status, 413);
  assert.equal((await put(address, 1, "x", { Origin: "https://elsewhere.example" })).status, 403);
  assert.match((await put(address, 1, "")).body, /part is empty/);
  for (const other of [address.replace(/[0-9a-f]{32}/, "0".repeat(32)), address.replace(/[0-9a-f]{32}$/, "0".repeat(32))]) {
    assert.equal((await put(other, 1, "x")).status, 404);
    assert.equal((await finish(other, ["x"])).status, 404);
  }
  const whole = await begin();
  const tags = [];
  for (let number = 1; number <= 2; number += 1) tags.push(etag(await put(whole.address, number, bytes(8 << 20, "much"))));
  assert.equal((await finish(whole.address, tags)).status, 413, "16 MiB exceed 11 MB");
});

test("no URL returns an uploaded file", async () => {
  const { id } = json(await send(bytes(77, "secret")));
  const { upload } = await claimed(id);
  const { address } = await begin();
  for (const target of [`/${upload}`, `/cache/${upload}`, `/v1/${upload}`, `/v1/content/${upload}`, `/${id}/download`, `/${id}/preview.jpg`]) {
    assert.equal((await system.send(target)).status, 404, target);
  }
  for (const [target, allowed] of [[new URL(address).pathname, "OPTIONS, POST"], [`${new URL(address).pathname}/1`, "OPTIONS, PUT"]]) {
    const refused = await system.send(target);
    assert.deepEqual([refused.status, refused.headers.get("Allow")], [405, allowed], target);
  }
  const seen = [`/v1/content/${id}`, `/${id}`, `/v1/content/${id}/dzi.js`].map(async (target) => (await system.send(target)).body);
  for (const body of await Promise.all(seen)) assert.ok(!body.includes(upload.slice(8)), "only tilers get its key");
});

test("the service's own pages can upload, after a preflight request", async () => {
  const preflight = await system.send("/v1/content/", { method: "OPTIONS", headers: { Origin: system.origin, "Access-Control-Request-Method": "POST" } });
  assert.match(preflight.headers.get("Access-Control-Allow-Methods"), /\bPOST\b/);
  const answer = await send(bytes(10, "own page"), { Origin: system.origin });
  assert.equal(answer.status, 301);
  assert.equal(answer.headers.get("Access-Control-Allow-Origin"), "*");
});

test("a file cannot be requested by its URL, or retried after its deletion", async () => {
  const { id, url } = json(await send(bytes(50, "once")));
  assert.equal((await system.send(`/v1/content/?url=${encodeURIComponent(url)}`)).status, 400);
  await system.claim(id);
  await system.report(id, 1, { "gave-up": { failure: { code: "corrupt-source", message: "no" } } });
  assert.equal((await system.find(id)).failed, true);
  assert.equal(json(await system.send(`/v1/content/${id}?retry=1`)).failed, true);
  assert.equal(json(await send(bytes(50, "once"))).failed, false, "it is uploaded again");
});

test("uploads count as new contents, and are off by default", async () => {
  const [closed, resting] = await Promise.all([start(), start({ UPLOAD_BYTES: "100", MAINTENANCE: "on" })]);
  try {
    const off = await closed.send("/v1/content/", { method: "POST", body: "x" });
    assert.deepEqual([off.status, off.headers.get("Allow")], [405, "GET, HEAD, OPTIONS"]);
    assert.match(off.body, /^Uploads are off\. .* GET \/v1\/content\/\?url=/);
    const refused = await resting.send("/v1/content/", { method: "POST", body: "x", headers: { "Content-Type": "image/png" } });
    assert.deepEqual([refused.status, refused.headers.get("Retry-After")], [503, "300"]);
    const headers = { "CF-Connecting-IP": "203.0.113.9" };
    for (let sent = 0; sent < 20; sent += 1) assert.equal((await send(bytes(20, `many ${sent}`), headers)).status, 301);
    assert.equal((await send(bytes(20, "one more"), headers)).status, 503, "over the client's limit");
    assert.equal((await system.send("/v1/uploads/", { method: "POST", headers })).status, 503, "in parts too");
    assert.equal((await closed.send("/v1/uploads/", { method: "POST" })).status, 405);
  } finally {
    await Promise.all([closed.close(), resting.close()]);
  }
});

test("the title is the file's name without its ending; the query comes before the form, and that before the header", async () => {
  const disposition = { "Content-Disposition": "attachment; filename*=UTF-8''in%20the%20header.jpg" };
  const inForm = [form([[field("file", "C:\\\\Users\\\\anna\\\\in the form.TIF"), bytes(9, "in a form")]]), { ...FORM, ...disposition }];
  for (const [title, body, headers] of [
    ["in the query", inForm[0], { ...inForm[1], query: "?name=%2Ftmp%2Fin%20the%20query.png" }],
    ["in the form", form([[field("file", "C:\\\\Users\\\\anna\\\\in the form.TIF"), bytes(9, "in a second form")]]), { ...FORM, ...disposition }],
    ["in the header", bytes(9, "with a header"), disposition],
    [undefined, bytes(9, "without a name")],
    [undefined, bytes(9, "with an invisible name"), { query: "?name=%E2%80%AE%0A" }],
  ]) {
    const content = json(await send(body, headers));
    assert.equal(content.title, title);
    const page = (await system.send(`/${content.id}`)).body;
    assert.ok(page.includes(`<h1>${title ?? "Uploaded file"}</h1>`), page);
  }
});

const CASES = 3000;
const REASONS = ["malformed-form", "no-file", "too-large"];
const PIECES = ["\r\n", "\r\n\r\n", "\r\n--b0", "--", "--b0--", "\0", "\xff", "\"", "\\", ";", "filename=", "filename*=utf-8''a", "content-disposition:", " ".repeat(3000)];
const VALID_FORM = Buffer.from(
  "preamble\r\n--b0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nfield\r\n" +
    "--b0\r\nContent-Disposition: form-data; name=\"b\"; filename=\"old \\\"town\\\" %22.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n\xff\xd8\r\n--b\r\n-\xff\r\n--b0--\r\n",
  "latin1",
);

/** Returns a generator of numbers below `most`, the same for each seed (mulberry32, public domain). */
function numbers(seed) {
  let state = seed;
  return (most) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % most;
  };
}

/** Returns a form with random pieces inserted, repeated or removed. */
function changed(form, below) {
  let bytes = form;
  for (let change = below(5); change > 0; change--) {
    const at = below(bytes.length + 1);
    const to = Math.min(bytes.length, at + below(40));
    const piece = [Buffer.from(PIECES[below(PIECES.length)], "latin1"), bytes.subarray(at, to), Buffer.from([below(256)]), Buffer.alloc(0)][below(4)];
    bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(below(2) ? at : to)]);
  }
  return bytes;
}

/** Returns the file of a form that arrives in these chunks, or the name of its refusal. */
async function outcome(chunks) {
  try {
    const { name, chunks: pieces } = await fileIn(chunks, "b0", 4000);
    const content = [];
    for await (const piece of pieces) content.push(Buffer.from(piece));
    return { name, content: Buffer.concat(content).toString("latin1") };
  } catch (error) {
    assert.ok(REASONS.includes(error.message), error.stack);
    return error.message;
  }
}

test("an unchanged form has its file", async () => {
  assert.deepEqual(await outcome([VALID_FORM]), { name: 'old \\"town\\" ".jpg', content: "\xff\xd8\r\n--b\r\n-\xff" });
});

test("a changed form has the same file or refusal, however it is split into chunks", async () => {
  let files = 0;
  for (let seed = 0; seed < CASES; seed++) {
    const below = numbers(seed);
    const form = changed(VALID_FORM, below);
    const whole = await outcome([form]);
    const chunks = [];
    for (let at = 0; at < form.length; ) {
      const length = 1 + below(60);
      chunks.push(form.subarray(at, at + length));
      at += length;
    }
    assert.deepEqual(await outcome(chunks), whole, `seed ${seed}: ${JSON.stringify(form.toString("latin1"))}`);
    files += typeof whole === "object" ? 1 : 0;
  }
  assert.ok(files > CASES / 10 && files < CASES, `${files} of ${CASES} have a file`);
});
