// Shows a content in an element, in any state: its progress, with the coarse picture as soon as there is one, then the
// picture in the viewer, or the failure. Embeds and pages use it.

import { element, icon, shadow } from "../dom.js";
import shared from "../shared.css";
import { mountViewer } from "../zoom/viewer.js";
import { coarsePicture } from "./coarse.js";
import css from "./live.css";
import { fetchRetried, watch } from "./watch.js";
import { isFile, nameOf, problemWords, stageWords } from "./words.js";

const BROKEN = "M4 7a2 2 0 0 1 2-2h6l-2 4 4 3-4 3 2 4H6a2 2 0 0 1-2-2zM15 5h3a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2h-2";
/** Number of tiles in the drawing of the progress. */
const TILES = 60;

/**
 * Shows the content at an API URL in `host`, filling it.
 *
 * Options: `known` (the content object, if the page has it), `home` (target of a link if there is no picture),
 * `onReady(content)` (called before the viewer is mounted), `onUpdate(update)` (called with each update of `watch.js`), and
 * those of `mountViewer`.
 */
export function mountContent(host, url, options = {}) {
  const { known, home, onReady, onUpdate, ...viewing } = options;
  let progress = null;
  let coarse = null;
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

  function show(update) {
    onUpdate?.(update);
    if (update.kind === "processing") {
      if (!progress) placeProgress(update.content);
      progress.update(update.content);
      coarse.show(update.content.coarseUrl);
      return;
    }
    progress = null;
    const focused = hadFocus();
    if (update.kind === "ready") {
      onReady?.(update.content);
      const cover = coarse?.lift();
      const mounted = mountViewer(host, update.content, { name: update.content.title ?? nameOf(update.content.url), ...viewing });
      cover?.(mounted.viewer, mounted.canvas);
      if (focused) mounted.focus();
    } else {
      place(problemCard(update, { home, onRetry: retry }));
      if (focused) host.shadowRoot.querySelector("button")?.focus({ preventScroll: true });
    }
    coarse = null;
  }

  async function retry() {
    const waiting = element("div", { class: "card", role: "status", tabindex: "-1" }, "Retrying …");
    place(waiting);
    waiting.focus({ preventScroll: true });
    const update = await fetchRetried(url);
    if (update.refused) show(update);
    else watch(url, show, { known: update.content, revalidate: true });
  }

  watch(url, show, { known });
}

/**
 * Creates a card with the progress. Returns `{ card, update(content) }`. Screen readers announce the stage when it changes,
 * but not the percentage.
 */
function progressCard(content) {
  const tiles = Array.from({ length: TILES }, () => element("i"));
  const figure = element("span", { class: "figure" });
  const bar = element("progress", { max: "1", "aria-labelledby": "stage" });
  const stage = element("p", { class: "stage", id: "stage", role: "status" });
  const card = element(
    "div",
    { class: "card" },
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
      const begun = name !== "queued" || progress > 0;
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
  const source = update.content?.url;
  const retry = canRetry ? element("button", { type: "button", onclick: onRetry }, "Try again") : null;
  const other = home ? element("a", { class: "button", href: home }, "Zoom into another picture") : null;
  return element(
    "div",
    { class: "card problem" },
    icon(BROKEN),
    element("h2", {}, title),
    text ? element("p", { role: "alert" }, text) : null,
    advice && home ? element("p", { class: "advice" }, advice) : null, // not in embeds: they are small, and their readers cannot act on it
    when ? element("p", { class: "when" }, when) : null,
    source && !isFile(source) ? element("p", { class: "source" }, element("a", { href: source, rel: "noopener noreferrer" }, source)) : null,
    retry || other ? element("div", { class: "actions" }, retry, other) : null,
  );
}
