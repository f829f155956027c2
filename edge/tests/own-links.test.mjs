// The service's own share links as sources: they lead to the content that they show.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./wire.mjs";

const SHARE = "https://zoom.example";
let system;
let ready;
let queued;
before(async () => {
  system = await start({ SHARE_BASE: SHARE });
  ready = await system.content("http://example.com/ready.jpg", "ready");
  queued = await system.content("http://example.com/queued.jpg", "queued");
});
after(() => system.close());

const byUrl = (link, more = "") => system.send(`/v1/content/?url=${encodeURIComponent(link)}${more}`);

test("a share link, and the page for frames, are the content that they show", async () => {
  for (const id of [ready, queued]) {
    for (const link of ["", "/", "#100,100,4", "/embed", "?utm_source=x"]) {
      const answer = await byUrl(`${SHARE}/${id}${link}`);
      assert.deepEqual([answer.status, JSON.parse(answer.body).id], [301, id], link);
      assert.equal(answer.headers.get("location"), `${system.origin}/v1/content/${id}`);
    }
  }
  const { jobs } = await system.seen();
  assert.deepEqual(jobs.filter((job) => ![ready, queued].includes(job)), [], "nothing else is queued");
});

test("so do the home page's form and the wrapped variant", async () => {
  const found = await system.send(`/?url=${encodeURIComponent(`zoom.example/${ready}`)}`);
  assert.deepEqual([found.status, found.headers.get("location")], [302, `${SHARE}/${ready}`]);
  const { content } = JSON.parse((await byUrl(`${SHARE}/${ready}`, "&format=json")).body);
  assert.equal(content.url, "http://example.com/ready.jpg");
});

test("a share link that shows nothing, and any other page of the service, are sources like any other", async () => {
  for (const link of [`${SHARE}/00000000000`, `${SHARE}/docs`]) {
    assert.equal(JSON.parse((await byUrl(link)).body).url, link);
  }
});
