// What is shown in a picture's place while it is not there: how far it has come, or why it will not come.

import { element, icon } from "../dom.js";
import { nameOf, problemWords, stageWords } from "./words.js";

const BROKEN = "M4 7a2 2 0 0 1 2-2h6l-2 4 4 3-4 3 2 4H6a2 2 0 0 1-2-2zM15 5h3a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2h-2";
const COLUMNS = 12;
const TILES = COLUMNS * 5;

/** The progress of a content. Gives `{ card, update(content) }`; the stage is read out when it changes, the figure is not. */
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
      // A bar without a value says that nothing can be said; nothing can, before the work begins.
      const begun = name !== "queued" || progress > 0;
      if (begun) bar.value = progress;
      else bar.removeAttribute("value");
      figure.textContent = begun ? `${Math.floor(progress * 100)}\u2009%` : "";
      tiles.forEach((tile, index) => tile.classList.toggle("there", scattered(index) < progress * TILES));
    },
  };
}

/** When a tile of the drawing lights up. Seventh powers modulo 61 are the numbers from 1 to 60 in an order that looks like none. */
function scattered(index) {
  let power = 1;
  for (let times = 0; times < 7; times += 1) power = (power * (index + 1)) % 61;
  return power - 1;
}

/** Why there is no picture, with a way on: `onRetry` when trying again makes sense, else the page to begin anew. */
export function problemCard(news, { onRetry, home }) {
  const { title, text, canRetry } = problemWords(news);
  const source = news.content?.url;
  const retry = canRetry ? element("button", { type: "button", onclick: onRetry }, "Try again") : null;
  const other = home ? element("a", { class: "way", href: home }, "Zoom into another picture") : null;
  return element(
    "div",
    { class: "card problem" },
    icon(BROKEN),
    element("h2", {}, title),
    text ? element("p", { role: "alert" }, text) : null,
    source ? element("p", { class: "source" }, element("a", { href: source, rel: "noopener noreferrer" }, source)) : null,
    retry || other ? element("div", { class: "ways" }, retry, other) : null,
  );
}
