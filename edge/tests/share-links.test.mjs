// Share links: what sites find that show or embed them (the page's head, oEmbed, previews), and share links as sources.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DZI, PREVIEW, THUMBNAIL, archive, store } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { byUrl, start } from "./system.mjs";

const SHARE = "https://zoom.example";
let system;
let id;
aroundTests(
  async () => {
    system = await start();
    id = await store(system, "http://example.com/a.jpg", archive());
  },
  () => system.close(),
);

test("a consumer discovers oEmbed like WordPress, and can embed the result", async () => {
  const page = (await system.send(`/${id}`)).body;
  const head = page.slice(0, page.indexOf("</head>"));
  assert.ok(Buffer.byteLength(head) < 150_000);
  const links = [...head.matchAll(/<link rel="alternate" type="([^"]+)" href="([^"]+)"/g)];
  const addresses = new Map(links.map(([, type, href]) => [type, href.replaceAll("&amp;", "&")]));
  assert.deepEqual([...addresses.keys()], ["application/json+oembed", "text/xml+oembed"]);

  const path = (type) => `${addresses.get(type).replace(system.origin, "")}&maxwidth=500&maxheight=750`;
  const answer = await system.send(path("application/json+oembed"));
  assert.deepEqual([answer.status, answer.type], [200, "application/json; charset=utf-8"]);
  const oembed = JSON.parse(answer.body);
  assert.deepEqual([oembed.version, oembed.type, oembed.width, oembed.height], ["1.0", "rich", 500, 375]);
  assert.ok(oembed.thumbnail_width <= 500 && oembed.thumbnail_height <= 750);
  const [, frame] = oembed.html.match(/^<iframe src="([^"]+)"/);
  const framed = await system.send(frame.replace(system.origin, ""));
  assert.equal(framed.status, 200);
  assert.match(framed.headers.get("content-security-policy"), /frame-ancestors \*/);

  const xml = await system.send(path("text/xml+oembed"));
  assert.deepEqual([xml.status, xml.type], [200, "text/xml; charset=utf-8"]);
  assert.match(xml.body, /^<\?xml version="1.0"[^>]*><oembed>.*<width>500<\/width>.*<\/oembed>$/);
});

test("a scraper of the link of a place gets that link, and the picture", async () => {
  const head = async (query) => {
    const page = (await system.send(`/${id}${query}`)).body;
    return Object.fromEntries([...page.matchAll(/<(?:meta property|link rel)="([^"]+)" (?:content|href)="([^"]+)"/g)].map(([, name, value]) => [name, value]));
  };
  const place = `?at=${Math.round(DZI.width / 2)},0.257,3,90`;
  const [placed, whole, other] = [await head(place), await head(""), await head("?at=<b>,1")];
  assert.deepEqual(placed, { ...whole, "og:url": `${system.origin}/${id}${place.replace("0.257", "0.26")}` });
  assert.deepEqual(other, whole);
  assert.deepEqual([whole.canonical, whole["og:url"]], [`${system.origin}/${id}`, `${system.origin}/${id}`]);
  assert.equal((await system.send(new URL(placed["og:image"]).pathname)).status, 200);
});

test("oEmbed errors have the statuses of the specification", async () => {
  const ask = async (query) => (await system.send(`/oembed?${query}`)).status;
  const link = encodeURIComponent(`${system.origin}/${id}`);
  assert.equal(await ask(`url=${link}`), 200);
  assert.equal(await ask(`url=${link}&format=yaml`), 501);
  assert.equal(await ask(`url=${encodeURIComponent(`${system.origin}/00000000000`)}`), 404);
  assert.equal(await ask("url=https%3A%2F%2Felsewhere.example%2Fx"), 404);
  assert.equal(await ask(""), 400);
});

test("preview and thumbnail are those that the tiler made", async () => {
  for (const [name, body] of [["preview", PREVIEW], ["thumbnail", THUMBNAIL]]) {
    const answer = await system.send(`/${id}/${name}.jpg`);
    assert.deepEqual([answer.status, answer.type, answer.body], [200, "image/jpeg", body]);
  }
  const page = (await system.send(`/${id}`)).body;
  assert.match(page, new RegExp(`<meta property="og:image" content="${system.origin}/${id}/preview.jpg">`));
  const queued = await system.content("http://example.com/queued.jpg", "queued");
  assert.equal((await system.send(`/${queued}/preview.jpg`)).status, 404);
  assert.equal((await system.send("/00000000000/preview.jpg")).status, 404);
});

test("a share link as a source returns the content that it shows", async () => {
  const system = await start({ SHARE_BASE: SHARE });
  const request = (link, parameters) => system.send(byUrl(link, parameters));
  const [ready, queued] = await Promise.all(["ready", "queued"].map((state) => system.content(`http://example.com/${state}.jpg`, state)));
  for (const id of [ready, queued]) {
    for (const link of ["", "/", "#100,100,4", "/embed", "?utm_source=x"]) {
      const answer = await request(`${SHARE}/${id}${link}`);
      assert.deepEqual([answer.status, JSON.parse(answer.body).id], [301, id], link);
      assert.equal(answer.headers.get("location"), `${system.origin}/v1/content/${id}`);
    }
  }
  const { jobs } = await system.seen();
  assert.deepEqual(jobs.filter((job) => ![ready, queued].includes(job)), [], "nothing else is queued");

  const found = await system.send(`/?url=${encodeURIComponent(`zoom.example/${ready}`)}`);
  assert.deepEqual([found.status, found.headers.get("location")], [302, `${SHARE}/${ready}`]);
  const { content } = JSON.parse((await request(`${SHARE}/${ready}`, "&format=json")).body);
  assert.equal(content.url, "http://example.com/ready.jpg");

  for (const link of [`${SHARE}/00000000000`, `${SHARE}/docs`]) {
    assert.equal(JSON.parse((await request(link)).body).url, link, "a source like any other");
  }
  await system.close();
});
