// Selects words with the pointer, and copies them. Positions are computed from the places of words: the browser's differ
// between engines in shadow roots, jump beside short lines, and cannot be set by touch. The browser's own selection is
// set at the end, for its menus.

import { element } from "../dom.js";
import { partsBetween, rectangle, textBetween } from "../../text/document.js";

/** Distance in CSS pixels from which a press on a link is a selection. */
const DRAG = 4;
/** Time that a finger rests to select a word. */
const LONG_PRESS_MS = 500;
/** Distance from the edge of the view in CSS pixels from which the view follows a selection. */
const EDGE = 20;
/** Step with which it follows, as a fraction of the view, and its interval. */
const EDGE_STEP = 0.04;
const EDGE_MS = 50;
/** Distance in CSS pixels that a resting finger may move. */
const RESTING = 10;
/** Time that the button says "Copied". */
const COPIED_MS = 1500;

/** What a click selects, by the number of clicks. */
const UNITS = [
  (line, place) => [line.offsetAt(place), line.offsetAt(place)],
  (line, place) => {
    const { from, to } = line.wordAt(place);
    return [from, to];
  },
  (line) => [0, line.text.length],
];

/** Ignores the click at the end of a drag, which may be on a link. */
function skipClick() {
  const skip = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("click", skip, true);
  setTimeout(() => removeEventListener("click", skip, true));
}

