// Rendered regions: IIIF's Image API 3.0 at level 2, cards of places, and what they may cost. The picture is a
// gradient, so every pixel of a rendering says which part of the picture it shows.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "smol-toml";
import { decodePng, encodePng } from "../viewer/png.mjs";
import { DZI as LARGE, archive, store } from "./archive.mjs";
import { aroundTests } from "./around.mjs";
import { countingCalls, eventually, start, startWithClock } from "./system.mjs";

const DZI = { ...LARGE, tileFormat: "png" };
/** Limits of system.mjs for a client, and for a /48 of IPv6. */
const [PER_MINUTE, PER_MINUTE_48] = [20, 40];
const COUNTED = ["PYRAMIDS", "RENDERINGS", "OPERATOR"];

/**
 * Returns a tile of the gradient: red grows to the right, green downwards. `overlap` pixels are shared with each
 * neighbour.
 */
function tile(dzi, level, column, row, overlap = 0) {
  const scaled = (side) => Math.ceil(side / 2 ** (Math.ceil(Math.log2(Math.max(dzi.width, dzi.height))) - level));
  const [across, down] = [scaled(dzi.width), scaled(dzi.height)];
  const span = (index, side) => {
    const from = Math.max(0, index * dzi.tileSize - overlap);
    return [from, Math.min(side, (index + 1) * dzi.tileSize + overlap) - from];
  };
  const [[left, width], [top, height]] = [span(column, across), span(row, down)];
  const pixels = Buffer.alloc(width * height * 3, 128);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      pixels[(y * width + x) * 3] = (255 * (left + x + 0.5)) / across;
      pixels[(y * width + x) * 3 + 1] = (255 * (top + y + 0.5)) / down;
    }
  }
  return encodePng({ width, height, channels: 3, pixels }, 1);
}

/** The archive has tiles up to level 12, and the corner of the largest level. */
const gradient = (level, column, row) => (level <= 12 || (level === 14 && column < 3 && row < 3) ? tile(DZI, level, column, row) : "none");
const pyramid = archive(gradient, DZI);
let system;
let id;
let base;
aroundTests(
  async () => {
    system = await startWithClock({ REGIONS: "on", DEVELOPMENT: "off" }, countingCalls(COUNTED));
    id = await content(system, "http://example.com/gradient.png");
    base = `/iiif/${id}`;
    await calls();
  },
  () => system.close(),
);

const content = (at, url) => store(at, url, pyramid, DZI);

let clients = 0;
/** Returns a request from an address of its own, so that no test uses up the limit of another. */
const someone = (headers) => ({ headers: { "CF-Connecting-IP": `198.51.100.${(clients += 1)}`, ...headers } });
/**
 * Returns the calls since the last time, without those that refresh the operator's lists, which depend on the clock.
 */
const calls = async (at = system) => (await (await at.fetch("/calls")).json()).filter((call) => call !== "OPERATOR.changes");

async function image(path, init = someone(), at = system) {
  const response = await at.request(path, init);
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, type: response.headers.get("Content-Type"), bytes };
}

/** Returns the size of a JPEG: SOF0 (ITU-T T.81, B.2.2). */
function jpegSize(bytes) {
  for (let at = 2; at < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    if (bytes[at + 1] === 0xc0) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
  }
  throw new Error("no frame");
}

/** Requests a PNG and checks what its corners show, as parts of the picture: `[x, y]` from 0 to 1. */
async function shows(path, size, corners, at = base, of = system) {
  const { status, type, bytes } = await image(`${at}/${path}`, someone(), of);
  assert.deepEqual([status, type], [200, "image/png"], path);
  const { width, height, channels, pixels } = decodePng(bytes);
  assert.deepEqual([width, height], size, path);
  const places = [[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]];
  places.forEach(([x, y], number) => {
    const [red, green] = pixels.subarray((y * width + x) * channels);
    const [right, down] = corners[number];
    const [wrongX, wrongY] = [Math.abs(red / 255 - right), Math.abs(green / 255 - down)];
    assert.ok(wrongX < 0.012 && wrongY < 0.012, `${path}, corner ${number}: ${red / 255}, ${green / 255}, not ${right}, ${down}`);
  });
}

