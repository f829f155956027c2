// The bar that finds words: a field, the number of hits, and buttons for the next and the previous one.

import { element, iconButton } from "../dom.js";
import { around, rectangle } from "../../text/document.js";
import { MAX_HITS, searcher } from "../../text/search.js";

export const FIND = "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.2 15.2 20 20";
const UP = "m6 14.5 6-6 6 6";
const DOWN = "m6 9.5 6 6 6-6";
const CLOSE = "M6 6l12 12M18 6 6 18";

/**
 * Creates the bar of a document. Returns `{ bar, open(query), close(), isOpen() }`. `onQuery(query)` is called when the
 * query changes, with "" when the bar is closed, and `onClose()` when the reader closes it. `moves` are those of
 * `moves.js`.
 */
export function findBar(document, words, moves, onQuery, onClose) {
  const find = searcher(document);
  const field = element("input", { type: "text", "aria-label": "Find words", placeholder: "Find", enterkeyhint: "search", autocomplete: "off", spellcheck: "false", maxlength: "200" });
  const count = element("span", { class: "count", role: "status" });
  const previous = iconButton("Previous match", UP, () => step(-1));
  const next = iconButton("Next match", DOWN, () => step(1));
  const bar = element("div", { class: "find", role: "search", "aria-label": "Words", hidden: true }, field, count, previous, next, iconButton("Close search", CLOSE, leave));

  let hits = [];
  let current = -1;

  function search(immediately) {
    const query = field.value.trim();
    hits = find(query);
    current = hits.length > 0 ? firstInView() : -1;
    words.show("hits", hits.flatMap(({ parts }) => parts.map(rectangle)));
    showCurrent(query, immediately);
    onQuery(query);
  }

  /** Returns the index of the first hit on the page in view, or after it. */
  function firstInView() {
    const from = moves.seenPage()?.number ?? 1;
    return Math.max(hits.findIndex(({ page }) => page.number >= from), 0);
  }

  function showCurrent(query = field.value, immediately) {
    const hit = hits[current];
    const most = hits.length === MAX_HITS ? `${MAX_HITS} or more` : hits.length;
    count.textContent = hit ? `${current + 1} of ${most}` : query ? "No matches" : "";
    for (const one of [previous, next]) one.setAttribute("aria-disabled", hits.length < 2);
    words.show("current", hit ? hit.parts.map(rectangle) : []);
    if (hit) moves.toBox(around(hit.parts.map(rectangle)), hit.parts[0].line.thickness, bar.offsetHeight, immediately);
  }

  function step(by) {
    if (hits.length === 0) return;
    current = (current + by + hits.length) % hits.length;
    showCurrent();
  }

  /** Opens the bar with the focus, or with a query of a link. */
  function open(query) {
    const isNew = bar.hidden;
    bar.hidden = false;
    if (query) field.value = query;
    else {
      field.focus({ preventScroll: true });
      field.select();
    }
    if (isNew) search(Boolean(query));
  }

  function close() {
    if (bar.hidden) return;
    bar.hidden = true;
    for (const kind of ["hits", "current"]) words.show(kind, []);
    onQuery("");
  }
  function leave() {
    close();
    onClose();
  }

  field.addEventListener("input", () => search());
  bar.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the viewer's keys
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && event.target === field) step(event.shiftKey ? -1 : 1);
    else if (isFindKey(event)) field.select();
    else return;
    event.preventDefault();
  });
  return { bar, open, close: leave, isOpen: () => !bar.hidden };
}

/** Returns true for the browser's own keys to find words, Ctrl+F or ⌘F. */
export function isFindKey({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  return !altKey && !shiftKey && (ctrlKey !== metaKey) && key.toLowerCase() === "f";
}