/** Makes the words of a layer selectable. Returns `{ clear() }`. */
export function selectable(viewer, camera, region, document, words, selecting) {
  const { layer } = words;
  const copy = element("button", { type: "button", class: "copy", hidden: true, onclick: copyAll }, "Copy");
  region.append(copy);
  let range = null;

  const before = (a, b) => a.line.index - b.line.index || a.offset - b.offset;
  /** Returns the positions around what a pointer event selects, or null. */
  function unitAt({ clientX, clientY }, clicks) {
    const box = viewer.canvas.getBoundingClientRect();
    const found = words.nearest(camera.inPicture({ x: clientX - box.left, y: clientY - box.top }));
    if (!found) return null;
    const offsets = UNITS[Math.min(clicks, UNITS.length) - 1](found.line, found.place);
    return { isInside: found.isInside, ends: offsets.map((offset) => ({ line: found.line, offset })) };
  }

  function select(...ends) {
    const ordered = ends.flat().sort(before);
    range = { start: ordered[0], end: ordered.at(-1) };
    const { start, end } = range;
    words.keep(start.line.index, end.line.index);
    words.show("selected", partsBetween(document, start, end).map(rectangle).filter(({ width }) => width > 0));
  }

  function clear() {
    if (!range) return;
    range = null;
    copy.hidden = true;
    words.keep(0, -1);
    words.show("selected", []);
    getSelection().removeAllRanges();
  }

  /** Ends a selection: one without letters is none. */
  function finish() {
    if (!range) return;
    if (before(range.start, range.end) === 0) return clear();
    selecting.learnt();
    const [from, to] = [range.start, range.end].map(({ line }) => words.nodeOf(line));
    if (from && to) getSelection().setBaseAndExtent(from, range.start.offset, to, range.end.offset);
  }

  /** Extends the selection, with or without a first unit in it, while a pointer moves, until it is lifted. */
  function follow(first, clicks, { pointerId, clientX, clientY }) {
    const following = new AbortController();
    const { signal } = following;
    let moved = null;
    const extend = () => {
      const unit = unitAt(moved, clicks);
      if (unit) select(first, unit.ends);
    };
    const move = (event) => {
      if (event.pointerId !== pointerId) return;
      event.stopPropagation(); // the picture stays in place
      if (!moved && Math.hypot(event.clientX - clientX, event.clientY - clientY) < DRAG) return;
      moved = event;
      extend();
    };
    const timer = setInterval(() => {
      const step = moved ? edgeAt(moved) : [0, 0];
      if (!step.some(Boolean)) return;
      camera.pan(...step.map((side) => side * EDGE_STEP));
      words.refresh();
      extend();
    }, EDGE_MS);
    const end = (event) => {
      if (event.pointerId !== pointerId) return;
      following.abort();
      clearInterval(timer);
      finish();
      if (moved) skipClick();
      if (event.pointerType !== "mouse" && range) offerCopy(event);
    };
    addEventListener("pointermove", move, { capture: true, signal });
    for (const name of ["pointerup", "pointercancel"]) addEventListener(name, end, { capture: true, signal });
  }

  /** Returns the edge of the view at which a pointer is, as a direction. */
  function edgeAt({ clientX, clientY }) {
    const { left, top, right, bottom } = viewer.canvas.getBoundingClientRect();
    return [[clientX, left, right], [clientY, top, bottom]].map(([at, start, end]) => (at < start + EDGE ? -1 : at > end - EDGE ? 1 : 0));
  }

  let pressed = null;
  layer.addEventListener("pointerdown", (event) => {
    pressed = event;
    // OpenSeadragon must not move the picture: it follows pointers whose press it sees.
    if (event.pointerType === "mouse" && (event.button === 0 || event.target.closest("a"))) event.stopPropagation();
  });
  layer.addEventListener("mousedown", (event) => {
    if (event.button !== 0 || pressed?.pointerType !== "mouse") return;
    event.stopPropagation();
    event.preventDefault(); // the browser's own selection
    clear();
    focusPicture();
    const unit = unitAt(event, event.detail);
    if (!unit) return;
    if (!event.target.closest("a")) select(unit.ends);
    follow(unit.ends, event.detail, pressed);
  });
  function focusPicture() {
    region.classList.add("pointed");
    viewer.canvas.focus({ preventScroll: true });
  }

  let resting = 0;
  const stopResting = () => clearTimeout(resting);
  viewer.canvas.addEventListener("pointerdown", (event) => {
    stopResting();
    if (event.pointerType === "mouse" || !event.isPrimary) return;
    pressed = event;
    resting = setTimeout(() => {
      const unit = unitAt(event, 2);
      if (!unit?.isInside) return;
      clear();
      select(unit.ends);
      follow(unit.ends, 2, event);
    }, LONG_PRESS_MS);
  }, true);
  viewer.canvas.addEventListener("pointermove", (event) => {
    if (pressed && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) > RESTING) stopResting();
  });
  for (const name of ["pointerup", "pointercancel"]) viewer.canvas.addEventListener(name, stopResting);
  viewer.addHandler("canvas-press", clear);
  addEventListener("pointerdown", (event) => !event.composedPath().includes(region) && clear(), true);
  // Fingers move the picture, so a tap is OpenSeadragon's.
  viewer.addHandler("canvas-click", ({ quick, pointerType, position }) => {
    if (!quick || pointerType === "mouse") return;
    const point = camera.inPicture(position);
    const link = words.linkAt(point);
    if (link) link.click();
    else if (words.nearest(point)?.isInside) selecting.offer(pointerType);
  });

  const text = () => textBetween(document, range.start, range.end);
  region.addEventListener("copy", (event) => {
    if (!range || event.composedPath()[0].matches?.("input, textarea")) return;
    event.clipboardData.setData("text/plain", text());
    event.preventDefault();
  });
  /** Shows a button that copies, for readers without keys, at the end of the selection. */
  function offerCopy({ clientX, clientY }) {
    const box = region.getBoundingClientRect();
    copy.textContent = "Copy";
    copy.hidden = false;
    const within = (value, most) => Math.min(Math.max(value, 0), most);
    copy.style.left = `${within(clientX - box.left - copy.offsetWidth / 2, box.width - copy.offsetWidth)}px`;
    copy.style.top = `${within(clientY - box.top - 2 * copy.offsetHeight, box.height - copy.offsetHeight)}px`;
  }
  async function copyAll() {
    try {
      await navigator.clipboard.writeText(text());
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Not copied"; // there is no clipboard without https, or the page's policy forbids it
    }
    setTimeout(() => (copy.hidden = true), COPIED_MS);
  }
  return { clear };
}
