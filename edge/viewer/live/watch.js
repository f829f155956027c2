// Requests a content and follows it until it is finished: by its stream of events or, without one, by polling.

const FIRST_DELAY_MS = 400;
const MAX_DELAY_MS = 8000;
/** Number of failed polls in a row after which the content counts as unreachable. */
const MAX_FAILURES = 3;

/**
 * Returns the update for a content object. `kind` is `processing`, `ready`, `failed`, `missing` (no such content),
 * `removed` (`text` says by whom or why) or `unreachable` (no usable response). The first three have `content`, the
 * content object.
 */
export function updateOf(content) {
  if (content.ready && content.dzi) return { kind: "ready", content };
  return { kind: content.failed ? "failed" : "processing", content };
}

/** Requests a content by its API URL and returns an update. Throws only if `signal` aborts. */
async function fetchContent(url, { signal, revalidate = false } = {}) {
  try {
    const headers = { Accept: "application/json" };
    const response = await fetch(url, { headers, signal, cache: revalidate ? "no-cache" : "default" });
    if (response.status === 404) return { kind: "missing" };
    if (response.status === 410) return { kind: "removed", text: await response.text() };
    return response.ok ? updateOf(await response.json()) : { kind: "unreachable" };
  } catch (error) {
    if (signal?.aborted) throw error;
    return { kind: "unreachable" };
  }
}

/** Requests a retry, which is allowed once a minute. `refused` is true in the update if it was too soon. */
export async function fetchRetried(url) {
  const update = await fetchContent(`${url}?retry=1`, { revalidate: true });
  const refused = update.kind === "failed" || update.content?.stage === "waiting";
  return refused ? { ...update, refused } : update;
}

/**
 * Calls `onUpdate` with each update of the content at an API URL, first with that of `known`, a content object, if
 * given. Ends when the content is finished, missing or unreachable. Returns a function that stops it.
 */
export function watch(url, onUpdate, { known, revalidate = false } = {}) {
  const watching = new AbortController();
  const { signal } = watching;
  follow(url, onUpdate, { known, revalidate, signal }).catch((error) => {
    if (!signal.aborted) throw error;
  });
  return () => watching.abort();
}

async function follow(url, onUpdate, { known, revalidate, signal }) {
  let update = known ? updateOf(known) : await fetchContent(url, { signal, revalidate });
  // The browser caches a failure until its retry is due, but another client may have retried it since.
  if (update.kind === "failed" && !revalidate) update = await fetchContent(url, { signal, revalidate: true });
  if (update.kind === "processing") {
    onUpdate(update);
    if (await followEvents(url, onUpdate, signal)) return;
    update = await fetchContent(url, { signal, revalidate: true });
  }
  await poll(url, onUpdate, update, signal);
}

/**
 * Follows server-sent events. Resolves to true when the content is finished, and to false if there is no stream. One
 * that ended after an event is opened again by the browser: the stream of a content that waits is short.
 */
function followEvents(url, onUpdate, signal) {
  return new Promise((resolve) => {
    const stream = new EventSource(`${url}/events`);
    let hasEvent = false;
    const end = (finished) => {
      stream.close();
      resolve(finished);
    };
    stream.addEventListener("message", ({ data }) => {
      hasEvent = true;
      const update = updateOf(JSON.parse(data));
      if (update.kind !== "processing") end(true);
      onUpdate(update);
    });
    // The browser would reconnect forever. Polling distinguishes a service that is down from a stream that ended.
    stream.addEventListener("error", () => {
      if (!hasEvent || stream.readyState === EventSource.CLOSED) end(false);
      hasEvent = false;
    });
    signal.addEventListener("abort", () => end(true));
  });
}

async function poll(url, onUpdate, first, signal) {
  let update = first;
  let failures = 0;
  let delay = FIRST_DELAY_MS;
  for (;;) {
    failures = update.kind === "unreachable" ? failures + 1 : 0;
    if (failures === 0 || failures === MAX_FAILURES) onUpdate(update);
    if (failures === MAX_FAILURES || (failures === 0 && update.kind !== "processing")) return;

    await pause(delay, signal);
    await whenVisible(signal);
    const before = update;
    update = await fetchContent(url, { signal, revalidate: true });
    delay = changed(before, update) ? FIRST_DELAY_MS : Math.min(delay * 1.5, MAX_DELAY_MS);
  }
}

function changed(before, after) {
  const was = before.content;
  const is = after.content;
  return is !== undefined && ["progress", "stage", "coarseUrl"].some((field) => was?.[field] !== is[field]);
}

/** Waits, with jitter, so that pages that were opened together do not poll together. */
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
