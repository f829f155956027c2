// The cards in the place of a picture that is not shown: its progress, or its failure.

import { element, icon } from "../dom.js";
import { isFile, nameOf, problemWords, stageWords } from "./words.js";

const BROKEN = "M4 7a2 2 0 0 1 2-2h6l-2 4 4 3-4 3 2 4H6a2 2 0 0 1-2-2zM15 5h3a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2h-2";
const COLUMNS = 12;
const TILES = COLUMNS * 5;

/** The progress of a content. Returns `{ card, update(content) }`. Screen readers read the stage when it changes, but
 * not the figure. */
export function progressCard(content) {
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
      // Before the work begins the bar has no value: it is indeterminate.
      const begun = name !== "queued" || progress > 0;
      if (begun) bar.value = progress;
      else bar.removeAttribute("value");
      figure.textContent = begun ? `${Math.floor(progress * 100)}\u2009%` : "";
      tiles.forEach((tile, index) => tile.classList.toggle("there", scattered(index) < progress * TILES));
    },
  };
}

/** The rank at which a tile of the drawing lights up. Seventh powers modulo 61 are a permutation of 1 to 60 that
 * looks random. */
function scattered(index) {
  let power = 1;
  for (let times = 0; times < 7; times += 1) power = (power * (index + 1)) % 61;
  return power - 1;
}

/** The failure, with a button to retry (`onRetry`) where that makes sense, and a link to the home page (`home`) if
 * given. */
export function problemCard(update, { onRetry, home }) {
  const { title, text, advice, when, canRetry } = problemWords(update);
  const source = update.content?.url;
  const retry = canRetry ? element("button", { type: "button", onclick: onRetry }, "Try again") : null;
  const other = home ? element("a", { class: "way", href: home }, "Zoom into another picture") : null;
  return element(
    "div",
    { class: "card problem" },
    icon(BROKEN),
    element("h2", {}, title),
    text ? element("p", { role: "alert" }, text) : null,
    advice && home ? element("p", { class: "advice" }, advice) : null, // an embed may be small, and its reader cannot help it
    when ? element("p", { class: "when" }, when) : null,
    source && !isFile(source) ? element("p", { class: "source" }, element("a", { href: source, rel: "noopener noreferrer" }, source)) : null,
    retry || other ? element("div", { class: "ways" }, retry, other) : null,
  );
}