test("info.json says what the service renders", async () => {
  const info = JSON.parse((await system.send(`${base}/info.json`)).body);
  assert.equal(info.profile, "level2");
  assert.deepEqual([info.maxWidth, info.maxHeight, info.maxArea], [2048, 2048, 2_000_000]);
  assert.deepEqual([info.extraFormats, info.extraQualities, info.preferredFormats], [["webp"], ["bitonal"], ["png"]]);
  assert.deepEqual(info.extraFeatures, ["canonicalLinkHeader", "mirroring", "profileLinkHeader", "sizeUpscaling"]);
  const manifest = JSON.parse((await system.send(`${base}/manifest.json`)).body);
  assert.equal(manifest.items[0].items[0].items[0].body.service[0].profile, "level2");
});

test("regions, sizes and rotations show the right part of the picture", async () => {
  const whole = [[0, 0], [1, 0], [0, 1], [1, 1]];
  await shows("full/!300,300/0/default.png", [300, 225], whole);
  await shows("full/max/0/default.png", [1632, 1224], whole);
  await shows("full/^,1000/0/default.png", [1333, 1000], whole);
  await shows("full/pct:2/0/color.png", [320, 240], whole);
  await shows("pct:25,50,50,25/200,/0/default.png", [200, 75], [[0.25, 0.5], [0.75, 0.5], [0.25, 0.75], [0.75, 0.75]]);
  await shows("square/100,100/0/default.png", [100, 100], [[0.125, 0], [0.875, 0], [0.125, 1], [0.875, 1]]);
  await shows("full/300,100/0/default.png", [300, 100], whole);
  // Across four tiles of the largest level.
  await shows("400,400,800,600/max/0/default.png", [800, 600], [[0.025, 0.033], [0.075, 0.033], [0.025, 0.083], [0.075, 0.083]]);
  await shows("400,400,300,300/^600,600/0/default.png", [600, 600], [[0.025, 0.033], [0.044, 0.033], [0.025, 0.058], [0.044, 0.058]]);
  await shows("full/300,/90/default.png", [225, 300], [[0, 1], [0, 0], [1, 1], [1, 0]]);
  await shows("full/300,/180/default.png", [300, 225], [[1, 1], [0, 1], [1, 0], [0, 0]]);
  await shows("full/300,/270/default.png", [225, 300], [[1, 0], [1, 1], [0, 0], [0, 1]]);
  await shows("full/300,/!0/default.png", [300, 225], [[1, 0], [0, 0], [1, 1], [0, 1]]);
  await shows("full/300,/!90/default.png", [225, 300], [[1, 1], [1, 0], [0, 1], [0, 0]]);
});

test("qualities and formats", async () => {
  const grey = decodePng((await image(`${base}/full/200,/0/gray.png`)).bytes);
  for (let at = 0; at < grey.width * grey.height && grey.channels > 2; at += 1) assert.equal(grey.pixels[at * grey.channels], grey.pixels[at * grey.channels + 1]);
  assert.equal((await image(`${base}/full/200,/0/bitonal.png`)).type, "image/png");
  const jpeg = await image(`${base}/full/200,/0/default.jpg`);
  assert.deepEqual([jpeg.type, jpegSize(jpeg.bytes)], ["image/jpeg", [200, 150]]);
  assert.deepEqual(jpegSize((await image(`${base}/full/200,/90/bitonal.jpg`)).bytes), [150, 200]);
  const webp = await image(`${base}/full/200,/0/default.webp`);
  assert.deepEqual([webp.type, webp.bytes.toString("latin1", 0, 4), webp.bytes.toString("latin1", 8, 12)], ["image/webp", "RIFF", "WEBP"]);
});

test("tiles that overlap are rendered, too", async () => {
  const small = { width: 700, height: 500, tileSize: 254, tileOverlap: 1, tileFormat: "png" };
  const overlapping = await store(system, "http://example.com/overlapping.png", archive((...place) => tile(small, ...place, 1), small), small);
  const at = `/iiif/${overlapping}`;
  await shows("full/max/0/default.png", [700, 500], [[0, 0], [1, 0], [0, 1], [1, 1]], at);
  await shows("254,0,254,254/254,254/0/default.png", [254, 254], [[0.363, 0], [0.726, 0], [0.363, 0.508], [0.726, 0.508]], at);
});

