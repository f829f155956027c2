// Shows a content in an element, in any state: its progress, with the coarse picture as soon as there is one, then the
// picture in the viewer, or the failure. Embeds and pages use it.

import { element, icon, shadow } from "../dom.js";
import shared from "../shared.css";
import { mountViewer } from "../zoom/viewer.js";
import { coarsePicture } from "./coarse.js";
import css from "./live.css";
import { fetchRetried, watch } from "./watch.js";
import { TOO_SOON, isFile, nameOf, nextTryWords, problemWords, stageWords, waitingWords } from "./copy.js";

const BROKEN = "M4 7a2 2 0 0 1 2-2h6l-2 4 4 3-4 3 2 4H6a2 2 0 0 1-2-2zM15 5h3a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2h-2";
const CLOCK = "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7.5V12l3 2";
/** Number of tiles in the drawing of the progress. */
const TILES = 60;
/** Milliseconds for which a host may be outside the document, as when it is moved, and keep its picture in memory. */
const AWAY_MS = 1000;

/**
 * Shows the content at an API URL in `host`, filling it, while the host is in the document.
 *
 * Options: `known` (the content object, if the page has it), `home` (target of a link if there is no picture),
 * `onReady(content)` (called before the viewer is mounted), `onUpdate(update)` (called with each update of `watch.js`),
 * `takeOver(update, display)` (returns true if the page has something else to do; `display(update)` goes on), and those
 * of `mountViewer`.
 */
export function mountContent(host, url, options = {}) {
  const { known, home, onReady, onUpdate, takeOver, ...viewing } = options;
  let progress = null;
  let waiting = null;
  let coarse = null;
  let mounted = null;
  /** The last update. */
  let last = null;
  let stop = () => {};
  /** True if the element that is about to be replaced has the focus. */
  const hadFocus = () => host.shadowRoot?.activeElement != null;

  function place(card) {
    const frame = element("div", { class: "frame" }, card);
    if (options.background) frame.style.background = options.background;
    shadow(host, shared, css).replaceChildren(frame);
    return frame;
  }

  /** Shows the progress in a frame that makes room for the coarse picture. */
  function placeProgress(content) {
    progress = progressCard(content);
    const frame = place(progress.card);
    coarse = coarsePicture(frame, () => {
      const above = options.fit === "cover" ? 0 : (options.coveredTop?.() ?? 0);
      frame.style.setProperty("--above", `${above}px`);
      frame.classList.add("drawn");
    });
  }

  /** Shows when and why another attempt follows. */
  function placeWaiting(content) {
    progress = coarse = null;
    waiting = waitingCard(content, { home, onRetry: retry });
    place(waiting.card);
  }

  function show(update) {
    last = update;
    onUpdate?.(update);
    if (!takeOver?.(update, display)) display(update);
  }

  function displayProcessing({ content, refused }) {
    const focused = hadFocus();
    if (content.retry) {
      if (!waiting) placeWaiting(content);
      waiting.update(content, refused);
    } else {
      waiting = null;
      if (!progress) placeProgress(content);
      progress.update(content);
      coarse.show(content.coarseUrl);
    }
    if (!focused || hadFocus()) return;
    const { shadowRoot } = host;
    (shadowRoot.querySelector("button") ?? shadowRoot.querySelector(".card")).focus({ preventScroll: true });
  }

  function display(update) {
    if (update.kind === "processing") return displayProcessing(update);
    progress = waiting = null;
    const focused = hadFocus();
    if (update.kind === "ready") {
      onReady?.(update.content);
      const cover = coarse?.lift();
      mounted = mountViewer(host, update.content, { name: update.content.alt ?? update.content.title ?? nameOf(update.content.url), ...viewing });
      cover?.(mounted.viewer, mounted.canvas);
      if (focused) mounted.focus();
    } else {
      place(problemCard(update, { home, onRetry: retry }));
      if (focused) host.shadowRoot.querySelector("button")?.focus({ preventScroll: true });
    }
    coarse = null;
  }

  async function retry() {
    stop();
    progress = waiting = coarse = null;
    const card = element("div", { class: "card", role: "status", tabindex: "-1" }, "Retrying …");
    place(card);
    card.focus({ preventScroll: true });
    const update = await fetchRetried(url);
    if (update.refused) show(update);
    if (update.kind !== "failed") stop = watch(url, show, { known: update.content, revalidate: true });
  }

  function leave() {
    stop();
    mounted?.viewer.destroy();
    progress = waiting = coarse = mounted = null;
    host.shadowRoot?.replaceChildren();
  }

  stop = watch(url, show, { known });
  followHost(host, leave, () => (stop = watch(url, show, { known: last?.content })));
}

