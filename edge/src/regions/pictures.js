// Renders pictures from tiles. All tiles are read first; then the second wasm module decodes, scales and encodes
// without a pause, so that requests that run at the same time hold tiles, not pictures.

import { waitUntil } from "cloudflare:workers";
import { render } from "regions-renderer"; // edge/src/regions/render.js
import { makeResponse, measure } from "../platform/bridge.js";

const DAY = 86_400_000;
/**
 * Number of renderings that an isolate takes from the day's allowance at first, and at most: each time is a message.
 */
const FIRST = 8;
const MOST = 128;
/** Maximum number of bytes of tiles that an isolate holds, of 128 MB that it has. */
const MAX_HELD = 40 << 20;
/** Pause between two looks whether there is room, in milliseconds, and their maximum number. */
const PAUSE = 25;
const LOOKS = 200;

let allowance = { day: 0, left: 0, block: FIRST, isEmpty: false };
let held = 0;

/** Returns the response in the platform's cache, or undefined. */
export async function keptPicture(address) {
  const response = await caches.default.match(address);
  if (!response) return undefined;
  response.from = "cache";
  return response;
}

/**
 * Counts a rendering, and returns false if those of the day are used up. An isolate takes a block of them from the
 * operator's object, and the next block is twice as large.
 */
export async function takeOfTheDay(env, most) {
  const day = Math.floor(Date.now() / DAY);
  if (allowance.day !== day) allowance = { day, left: 0, block: FIRST, isEmpty: false };
  const today = allowance;
  if (today.left === 0 && !today.isEmpty) {
    const wanted = today.block;
    const granted = await env.OPERATOR.getByName("operator").takeRenderings({ day, wanted, most });
    today.left += granted;
    today.isEmpty = granted < wanted;
    today.block = Math.min(2 * wanted, MOST);
  }
  if (today.left === 0) return false;
  today.left -= 1;
  return true;
}

/**
 * Returns the response with a picture, and keeps it in the platform's cache; undefined if the archive does not exist.
 * `tiles` are triples: the number of a pair of offset and length in `runs`, start, length.
 */
export async function renderPicture(bucket, archive, runs, tiles, words, headers, address, purpose) {
  const bytes = runs.reduce((sum, figure, at) => sum + (at % 2 ? figure : 0), 0);
  for (let look = 0; held > 0 && held + bytes > MAX_HELD; look += 1) {
    if (look === LOOKS) throw new Error("too many pictures at once");
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  held += bytes;
  try {
    const parts = await readRuns(bucket, archive, runs, tiles);
    if (!parts) return undefined;
    const response = makeResponse(200, "", headers, await render(words, parts));
    response.from = "region";
    waitUntil(caches.default.put(address, response.clone()));
    measure("region", [purpose, "rendered"], 1, parts.reduce((sum, { length }) => sum + length, 0));
    return response;
  } finally {
    held -= bytes;
  }
}

/** Counts the outcome of a request for a picture. */
export const noteRegion = (purpose, result) => measure("region", [purpose, result], 1);

async function readRuns(bucket, key, runs, tiles) {
  const read = async (offset, length) => (await bucket.get(key, { range: { offset, length } }))?.arrayBuffer();
  const parts = await Promise.all(Array.from({ length: runs.length / 2 }, (_, run) => read(runs[2 * run], runs[2 * run + 1])));
  if (parts.includes(undefined)) return undefined;
  return Array.from({ length: tiles.length / 3 }, (_, tile) => {
    const [run, start, length] = tiles.subarray(3 * tile, 3 * tile + 3);
    return new Uint8Array(parts[run], start, length);
  });
}
