// What a share page loads before its picture is seen stays small.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const MOST_BYTES = 120 * 1024;

test("script and style of the viewer are at most 120 KB compressed", async () => {
  const files = ["share.js", "page.css"];
  const assets = new URL("../../build/assets/assets/", import.meta.url);
  const contents = await Promise.all(files.map((name) => readFile(new URL(name, assets))));
  const sizes = contents.map((content) => gzipSync(content, { level: 9 }).length);
  assert.doesNotMatch(contents[0].toString(), /\bimport\s*["'(]/, "it loads no other script, whose size would count too");
  const sum = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(sum <= MOST_BYTES, `${sum} bytes: ${files.map((name, at) => `${name} ${sizes[at]}`).join(", ")}`);
});
