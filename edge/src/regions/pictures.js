// Renders pictures from tiles. All tiles are read first, into the memory of the second wasm module; then that decodes,
// scales and encodes without a pause, so that requests that run at the same time hold tiles, not pictures.

import { waitUntil } from "cloudflare:workers";
import { makeResponse, measure } from "../platform/bridge.js";
import { free, hold, waitFor, wake, within } from "../platform/bounds.js";
import { render } from "./render.js";

const DAY = 86_400_000;
/**
 * Number of renderings that an isolate takes from the day's allowance at first, and at most: each time is a message.
 */
const FIRST = 8;
const MOST = 128;
/** One client has this part of the day's renderings. */
const SHARE = 10;
/** Time in milliseconds after which a message to the operator's object counts as lost. */
const ASKING = 5_000;
/** Pause between two looks whether there is room, in milliseconds, and their maximum number. */
const PAUSE = 25;
const LOOKS = 200;
/** Maximum time to read tiles: shorter than a request goes on whose client has left. */
const READING = 20_000;
/** Number of bytes of a tile that are read at once. */
const CHUNK = 64 << 10;
/** Thrown if an archive does not exist. */
const MISSING = {};

/**
 * The day's renderings that this isolate may still make (`left`), the numbers of each client's as far as it knows
 * (`made`), and those that the operator's object does not know yet (`untold`).
 */
let allowance = { day: 0 };

/** Returns the response in the platform's cache, or undefined. */
export async function keptPicture(address) {
  const response = await caches.default.match(address);
  if (!response) return undefined;
  response.from = "cache";
  return response;
}

/**
 * Counts a rendering of a client's party, which is empty for the operator. Returns false if those of the day are used
 * up, or the client's share of them. An isolate takes a block from the operator's object, and the next block is twice
 * as large.
 */
export async function takeOfTheDay(env, party, most) {
  for (;;) {
    const day = Math.floor(Date.now() / DAY);
    if (allowance.day !== day) allowance = { day, left: 0, block: FIRST, isEmpty: false, askedAt: 0, made: new Map(), untold: new Map() };
    const today = allowance;
    const isLimited = party && !party.startsWith("@");
    if (isLimited && (today.made.get(party) ?? 0) >= most / SHARE) return false;
    if (today.left > 0) {
      today.left -= 1;
      if (isLimited) for (const counts of [today.made, today.untold]) add(counts, party, 1);
      return true;
    }
    if (today.isEmpty) return false;
    if (Date.now() - today.askedAt < ASKING) await waitFor("renderings", ASKING);
    else await takeBlock(env, today, most);
  }
}

const add = (counts, party, number) => counts.set(party, (counts.get(party) ?? 0) + number);

/** Takes a block, and tells how many renderings the clients had. Other requests wait meanwhile. */
async function takeBlock(env, today, most) {
  const { day, block: wanted, untold: used } = today;
  today.askedAt = Date.now();
  today.untold = new Map();
  try {
    const { granted, made } = await env.OPERATOR.getByName("operator").countRenderings({ day, wanted, most, used });
    if (!Number.isInteger(granted)) throw new Error("the reply has no number");
    today.left += granted;
    today.isEmpty = granted < wanted;
    today.block = Math.min(2 * wanted, MOST);
    used.clear();
    for (const [party, number] of made) today.made.set(party, number + (today.untold.get(party) ?? 0));
  } finally {
    for (const [party, number] of used) add(today.untold, party, number);
    today.askedAt = 0;
    wake("renderings");
  }
}

/**
 * Returns the response with a picture, and keeps it in the platform's cache; undefined if the archive does not exist.
 * `tiles` are triples: the number of a pair of offset and length in `runs`, start, length.
 */
export async function renderPicture(bucket, archive, runs, tiles, words, headers, address, purpose) {
  const starts = [];
  let bytes = 0;
  for (let run = 0; run < runs.length; run += 2) {
    starts.push(bytes);
    bytes += runs[run + 1];
  }
  const places = new Uint32Array((tiles.length / 3) * 2);
  for (let tile = 0; tile < tiles.length / 3; tile += 1) {
    const [run, start, length] = tiles.subarray(3 * tile, 3 * tile + 3);
    places.set([starts[run] + start, length], 2 * tile);
  }
  const room = await takeRoom(bytes);
  try {
    const read = (write) => Promise.all(starts.map((start, run) => readRun(bucket, archive, runs[2 * run], runs[2 * run + 1], start, write)));
    const picture = await render(words, bytes, places, (write) => within(READING, read(write), new Error("the store is too slow")));
    const response = makeResponse(200, "", headers, picture);
    response.from = "region";
    waitUntil(caches.default.put(address, response.clone()));
    measure("region", [purpose, "rendered"], 1, bytes);
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

/** Counts the outcome of a request for a picture. */
export const noteRegion = (purpose, result) => measure("region", [purpose, result], 1);

/** Reads a range of an archive, and writes it to `start`. */
async function readRun(bucket, key, offset, length, start, write) {
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
