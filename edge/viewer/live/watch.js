// Follows a content until it is finished: by its stream of events, and without one by polling, often while it changes
// and less often while it does not.

import { fetchContent, updateOf } from "./api.js";
import { followEvents } from "./events.js";

const FIRST_DELAY_MS = 400;
const LONGEST_DELAY_MS = 8000;
/** How many polls in a row may fail before the content counts as unreachable. */
const MOST_FAILURES = 3;

/**
 * Calls `onUpdate` with each update of the content at `address` (see `api.js`), first with that of `known`, a content
 * object, if given; until the content is finished, missing or, after some failures, unreachable. Returns the function
 * that stops.
 */
export function watch(address, onUpdate, { known, revalidate = false } = {}) {
  const watching = new AbortController();
  const { signal } = watching;
  follow(address, onUpdate, { known, revalidate, signal }).catch((error) => {
    if (!signal.aborted) throw error;
  });
  return () => watching.abort();
}

async function follow(address, onUpdate, { known, revalidate, signal }) {
  let update = known ? updateOf(known) : await fetchContent(address, { signal, revalidate });
  // The browser caches a failure for as long as it stands. A client may have started the content anew since.
  if (update.kind === "failed" && !revalidate) update = await fetchContent(address, { signal, revalidate: true });
  if (update.kind === "processing") {
    onUpdate(update);
    if (await followEvents(address, onUpdate, signal)) return;
    update = await fetchContent(address, { signal, revalidate: true });
  }
  await poll(address, onUpdate, update, signal);
}

async function poll(address, onUpdate, first, signal) {
  let update = first;
  let failures = 0;
  let delay = FIRST_DELAY_MS;
  for (;;) {
    failures = update.kind === "unreachable" ? failures + 1 : 0;
    if (failures === 0 || failures === MOST_FAILURES) onUpdate(update);
    if (failures === MOST_FAILURES || (failures === 0 && update.kind !== "processing")) return;

    await pause(delay, signal);
    await whenVisible(signal);
    const before = update;
    update = await fetchContent(address, { signal, revalidate: true });
    delay = changed(before, update) ? FIRST_DELAY_MS : Math.min(delay * 1.5, LONGEST_DELAY_MS);
  }
}

function changed(before, after) {
  const [was, is] = [before.content, after.content];
  return is !== undefined && ["progress", "stage", "coarseUrl"].some((field) => was?.[field] !== is[field]);
}

/** Waits, with some jitter, so that pages that opened at the same time do not poll at the same time. */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms * (0.85 + Math.random() * 0.3));
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Waits until the page is visible. */
function whenVisible(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve, reject) => {
    document.addEventListener("visibilitychange", resolve, { once: true, signal });
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
