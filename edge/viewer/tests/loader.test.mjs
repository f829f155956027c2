// The embed script's text, as it is served.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import { startService } from "./service.mjs";

let service;
let text;
before(async () => {
  service = await startService();
  const answer = await fetch(`${service.origin}/${await service.ready()}.js?width=auto`);
  assert.match(answer.headers.get("Content-Type"), /^text\/javascript/);
  text = await answer.text();
});
after(() => service.close());

test("it is at most 4 KB before the viewer loads", () => {
  const size = gzipSync(text).length;
  assert.ok(size <= 4096, `${size} bytes`);
});

test("script and style of the viewer's page are at most 120 KB", async () => {
  const sizes = ["share.js", "page.css"].map(async (name) => {
    const file = await fetch(`${service.origin}/assets/${name}`);
    return gzipSync(await file.text()).length;
  });
  const sum = (await Promise.all(sizes)).reduce((all, size) => all + size);
  assert.ok(sum <= 120_000, `${sum} bytes`);
});

test("it writes into no document and evaluates no text", () => {
  assert.doesNotMatch(text, /document\.write|eval\(|new Function|innerHTML|window\.\w+ =|globalThis/);
});