/** Calls `onLeave` when an element has been outside the document for a while, and `onReturn` when it is back after that. */
function followHost(host, onLeave, onReturn) {
  let isAway = false;
  let timer = 0;
  const leave = () => {
    isAway = true;
    onLeave();
  };
  // Its size becomes 0.
  const observer = new ResizeObserver(() => {
    clearTimeout(timer);
    if (!host.isConnected) timer = setTimeout(leave, AWAY_MS);
    else if (isAway) {
      isAway = false;
      onReturn();
    }
  });
  observer.observe(host);
}

/**
 * Creates a card with the progress. Returns `{ card, update(content) }`. Screen readers announce the stage when it
 * changes, but not the percentage.
 */
function progressCard(content) {
  const tiles = Array.from({ length: TILES }, () => element("i"));
  const figure = element("span", { class: "figure" });
  const bar = element("progress", { max: "1", "aria-labelledby": "stage" });
  const stage = element("p", { class: "stage", id: "stage", role: "status" });
  const card = element(
    "div",
    { class: "card", tabindex: "-1" },
    element("div", { class: "tiles", "aria-hidden": "true" }, ...tiles),
    element("h2", {}, nameOf(content.url)),
    bar,
    element("div", { class: "line" }, stage, figure),
  );
  return {
    card,
    update({ progress, stage: name }) {
      const words = stageWords(name);
      if (stage.textContent !== words) stage.textContent = words;
      // Without a value the bar is indeterminate.
      const begun = !["building", "queued"].includes(name) || progress > 0;
      if (begun) bar.value = progress;
      else bar.removeAttribute("value");
      figure.textContent = begun ? `${Math.floor(progress * 100)}\u2009%` : "";
      tiles.forEach((tile, index) => tile.classList.toggle("there", rankOf(index) < progress * TILES));
    },
  };
}

/**
 * Returns the rank at which a tile of the drawing lights up. Seventh powers modulo 61 are a permutation of 1 to 60 that
 * looks random.
 */
function rankOf(index) {
  let power = 1;
  for (let times = 0; times < 7; times += 1) power = (power * (index + 1)) % 61;
  return power - 1;
}

/** Creates a card with a failure, with a button to retry if that can help, and a link to the home page if given. */
function problemCard(update, { onRetry, home }) {
  const { title, text, advice, when, canRetry } = problemWords(update);
  const retry = canRetry ? element("button", { type: "button", onclick: onRetry }, "Try again") : null;
  return element(
    "div",
    { class: "card problem" },
    icon(BROKEN),
    element("h2", {}, title),
    text ? element("p", { role: "alert" }, text) : null,
    // Not in embeds: they are small, and their readers cannot act on it.
    advice && home ? element("p", { class: "advice" }, advice) : null,
    when ? element("p", { class: "when" }, when) : null,
    sourceLine(update.content?.url),
    actions(retry, home),
  );
}

/**
 * Creates a card for a content that waits for its next attempt. Returns `{ card, update(content, refused) }`; `refused`
 * is true if a retry came too soon.
 */
function waitingCard(content, { onRetry, home }) {
  const { title, text } = waitingWords(content.retry);
  const when = element("p", { class: "when" });
  const note = element("p", { class: "when", role: "status" });
  const retry = element("button", { type: "button", onclick: onRetry }, "Try now");
  const card = element(
    "div",
    { class: "card problem" },
    icon(CLOCK),
    element("h2", {}, title),
    element("p", { role: "status" }, text),
    when,
    note,
    sourceLine(content.url),
    actions(retry, home),
  );
  let due = 0;
  let left = 0;
  const tick = () => {
    if (!card.isConnected) return clearInterval(timer);
    when.textContent = nextTryWords(Math.ceil((due - Date.now()) / 1000), left);
  };
  const timer = setInterval(tick, 1000);
  return {
    card,
    update({ retry: { retryAfter, attemptsLeft } }, refused) {
      due = Date.now() + 1000 * retryAfter;
      left = attemptsLeft;
      if (refused) note.textContent = TOO_SOON;
      tick();
    },
  };
}

/** Creates a line with the whole URL of a source, as a link; null for an uploaded file. */
function sourceLine(url) {
  if (!url || isFile(url)) return null;
  return element("p", { class: "source" }, element("a", { href: url, rel: "noopener noreferrer" }, url));
}

/** Creates a row with a button, and a link to the home page if given; null if there is neither. */
function actions(button, home) {
  const other = home ? element("a", { class: "button", href: home }, "Another picture") : null;
  return button || other ? element("div", { class: "actions" }, button, other) : null;
}
