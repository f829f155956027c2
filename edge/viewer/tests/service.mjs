// The service under test: the fake one, or with EDGEZOOM_BASE_URL a running one, which must allow sources on loopback
// (EDGEZOOM_ALLOW_NETWORKS=127.0.0.0/8). Tests that need states which only the fake can be put into skip themselves by
// `real`.

import { crc32, deflateSync } from "node:zlib";

import { startFakeService } from "./fake_service.mjs";
import { serve } from "./servers.mjs";

/**
 * For a test of what page and viewer do by themselves with a content that is ready, whatever the service says: the end-to-end
 * tests, which run the files that call `startService` once more against a running service, leave it out.
 */
export const ofTheViewer = { skip: Boolean(process.env.EDGEZOOM_BASE_URL) && "the stand-in shows it" };

/** `{ origin, real, ready(), slow(), failed(), close() }`; `slow()` gives `{ id, finish() }`, of the fake also `report()`, the
 * others an id. The running one also has `trickling()`. */
export async function startService() {
  const base = process.env.EDGEZOOM_BASE_URL;
  return base ? runningService(base.replace(/\/$/, "")) : startStandIn();
}

/** The fake one in any case. */
export async function startStandIn() {
  const fake = await startFakeService();
  const failure = { code: "source-not-found", message: "The source's host says that there is nothing (404).", retryAfter: 540 };
  return {
    ...fake,
    real: false,
    ready: async () => fake.create({ kind: "ready" }),
    failed: async () => fake.create({ kind: "failed", failure }),
    async slow(state) {
      const id = fake.create({ kind: "processing", stage: "downloading", progress: 0.1, ...state });
      return { id, report: (change) => fake.set(id, change), finish: () => fake.set(id, { kind: "ready" }) };
    },
  };
}

async function runningService(origin) {
  const picture = noise(1500, 1000);
  const held = new Map();
  let count = 0;
  const sources = await serve(async ({ pathname, searchParams }, _request, response) => {
    await held.get(pathname);
    const seconds = Number(searchParams.get("seconds"));
    if (seconds > 0) return trickle(response, picture, seconds);
    return pathname.includes("missing") ? null : { type: "image/png", body: picture };
  });
  const create = async (path) => {
    const answer = await fetch(`${origin}/v1/content/?url=${encodeURIComponent(sources.origin + path)}`);
    return (await answer.json()).id;
  };
  const fresh = (kind) => `/${kind}-${process.pid}-${(count += 1)}.png`;
  const finished = async (id) => {
    for (;;) {
      const content = await (await fetch(`${origin}/v1/content/${id}`)).json();
      if (content.ready || content.failed) return id;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  return {
    origin,
    real: true,
    ready: async () => finished(await create(fresh("picture"))),
    failed: async () => finished(await create(fresh("missing"))),
    async slow() {
      const path = fresh("slow");
      let finish;
      held.set(path, new Promise((resolve) => (finish = resolve)));
      return { id: await create(path), finish };
    },
    /** A content whose source takes so many seconds to come. */
    trickling: (seconds) => create(`${fresh("trickling")}?seconds=${seconds}`),
    close: () => sources.close(),
  };
}

/** Sends a picture in so many seconds, by the clock. */
async function trickle(response, picture, seconds) {
  response.writeHead(200, { "Content-Type": "image/png", "Content-Length": picture.length });
  const begun = Date.now();
  for (let sent = 0; sent < picture.length; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const due = Math.ceil((picture.length * (Date.now() - begun)) / (1000 * seconds));
    response.write(picture.subarray(sent, due));
    sent = due;
  }
  response.end();
}

/** A PNG in which no two places look alike. */
function noise(width, height) {
  const rows = Buffer.alloc((width * 3 + 1) * height);
  for (let y = 0, at = 0; y < height; y += 1) {
    at += 1; // the filter's byte: none
    for (let x = 0; x < width; x += 1) {
      for (const value of [x / 6, y / 4, (x * y) / 99]) rows[at++] = value;
    }
  }
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}