test("an image has one address, under which it is kept", async () => {
  await calls();
  const first = await image(`${base}/0,0,16000,12000/,90/360/color.jpg`);
  assert.equal(first.status, 200);
  const canonical = `${system.origin}${base}/full/120,90/0/default.jpg`;
  assert.equal(first.headers.get("Link"), `<http://iiif.io/api/image/3/level2.json>;rel="profile", <${canonical}>;rel="canonical"`);
  assert.equal(first.headers.get("Cache-Control"), "public, max-age=86400");
  assert.equal(first.headers.get("Access-Control-Allow-Origin"), "*");
  const read = await calls();
  assert.equal(read.filter((call) => call === "PYRAMIDS.get").length, 1, `${read}`);
  // Neither other words for it nor a query cost a rendering.
  const client = someone();
  for (const path of ["full/120,90/0/default.jpg", "full/!120,120/0.0/default.jpg", "pct:0,0,100,100/120,/0/default.jpg?1", "full/^120,/360/color.jpg"]) {
    const { status, bytes, headers } = await image(`${base}/${path}`, client);
    assert.deepEqual([status, bytes.equals(first.bytes), headers.get("Link")], [200, true, first.headers.get("Link")], path);
  }
  assert.deepEqual(await calls(), []);
  const tag = first.headers.get("ETag");
  for (const [init, status] of [[{ headers: { "If-None-Match": tag } }, 304], [{ method: "HEAD" }, 200]]) {
    const { status: answered, bytes, headers } = await image(`${base}/full/120,90/0/default.jpg`, init);
    assert.deepEqual([answered, bytes.length, headers.get("ETag")], [status, 0, tag]);
  }
  assert.deepEqual(await calls(), []);
});

test("tiles that lie beside each other are read at once, and whole tiles as before", async () => {
  await calls();
  await image(`${base}/300,300,900,700/max/0/default.jpg`);
  assert.equal((await calls()).filter((call) => call === "PYRAMIDS.get").length, 1, "the rows of small stand-ins are near each other");
  const { status, bytes } = await image(`${base}/512,0,512,512/512,512/0/default.png`);
  assert.deepEqual([status, bytes.equals(tile(DZI, 14, 1, 0))], [200, true]);
  assert.deepEqual(await calls(), ["PYRAMIDS.get"], "neither counted nor rendered");
});

test("another spelling of a tile's address costs no read", async () => {
  const through = (path) => system.send(`${base}/${path}`, someone({ "Through-Cache": "1" }));
  const canonical = await through("512,512,512,512/512,512/0/default.png");
  for (const path of ["%35%31%32,512,512,512/512,512/0/default.png", "0512,512,512,512/512,512/0/default.png", "512,512,512,512/512,/0.0/color.png"]) {
    // The cache is written in the background.
    await eventually(async () => {
      await calls();
      const { status, body } = await through(path);
      assert.deepEqual([status, body === canonical.body], [200, true], path);
      return (await calls()).length === 0;
    });
  }
});

test("other requests have the statuses of the standard", async () => {
  for (const [path, status] of [
    ["full/max/45/default.jpg", 501],
    ["full/max/0/default.tif", 501],
    ["full/2049,/0/default.jpg", 400],
    ["full/pct:50/0/default.jpg", 400],
    ["full/^pct:150/0/default.jpg", 400],
    ["0,0,100,100/200,/0/default.jpg", 400],
    ["16000,0,1,1/max/0/default.jpg", 400],
    ["0,0,100/max/0/default.jpg", 400],
    ["full/max/0/native.jpg", 400],
    ["full/max/default.jpg", 404],
  ]) {
    const response = await system.send(`${base}/${path}`);
    assert.deepEqual([response.status, response.type], [status, "text/plain; charset=utf-8"], path);
  }
  // A tile that cannot be decoded.
  assert.equal((await image(`${base}/8000,8000,100,100/max/0/default.jpg`)).status, 503);
  for (const of of ["00000000000", (await system.ask("http://example.com/waiting.png")).id]) {
    for (const path of [`/iiif/${of}/full/100,/0/default.jpg`, `/${of}/at/1,1,1.jpg`]) assert.equal((await image(path)).status, 404, path);
  }
});

