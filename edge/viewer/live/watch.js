// Follows a content until it is finished. How the news come is this side's business alone: through the content's stream of
// events, and where there is none by asking, often while much happens and less often while nothing does.

import { ask, newsOf } from "./contents.js";
import { listen } from "./listen.js";

const FIRST_DELAY_MS = 400;
const LONGEST_DELAY_MS = 8000;
/** How many questions in a row may go unanswered before that is told. */
const SILENCE = 3;

/**
 * Calls `onNews` with what becomes known of the content at `address` (see `contents.js`), first with `known` if there is
 * one, until it is finished, missing or, after some silence, unreachable. Gives the function that ends it.
 */
export function watch(address, onNews, { known, afresh = false } = {}) {
  const watching = new AbortController();
  const { signal } = watching;
  follow(address, onNews, { known, afresh, signal }).catch((error) => {
    if (!signal.aborted) throw error;
  });
  return () => watching.abort();
}

async function follow(address, onNews, { known, afresh, signal }) {
  let news = known ? newsOf(known) : await ask(address, { signal, afresh });
  // A failure may have been kept by the browser for an hour, and be over.
  if (news.kind === "failed" && !afresh) news = await ask(address, { signal, afresh: true });
  if (news.kind === "processing") {
    onNews(news);
    if (await listen(address, onNews, signal)) return;
    news = await ask(address, { signal, afresh: true });
  }
  await poll(address, onNews, news, signal);
}

async function poll(address, onNews, first, signal) {
  let news = first;
  let silence = 0;
  let delay = FIRST_DELAY_MS;
  for (;;) {
    silence = news.kind === "unreachable" ? silence + 1 : 0;
    if (silence === 0 || silence === SILENCE) onNews(news);
    if (silence === SILENCE || (silence === 0 && news.kind !== "processing")) return;

    await pause(delay, signal);
    await seen(signal);
    const before = news;
    news = await ask(address, { signal, afresh: true });
    delay = moved(before, news) ? FIRST_DELAY_MS : Math.min(delay * 1.5, LONGEST_DELAY_MS);
  }
}

function moved(before, after) {
  const [was, is] = [before.content, after.content];
  return is !== undefined && (was?.progress !== is.progress || was?.stage !== is.stage);
}

/** Waits, with a little chance in it, so that many pages that opened at once do not go on asking at once. */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms * (0.85 + Math.random() * 0.3));
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Waits until the page can be seen. */
function seen(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve, reject) => {
    document.addEventListener("visibilitychange", resolve, { once: true, signal });
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
