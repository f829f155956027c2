// The smoke test against the built Worker: with a tiler, without one, and with faults.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { DZI, archive } from "../../edge/tests/archive.mjs";
import { ALONE, TOKEN, eventually, start } from "../../edge/tests/system.mjs";
import { test as smokeTest } from "../cloudflare/smoke.mjs";

/** The OpenAPI document: the Worker under test has no static files. */
const built = new URL("../../edge/build/assets/openapi.json", import.meta.url);
const description = `data:application/json;base64,${await readFile(built, "base64")}`;
const URL_OF_PICTURE = "https://example.com/picture.jpg";
let system;

before(async () => (system = await start({ BASE_URL: "" })));
after(() => system.close());

/** Makes a tiler's call at the clients' address: without BASE_URL the Worker answers at no other. */
const tell = (id, what, body) =>
  fetch(`${system.address}/internal/content/${id}/${what}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${TOKEN}` },
    body: body && JSON.stringify(body),
  });

/** Runs the smoke test and returns its output and the number of failed checks. */
async function trial(options) {
  const lines = [];
  const address = system.address.replace(/\/$/, "");
  const failed = await smokeTest({
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

test("without a picture, every endpoint is tested", async () => {
  const { failed, text } = await trial();
  assert.equal(failed, 0, text);
  assert.match(text, /every documented endpoint: \d\d tested/);
});

test("an unconverted picture fails the test, a converted one passes, and a missing tile fails it again", async () => {
  const waiting = await trial({ picture: URL_OF_PICTURE });
  assert.equal(waiting.failed, 1, waiting.text);
  assert.match(waiting.text, /picture is converted: no tiler takes the job/);

  const { id } = await (await fetch(`${system.address}/v1/content/?url=${encodeURIComponent(URL_OF_PICTURE)}`)).json();
  const { attempt } = await (await tell(id, "claim", ALONE)).json();
  const { object, place, previews } = archive();
  await system.pyramids.put(`${id}/${attempt}.szi`, object);
  await tell(id, "report", { attempt, outcome: { finished: { dzi: DZI, archive: place, previews } } });
  await eventually(async () => (await (await fetch(`${system.address}/v1/content/${id}`)).json()).ready);
  const done = await trial({ picture: URL_OF_PICTURE, waitMs: 5000 });
  assert.equal(done.failed, 0, done.text);

  await system.pyramids.delete(`${id}/${attempt}.szi`);
  const broken = await trial({ picture: URL_OF_PICTURE });
  assert.match(broken.text, /failed {2}tiles: 404 instead of 200/, broken.text);
});

test("a token that the Worker rejects fails the test", async () => {
  const { failed, text } = await trial({ token: "another-token-of-the-tests" });
  assert.equal(failed, 1, text);
  assert.match(text, /failed {2}tilers' token: 401 instead of 404/);
});