test("a link to a place has a card that shows it", async () => {
  const page = (await system.send(`/${id}?at=4000.5,3000,3,90`)).body;
  const [, address] = /<meta property="og:image" content="([^"]+)">/.exec(page);
  assert.match(address, new RegExp(`^${system.origin}/${id}/at/[\\d.]+,[\\d.]+,[\\d.]+,90\\.jpg$`));
  assert.ok(page.includes(`<meta name="twitter:image" content="${address}">`));
  assert.ok(page.includes('<meta property="og:image:width" content="1200">') && page.includes('<meta property="og:image:height" content="630">'));
  const [, oembed] = /href="([^"]+format=json)"/.exec(page);
  const embedded = JSON.parse((await system.send(oembed.slice(system.origin.length).replaceAll("&amp;", "&"))).body);
  assert.deepEqual([embedded.thumbnail_url, embedded.thumbnail_width, embedded.thumbnail_height], [address, 1200, 630]);
  await calls();
  const card = await image(new URL(address).pathname);
  assert.deepEqual([card.status, card.type, jpegSize(card.bytes), card.headers.get("Cache-Control")], [200, "image/jpeg", [1200, 630], "public, max-age=3600"]);
  assert.ok((await calls()).includes("PYRAMIDS.get"));
  const near = await image(`/${id}/at/4010.5,3005,3.05,90.jpg`);
  assert.deepEqual([near.bytes.equals(card.bytes), await calls()], [true, []], "neighbours share a card");
  for (const path of [`/${id}/at/4000,3000.jpg`, `/${id}/at/4000,3000,8.png`, `/${id}/at/x.jpg`]) assert.equal((await system.send(path)).status, 404, path);
  const home = (await system.send(`/${id}?at=8000,6000,0`)).body;
  assert.ok(home.includes(`content="${system.origin}/${id}/preview.jpg"`), "the opening view is the whole picture");
});

/** Requests all paths, some at a time. Returns the responses. */
async function many(paths, headers) {
  const [left, answers] = [[...paths.entries()], []];
  const ask = async () => {
    for (let next; (next = left.shift()); ) answers.push(await image(next[1], { headers: headers(next[0]) }));
  };
  await Promise.all(Array.from({ length: 20 }, ask));
  return answers;
}

test("a client that requests a thousand different regions is limited, and others are not", async () => {
  const greedy = { "CF-Connecting-IP": "203.0.113.1" };
  const paths = Array.from({ length: 1000 }, (_, number) => `${base}/full/${20 + (number % 40)},${20 + Math.floor(number / 40)}/0/gray.jpg`);
  const answers = await many(paths, () => greedy);
  assert.equal(answers.filter(({ status }) => status === 200).length, PER_MINUTE);
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(refused.length, 1000 - PER_MINUTE);
  assert.ok(refused.every(({ headers }) => headers.get("Retry-After") === "60"));
  const path = `${base}/full/99,98/0/gray.jpg`;
  assert.equal((await image(path)).status, 200);
  assert.equal((await image(path, { headers: greedy })).status, 200, "what a cache has is not counted");
  const whole = await many(Array.from({ length: 30 }, () => `${base}/512,512,512,512/512,512/0/default.png`), () => greedy);
  assert.ok(whole.every(({ status }) => status === 200), "tiles are not counted");
});

test("the networks of IPv6 are limited, too", async () => {
  const paths = Array.from({ length: 100 }, (_, number) => `${base}/full/${20 + number},19/0/bitonal.jpg`);
  const address = (number) => ({ "CF-Connecting-IP": `2001:db8:7:${(number * 256).toString(16)}::1` });
  const answers = await many(paths, address);
  assert.equal(answers.filter(({ status }) => status === 200).length, PER_MINUTE_48);
});

test("the day's renderings are the operator's", async () => {
  const a_day = 100;
  const bounded = await start({ REGIONS: "on", REGIONS_A_DAY: `${a_day}` }, countingCalls(COUNTED));
  try {
    const of = await content(bounded, "http://example.com/gradient.png");
    await calls(bounded);
    const made = [];
    for (let number = 0; number < a_day + 5; number += 1) made.push((await bounded.send(`/iiif/${of}/full/${20 + number},20/0/default.jpg`)));
    assert.equal(made.filter(({ status }) => status === 200).length, a_day);
    const last = made.at(-1);
    assert.deepEqual([last.status, last.headers.get("Retry-After")], [503, "3600"]);
    assert.match(last.body, /midnight UTC/);
    const messages = (await calls(bounded)).filter((call) => call === "OPERATOR.countRenderings").length;
    assert.ok(messages > 0 && messages <= 6, `${messages} messages to the operator's object for ${a_day} renderings`);
    assert.equal((await bounded.send(`/iiif/${of}/0,0,512,512/512,512/0/default.png`)).status, 200, "tiles are served");
  } finally {
    await bounded.close();
  }
});

test("one client has a tenth of the day's renderings, and others the rest", async () => {
  const shared = await start({ REGIONS: "on", REGIONS_A_DAY: "100", DEVELOPMENT: "off" }, countingCalls(COUNTED));
  try {
    const of = await content(shared, "http://example.com/gradient.png");
    const ask = async (number, address) => (await shared.send(`/iiif/${of}/full/${20 + number},20/0/default.jpg`, { headers: { "CF-Connecting-IP": address } })).status;
    const statuses = [];
    for (let number = 0; number < 14; number += 1) statuses.push(await ask(number, `2001:db8:7:${number}::1`));
    assert.deepEqual(statuses, [...Array(10).fill(200), ...Array(4).fill(503)], "all of a network are one client");
    assert.equal(await ask(50, "203.0.113.7"), 200);
  } finally {
    await shared.close();
  }
});

