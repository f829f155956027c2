// Asks for a content object again and again until it is finished: soon while something changes, rarely while nothing does,
// not at all while nobody looks.

const SOONEST_MS = 250;
const LATEST_MS = 5000;
const BACK_OFF = 1.4;

/** A content that does not exist is told as a failed one: its viewer has something to say. */
const MISSING = { ready: false, failed: true, failure: { code: "missing", message: "There is no such picture." } };

/**
 * The content object at `address` as it changes, `known` first; the last one is ready or failed. An answer that fails is
 * told as `{ unreachable: true }`, and asked for again.
 */
export async function* contents(address, known) {
  let wait = SOONEST_MS;
  let last = known;
  if (last) {
    yield last;
    if (last.ready || last.failed) return;
    await visible(wait);
  }
  for (;;) {
    const content = await ask(address);
    yield content;
    if (content.ready || content.failed) return;
    const changed = content.progress !== last?.progress || content.stage !== last?.stage;
    wait = changed ? SOONEST_MS : Math.min(wait * BACK_OFF, LATEST_MS);
    last = content;
    await visible(wait);
  }
}

async function ask(address) {
  try {
    const response = await fetch(address, { headers: { Accept: "application/json" } });
    if (response.status === 404) return MISSING;
    return response.ok ? await response.json() : { unreachable: true };
  } catch {
    return { unreachable: true };
  }
}

/** Resolves after `ms`, and when the page is visible. */
async function visible(ms) {
  await new Promise((resolve) => setTimeout(resolve, ms));
  while (document.visibilityState === "hidden") {
    await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}
