// Renders pictures from tiles. All tiles are read first, into the memory of the second wasm module; then that decodes,
// scales and encodes without a pause, so that requests that run at the same time hold tiles, not pictures.

import { waitUntil } from "cloudflare:workers";
import { makeResponse } from "../platform/bridge.js";
import { free, hold, within } from "../platform/bounds.js";
import { render } from "./render.js";

/** Pause between two looks whether there is room, in milliseconds, and their maximum number. */
const PAUSE = 25;
const LOOKS = 200;
/** Maximum time to read tiles: shorter than a request goes on whose client has left. */
const READING = 20_000;
/** Number of bytes of a tile that are read at once. */
const CHUNK = 64 << 10;
/** Thrown if an archive does not exist. */
const MISSING = {};

/** Returns the response in the platform's cache, or undefined. */
export async function keptPicture(address) {
  const response = await caches.default.match(address);
  if (!response) return undefined;
  response.from = "cache";
  return response;
}

/**
 * Returns the response with a picture, and keeps it in the platform's cache; undefined if the archive does not exist.
 * `runs` are triples: offset in the archive, length, and start in the memory of the module; `places` are pairs of start
 * and length in that memory, one for each tile.
 */
export async function renderPicture(bucket, archive, runs, places, words, headers, address) {
  const reads = [];
  for (let run = 0; run < runs.length; run += 3) reads.push(runs.subarray(run, run + 3));
  const bytes = runs.at(-2) + runs.at(-1);
  const room = await takeRoom(bytes);
  try {
    const read = (write) => Promise.all(reads.map((run) => readRun(bucket, archive, run, write)));
    const picture = await render(words, bytes, places, (write) => within(READING, read(write), new Error("the store is too slow")));
    const response = makeResponse(200, "", headers, picture);
    response.from = "region";
    waitUntil(caches.default.put(address, response.clone()));
    return response;
  } catch (error) {
    if (error === MISSING) return undefined;
    throw error;
  } finally {
    free(room);
  }
}

async function takeRoom(bytes) {
  for (let look = 0; look < LOOKS; look += 1) {
    const room = hold(bytes, Date.now() + 2 * READING);
    if (room) return room;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new Error("too many pictures at once");
}

/** Reads a range of an archive, and writes it to `start`. */
async function readRun(bucket, key, [offset, length, start], write) {
  const object = await bucket.get(key, { range: { offset, length } });
  if (!object) throw MISSING;
  const reader = object.body.getReader({ mode: "byob" });
  let at = start;
  for (let buffer = new ArrayBuffer(Math.min(CHUNK, length)); at < start + length; ) {
    const { value, done } = await reader.read(new Uint8Array(buffer), { min: Math.min(buffer.byteLength, start + length - at) });
    if (done || at + value.length > start + length) throw new Error("the archive is too short");
    write(value, at);
    at += value.length;
    buffer = value.buffer;
  }
}