test("the worst client costs what is documented", async () => {
  // The most tiles, too far from each other to be read at once: a region of twice the size, which fits into no smaller
  // level.
  const apart = archive(gradient, DZI, (level) => (level === 12 ? 33 << 10 : 40));
  const single = await store(system, "http://example.com/single.png", apart, DZI);
  await system.send(`/cache/${single}/1.dzi`); // reads the index
  await calls();
  assert.equal((await image(`/iiif/${single}/full/2040,980/0/default.jpg`)).status, 200);
  const reads = (await calls()).filter((call) => call === "PYRAMIDS.get").length;
  assert.equal(reads, 48);

  const limits = await readFile(new URL("../../docs/limits.md", import.meta.url), "utf8");
  const numbers = (pattern) => pattern.exec(limits).slice(1).map((figure) => Number(figure.replaceAll(",", "")));
  const [milliseconds, perMinute] = numbers(/and rendered regions, each at most (\d+) ms \| (\d+) a minute/);
  const [documentedReads, ofOneClient] = numbers(/\| regions among these, each with at most (\d+) more reads of the store \| \| ([\d,]+) \|/);
  const [ofAll, dollars] = numbers(/`REGIONS_A_DAY`, ([\d,]+): at most \$([\d.]+) a day for all clients/);
  const wrangler = parse(await readFile(new URL("../../wrangler.toml", import.meta.url), "utf8"));
  const { simple } = wrangler.ratelimits.find(({ name }) => name === "RENDERINGS");
  assert.deepEqual([documentedReads, perMinute, ofAll, ofOneClient], [reads, simple.limit, Number(wrangler.vars.REGIONS_A_DAY), ofAll / 10]);
  // Dollars per million: requests, reads, milliseconds.
  assert.equal(dollars, Number(((ofAll * (0.3 + reads * 0.36 + milliseconds * 0.02)) / 1e6).toFixed(2)));
});

test("a takedown removes rendered pictures, kept or not", async () => {
  const victim = await content(system, "http://example.com/victim.png");
  const paths = [`/iiif/${victim}/full/90,/0/default.jpg`, `/iiif/${victim}/0,0,16000,12000/90,/0/default.jpg`, `/${victim}/at/8000,6000,2.jpg`];
  for (const path of paths) assert.equal((await image(path)).status, 200, path);
  await system.operate("takedown", { target: victim, reason: "why" });
  for (const path of [...paths, `/iiif/${victim}/full/91,/0/default.jpg`]) {
    const { status, bytes } = await image(path);
    assert.deepEqual([status, bytes.toString()], [410, "This content was taken down: why"], path);
  }
});

test("where the switch is off, there is level 0, and no card of a place", async () => {
  const off = await start();
  try {
    const of = await content(off, "http://example.com/off.png");
    const info = JSON.parse((await off.send(`/iiif/${of}/info.json`)).body);
    assert.deepEqual([info.profile, info.maxArea], ["level0", undefined]);
    assert.equal((await off.send(`/iiif/${of}/full/99,/0/default.png`)).status, 501);
    assert.equal((await off.send(`/${of}/at/1,1,1.jpg`)).status, 404);
    assert.ok((await off.send(`/${of}?at=1,1,2`)).body.includes(`/${of}/preview.jpg`));
  } finally {
    await off.close();
  }
});

test("after the second module could not be started, it is tried again", async () => {
  // The first module has its instance before this line runs.
  const failing = `
    const { Instance } = WebAssembly;
    let failures = 1;
    WebAssembly.Instance = function (...of) {
      if (failures-- > 0) throw new RangeError("WebAssembly.Instance(): Out of memory");
      return new Instance(...of);
    };
  `;
  const scarce = await start({ REGIONS: "on" }, countingCalls(COUNTED) + failing);
  try {
    const of = await content(scarce, "http://example.com/gradient.png");
    const path = `/iiif/${of}/full/90,/0/default.png`;
    assert.equal((await image(path, someone(), scarce)).status, 503);
    await shows("full/90,/0/default.png", [90, 68], [[0, 0], [1, 0], [0, 1], [1, 1]], `/iiif/${of}`, scarce);
  } finally {
    await scarce.close();
  }
});
