// The service under test: the fake one or, with EDGEZOOM_BASE_URL, a running one, which must allow sources on loopback
// (EDGEZOOM_ALLOW_NETWORKS=127.0.0.0/8). Tests that need a state of the fake skip themselves if `real` is true.

import { encodePng } from "../png.mjs";
import { startFakeService } from "./fake_service.mjs";
import { serve } from "./servers.mjs";

const base = process.env.EDGEZOOM_BASE_URL?.replace(/\/$/, "");

/**
 * Options for tests of pages and viewer alone. The end-to-end tests, which run these files against a running service,
 * skip them.
 */
export const ofTheViewer = { skip: Boolean(base) && "the fake service is enough" };

/**
 * Starts the service: `{ origin, real, ready(), slow(), failed(), close() }`. `ready` and `failed` return an id; `slow`
 * returns `{ id, finish() }`, the fake's also `report(change)`. The running service also has `trickling()`, the fake
 * all of its own functions.
 */
export const startService = () => (base ? runningService(base) : startFake());

/** Starts the fake service in any case. */
export async function startFake() {
  const fake = await startFakeService();
  return {
    ...fake,
    real: false,
    ready: async () => fake.create({ kind: "ready" }),
    failed: async () => fake.create({ kind: "failed" }),
    async slow(state) {
      const id = fake.create({ kind: "processing", stage: "downloading", progress: 0.1, ...state });
      return { id, report: (change) => fake.set(id, change), finish: () => fake.set(id, { kind: "ready" }) };
    },
  };
}

async function runningService(origin) {
  const picture = gradient(1500, 1000);
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
    /** Creates a content whose source takes some seconds to arrive. */
    trickling: (seconds) => create(`${fresh("trickling")}?seconds=${seconds}`),
    close: () => sources.close(),
  };
}

/** Sends a picture evenly over some seconds. */
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

/** Returns a PNG in which all places look different. */
function gradient(width, height) {
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0, at = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) for (const value of [x / 6, y / 4, (x * y) / 99]) pixels[at++] = value;
  }
  return encodePng({ width, height, channels: 3, pixels });
}
