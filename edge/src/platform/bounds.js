// What requests hold in this isolate, and how long they wait for each other. A request whose client leaves goes on for
// half a minute at most (`answer` in entry.js), and what it awaits after that never ends. So a place in memory has a
// time, and so has each wait.

/**
 * Maximum number of bytes that all requests hold, in bytes: files on their way to the store, and tiles of regions. An
 * isolate has 128 MB, and the rest is for the code, the tile indexes, and the pixels of the region that is rendered.
 */
const MOST = 56 << 20;

const places = new Set();

/**
 * Takes room for `bytes`, until `until` is over. Returns the place, an object that `free` takes back; undefined if all
 * places together would have more than `most` bytes.
 */
export function hold(bytes, until, most = MOST) {
  const now = Date.now();
  let held = bytes;
  for (const place of places) {
    if (place.until < now) places.delete(place);
    else held += place.bytes;
  }
  if (held > most) return undefined;
  const place = { bytes, until };
  places.add(place);
  return place;
}

export const free = (place) => places.delete(place);

/** Returns the result of `work`, or rejects with `late` after some milliseconds. */
export async function within(milliseconds, work, late) {
  let timer;
  const over = new Promise((_, reject) => (timer = setTimeout(() => reject(late), milliseconds)));
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Requests that wait for another request, by what they wait for: functions that resolve their promises. */
const waiting = new Map();

/**
 * Returns a promise that `wake` resolves, or else time: the other request may have ended. The promise belongs to the
 * request that waits, so the runtime continues that request and not the other one.
 */
export const waitFor = (key, milliseconds) =>
  new Promise((resolve) => {
    const all = waiting.get(key) ?? new Set();
    waiting.set(key, all.add(resolve));
    setTimeout(() => {
      all.delete(resolve);
      resolve();
    }, milliseconds);
  });

/** Resolves the promises of all requests that wait for `key`. */
export function wake(key) {
  for (const resolve of waiting.get(key) ?? []) resolve();
  waiting.delete(key);
}
