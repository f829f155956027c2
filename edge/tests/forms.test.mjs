// The parser of forms before bytes that strangers send: forms with something changed, cut and repeated, in chunks of any size. It
// ends, with the same file however the form was cut, or with a refusal that has a name.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileIn } from "../src/platform/upload.js";

const CASES = 3000;
const REASONS = ["malformed-form", "no-file", "too-large"];
const PIECES = ["\r\n", "\r\n\r\n", "\r\n--b0", "--", "--b0--", "\0", "\xff", "\"", "\\", ";", "filename=", "filename*=utf-8''a", "content-disposition:", " ".repeat(3000)];
const FORM = Buffer.from(
  "preamble\r\n--b0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nfield\r\n" +
    "--b0\r\nContent-Disposition: form-data; name=\"b\"; filename=\"old \\\"town\\\" %22.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n\xff\xd8\r\n--b\r\n-\xff\r\n--b0--\r\n",
  "latin1",
);

/** Numbers from 0 on and below `most`, the same ones for each seed (mulberry32, of the public domain). */
function numbers(seed) {
  let state = seed;
  return (most) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % most;
  };
}

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

/** The file of a form that comes in these chunks, or why it has none. */
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

test("a form without a change has its file", async () => {
  assert.deepEqual(await outcome([FORM]), { name: 'old \\"town\\" ".jpg', content: "\xff\xd8\r\n--b\r\n-\xff" });
});

test("any form has the same file however it is cut, or a reason why it has none", async () => {
  let files = 0;
  for (let seed = 0; seed < CASES; seed++) {
    const below = numbers(seed);
    const form = changed(FORM, below);
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
