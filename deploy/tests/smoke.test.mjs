// The trial of a service, on the Worker that is built: with a tiler that does its work, with none, and with what a
// broken service does.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { PICTURE, TOKEN, eventually, start } from "../../edge/tests/system.mjs";
import { tryOut } from "../cloudflare/smoke.mjs";

/** The description of the interface: the Worker under test has no static files beside it. */
const built = new URL("../../edge/build/assets/openapi.json", import.meta.url);
const description = `data:application/json;base64,${await readFile(built, "base64")}`;
const URL_OF_PICTURE = "https://example.com/picture.jpg";
let system;

before(async () => (system = await start({ BASE_URL: "" })));
after(() => system.close());

/** A call of a tiler, at the address that clients have: without BASE_URL the Worker answers at no other. */
const tell = (id, what, body) =>
  fetch(`${system.address}/internal/content/${id}/${what}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${TOKEN}` },
    body: body && JSON.stringify(body),
  });

/** The lines that trying out prints, and how many checks failed. */
async function trial(options) {
  const lines = [];
  const address = system.address.replace(/\/$/, "");
  const failed = await tryOut({
    share: address,
    base: address,
    token: TOKEN,
    waitMs: 0,
    description,
    print: (line) => lines.push(line),
    ...options,
  });
  return { failed, text: lines.join("\n") };
}

test("without a picture, every endpoint is tried", async () => {
  const { failed, text } = await trial();
  assert.equal(failed, 0, text);
  assert.match(text, /every endpoint of the description: \d\d tried/);
});

test("a picture that no tiler takes is told; once one does, all checks hold", async () => {
  const waiting = await trial({ picture: URL_OF_PICTURE });
  assert.equal(waiting.failed, 1, waiting.text);
  assert.match(waiting.text, /the picture is ready: no tiler takes it/);

  const { id } = await (await fetch(`${system.address}/v1/content/?url=${encodeURIComponent(URL_OF_PICTURE)}`)).json();
  const { attempt } = await (await tell(id, "claim")).json();
  await tell(id, "report", { attempt, outcome: { finished: { dzi: PICTURE } } });
  const descriptor = `<Image TileSize="510"><Size Width="${PICTURE.width}" Height="${PICTURE.height}"/></Image>`;
  await system.pyramids.put(`${id}/${attempt}.dzi`, descriptor);
  await system.pyramids.put(`${id}/${attempt}_files/0/0_0.jpg`, "a tile");
  await eventually(async () => (await (await fetch(`${system.address}/v1/content/${id}`)).json()).ready);
  const done = await trial({ picture: URL_OF_PICTURE, waitMs: 5000 });
  assert.equal(done.failed, 0, done.text);

  await system.pyramids.delete(`${id}/${attempt}_files/0/0_0.jpg`);
  const broken = await trial({ picture: URL_OF_PICTURE });
  assert.match(broken.text, /failed {2}the tiles: 404 instead of 200/, broken.text);
});

test("another token than the Worker's is told", async () => {
  const { failed, text } = await trial({ token: "another-token-of-the-tests" });
  assert.equal(failed, 1, text);
  assert.match(text, /failed {2}the tilers' token: 401 instead of 404/);
});
