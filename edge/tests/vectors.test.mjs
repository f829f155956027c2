// Pages as vectors: the member of the content object, where they are, and the SVGs as they are stored.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DZI, archive, content, store } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { countingCalls, startWithClock } from "./system.mjs";

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9"><path d="M1 2h3"/></svg>`;
const PAGES = [SVG, null, SVG.replace("M1", "M5")];

let system;
let id;
aroundTests(
  async () => {
    system = await startWithClock({ DEVELOPMENT: "off" }, countingCalls(["PYRAMIDS"]));
    id = await store(system, "http://example.com/plan.pdf", archive(content, DZI, undefined, undefined, PAGES));
  },
  () => system.close(),
);

const at = (name) => `/cache/${id}/1_files/vector/${name}`;

test("a content with vectors has the address of their places, in JSON and XML", async () => {
  const address = system.origin + at("pages.json");
  assert.equal((await system.find(id)).vector, address);
  const xml = await system.send(`/v1/content/${id}?format=xml`);
  assert.ok(xml.body.includes(`<vector>${address}</vector>`), xml.body);
  const answer = await system.send(at("pages.json"));
  assert.deepEqual([answer.status, answer.type], [200, "application/json"]);
  assert.deepEqual(JSON.parse(answer.body), { pages: [{ x: 0, y: 5, width: 10, height: 20, url: "0.svg" }, null, { x: 20, y: 5, width: 10, height: 20, url: "2.svg" }] });
  const without = await store(system, "http://example.com/photo.jpg", archive());
  assert.equal((await system.find(without)).vector, undefined);
  for (const name of ["pages.json", "0.svg"]) assert.equal((await system.send(`/cache/${without}/1_files/vector/${name}`)).status, 404);
});

test("a page is one read, for ever, for every site, and runs nothing", async () => {
  await system.send(at("0.svg"));
  await system.send("/calls");
  for (const number of [0, 2]) {
    const response = await system.fetch(at(`${number}.svg`), { headers: { "Accept-Encoding": "gzip" } });
    const { status, headers } = response;
    assert.deepEqual([status, headers.get("Content-Type"), await response.text()], [200, "image/svg+xml", PAGES[number]]);
    const expected = {
      "Cache-Control": "public, max-age=31536000, immutable",
      "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox",
      "Access-Control-Allow-Origin": "*",
      "Cross-Origin-Resource-Policy": "cross-origin",
      "X-Content-Type-Options": "nosniff",
      Vary: "Accept-Encoding",
    };
    for (const [name, value] of Object.entries(expected)) assert.equal(headers.get(name), value, name);
    const tag = headers.get("ETag");
    assert.equal((await system.send(at(`${number}.svg`), { headers: { "If-None-Match": tag } })).status, 304);
  }
  assert.deepEqual(JSON.parse((await system.send("/calls")).body), ["PYRAMIDS.get", "PYRAMIDS.get"]);
  assert.equal((await system.send(at("0.svg"), { headers: { "Accept-Encoding": "identity" } })).body, SVG);
  assert.equal((await system.send(at("0.svg"), { method: "HEAD" })).status, 200);
});

test("pages without vectors and other names do not exist", async () => {
  for (const name of ["1.svg", "3.svg", "99999.svg", "0.svg.gz", "0.png", "00.svg", "", "pages.svg"]) assert.equal((await system.send(at(name))).status, 404, name);
  assert.equal((await system.send(`/cache/${id}/2_files/vector/0.svg`)).status, 404);
});

test("tiles are found as before", async () => {
  for (const [level, column, row] of [[0, 0, 0], [14, 3, 2], [14, 31, 23]]) {
    assert.equal((await system.send(`/cache/${id}/1_files/${level}/${column}_${row}.jpg`)).body, content(level, column, row));
  }
  assert.equal((await system.send(`/cache/${id}/1_files/14/32_23.jpg`)).status, 404);
});

test("a takedown removes vectors with the tiles", async () => {
  const taken = await store(system, "http://example.com/taken.pdf", archive(content, DZI, undefined, undefined, PAGES));
  const addresses = ["pages.json", "0.svg"].map((name) => `/cache/${taken}/1_files/vector/${name}`);
  for (const address of addresses) assert.equal((await system.send(address)).status, 200);
  await system.operate("takedown", { target: taken, reason: "why" });
  for (const address of addresses) {
    const { status, headers } = await system.send(address);
    assert.deepEqual([status, headers.get("Cache-Control")], [410, "no-store"], address);
  }
});
