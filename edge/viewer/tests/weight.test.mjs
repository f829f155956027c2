// The sizes of scripts and styles, and the time that a share page needs on a slow connection.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { startBrowser } from "./browser.mjs";
import { startFakeService } from "./fake_service.mjs";
import { aroundTests } from "../../tests/around.mjs";
import { compressed, firstPaint } from "./slow.mjs";

const MAX_BYTES = 120 * 1024;
const MAX_LOADER_BYTES = 4096;
const MAX_TEXT_BYTES = 12 * 1024;
const MAX_VECTOR_BYTES = 2 * 1024;
const MAX_SECONDS = 2.5;

let service;
aroundTests(
  async () => (service = await startFakeService()),
  () => service?.close(),
);

test("the embed script has at most 4 KB, writes into no document and evaluates no text", async () => {
  const answer = await fetch(`${service.origin}/${service.ready()}.js?width=auto`);
  assert.match(answer.headers.get("Content-Type"), /^text\/javascript/);
  const text = await answer.text();
  const size = gzipSync(text).length;
  assert.ok(size <= MAX_LOADER_BYTES, `${size} bytes`);
  assert.doesNotMatch(text, /document\.write|eval\(|new Function|innerHTML|window\.\w+ =|globalThis/);
});

test("script and style of a share page have at most 120 KB, compressed, the script for words 12 KB, and that for vectors 2 KB", async () => {
  const files = ["share.js", "page.css", "text.js", "vector.js"];
  const assets = new URL("../../build/assets/assets/", import.meta.url);
  const contents = await Promise.all(files.map((name) => readFile(new URL(name, assets))));
  const [script, style, words, vectors] = contents.map((content) => gzipSync(content, { level: 9 }).length);
  assert.ok(words <= MAX_TEXT_BYTES, `text.js: ${words} bytes`);
  assert.ok(vectors <= MAX_VECTOR_BYTES, `vector.js: ${vectors} bytes`);
  const imports = contents.map((content) => content.toString().match(/\bimport\s*["'(].*?\.js["']\)?/g));
  assert.deepEqual(imports, [['import("./text.js")', 'import("./vector.js")'], null, null, null], "it loads another script, whose size counts too");
  assert.ok(script + style <= MAX_BYTES, `share.js: ${script} bytes, page.css: ${style} bytes`);
});

test("on a slow connection the network delivers a share page's picture within 2.5 s", async (context) => {
  const [browser, cdn] = await Promise.all([startBrowser(), compressed(service.origin)]);
  const address = `${cdn.origin}/${service.ready()}`;
  const { seconds, network, bytes, rounds } = await firstPaint(browser, address);
  await browser.close(); // first, so that nothing is requested from a closed proxy
  await cdn.close();
  context.diagnostic(`visible after ${seconds.toFixed(2)} s, of which ${network.toFixed(2)} s are the network's: ${bytes} bytes, ${rounds} sequential requests`);
  assert.ok(network <= MAX_SECONDS, `${network} s for ${bytes} bytes in ${rounds} sequential requests`);
});
