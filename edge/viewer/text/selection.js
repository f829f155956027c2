// Selects words with the pointer, and copies them. Positions are computed from the places of words: the browser's differ
// between engines in shadow roots, jump beside short lines, and cannot be set by touch. The browser's own selection is
// set at the end, for its menus.

import { element } from "../dom.js";
import { partsBetween, rectangle, textOf } from "../../text/document.js";

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

/** Returns the order of two positions in the text. */
const order = (a, b) => a.line.index - b.line.index || a.offset - b.offset;

/**
 * Returns the selection in the words of a layer, which is empty at first: `{ select(...ends), clear(), settle(), text(),
 * isEmpty() }`.
 */
function selectionIn(document, words) {
  let range = null;
  /** Selects what is between the outermost of some positions. */
  function select(...ends) {
    const ordered = ends.flat().sort(order);
    range = { start: ordered[0], end: ordered.at(-1) };
    const { start, end } = range;
    words.keep(start.line.index, end.line.index);
    words.show("selected", partsBetween(document, start, end).map(rectangle).filter(({ width }) => width > 0));
  }
  function clear() {
    if (!range) return;
    range = null;
    words.keep(0, -1);
    words.show("selected", []);
    getSelection().removeAllRanges();
  }
  /** Selects the same in the browser. A selection without letters is cleared. */
  function settle() {
    if (!range) return;
    const { start, end } = range;
    if (order(start, end) === 0) return clear();
    const [from, to] = [start, end].map(({ line }) => words.nodeOf(line));
    if (from && to) getSelection().setBaseAndExtent(from, start.offset, to, end.offset);
  }
  return { select, clear, settle, text: () => textOf(partsBetween(document, range.start, range.end)), isEmpty: () => !range };
}

/**
 * Follows a pressed pointer until it is lifted: calls `onMove(event)` with its moves, from a distance that makes them a
 * drag, and `onEnd(event)`.
 */
function followPointer({ pointerId, clientX, clientY }, { onMove, onEnd }) {
  const following = new AbortController();
  const options = { capture: true, signal: following.signal };
  let isDrag = false;
  const move = (event) => {
    if (event.pointerId !== pointerId) return;
    event.stopPropagation(); // the picture stays in place
    isDrag ||= Math.hypot(event.clientX - clientX, event.clientY - clientY) >= DRAG;
    if (isDrag) onMove(event);
  };
  const end = (event) => {
    if (event.pointerId !== pointerId) return;
    following.abort();
    onEnd(event);
  };
  addEventListener("pointermove", move, options);
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, end, options);
}

/** Calls `onRest(event)` with the press of a finger that rests on an element. */
function onLongPress(canvas, onRest) {
  let pressed = null;
  let timer = 0;
  const stop = () => clearTimeout(timer);
  const press = (event) => {
    stop();
    if (event.pointerType === "mouse" || !event.isPrimary) return;
    pressed = event;
    timer = setTimeout(onRest, LONG_PRESS_MS, event);
  };
  const move = ({ clientX, clientY }) => {
    if (pressed && Math.hypot(clientX - pressed.clientX, clientY - pressed.clientY) > RESTING) stop();
  };
  canvas.addEventListener("pointerdown", press, true);
  canvas.addEventListener("pointermove", move);
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, stop);
}

/** Returns the edge of a box at which a pointer is, as a direction. */
function edgeAt({ left, top, right, bottom }, { clientX, clientY }) {
  return [[clientX, left, right], [clientY, top, bottom]].map(([at, start, end]) => (at < start + EDGE ? -1 : at > end - EDGE ? 1 : 0));
}

/**
 * Creates a button in a region that copies `text()`, for readers without keys. Returns `{ offer(event), hide() }`, where
 * `offer` shows it at a pointer.
 */
function copyButton(region, text) {
  const button = element("button", { type: "button", class: "copy", hidden: true, onclick: copy }, "Copy");
  region.append(button);
  const hide = () => (button.hidden = true);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied"; // there is no clipboard without https, or the page's policy forbids it
    }
    setTimeout(hide, COPIED_MS);
  }
  function offer({ clientX, clientY }) {
    const box = region.getBoundingClientRect();
    button.textContent = "Copy";
    button.hidden = false;
    const within = (value, most) => Math.min(Math.max(value, 0), most);
    button.style.left = `${within(clientX - box.left - button.offsetWidth / 2, box.width - button.offsetWidth)}px`;
    button.style.top = `${within(clientY - box.top - 2 * button.offsetHeight, box.height - button.offsetHeight)}px`;
  }
  return { offer, hide };
}

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
  const { canvas } = viewer;
  const selection = selectionIn(document, words);
  const copy = copyButton(region, selection.text);
  function clear() {
    selection.clear();
    copy.hide();
  }

  /** Returns the positions around what a pointer event selects, or null. */
  function unitAt({ clientX, clientY }, clicks) {
    const box = canvas.getBoundingClientRect();
    const found = words.nearest(camera.inPicture({ x: clientX - box.left, y: clientY - box.top }));
    if (!found) return null;
    const offsets = UNITS[Math.min(clicks, UNITS.length) - 1](found.line, found.place);
    return { isInside: found.isInside, ends: offsets.map((offset) => ({ line: found.line, offset })) };
  }

  /** Extends the selection, with or without a first unit in it, while a pointer moves, until it is lifted. */
  function follow(first, clicks, pointer) {
    let moved = null;
    const extend = () => {
      const unit = unitAt(moved, clicks);
      if (unit) selection.select(first, unit.ends);
    };
    const onMove = (event) => {
      moved = event;
      extend();
    };
    const timer = setInterval(() => {
      const step = moved ? edgeAt(canvas.getBoundingClientRect(), moved) : [0, 0];
      if (!step.some(Boolean)) return;
      camera.pan(...step.map((side) => side * EDGE_STEP));
      words.refresh();
      extend();
    }, EDGE_MS);
    const onEnd = (event) => {
      clearInterval(timer);
      selection.settle();
      if (moved) skipClick();
      if (selection.isEmpty()) return;
      selecting.learnt();
      if (event.pointerType !== "mouse") copy.offer(event);
    };
    followPointer(pointer, { onMove, onEnd });
  }

  let pressed = null;
  canvas.addEventListener("pointerdown", (event) => (pressed = event), true);
  layer.addEventListener("pointerdown", (event) => {
    // OpenSeadragon must not move the picture: it follows pointers whose press it sees.
    if (event.pointerType === "mouse" && (event.button === 0 || event.target.closest("a"))) event.stopPropagation();
  });
  layer.addEventListener("mousedown", (event) => {
    if (event.button !== 0 || pressed?.pointerType !== "mouse") return;
    event.stopPropagation();
    event.preventDefault(); // the browser's own selection
    clear();
    region.classList.add("pointed");
    canvas.focus({ preventScroll: true });
    const unit = unitAt(event, event.detail);
    if (!unit) return;
    if (!event.target.closest("a")) selection.select(unit.ends);
    follow(unit.ends, event.detail, pressed);
  });

  onLongPress(canvas, (event) => {
    const unit = unitAt(event, 2);
    if (!unit?.isInside) return;
    clear();
    selection.select(unit.ends);
    follow(unit.ends, 2, event);
  });
  viewer.addHandler("canvas-press", clear);
  addEventListener("pointerdown", (event) => !event.composedPath().includes(region) && clear(), { capture: true, signal: viewer.ended });
  // Fingers move the picture, so a tap is OpenSeadragon's.
  viewer.addHandler("canvas-click", ({ quick, pointerType, position }) => {
    if (!quick || pointerType === "mouse") return;
    const point = camera.inPicture(position);
    const link = words.linkAt(point);
    if (link) link.click();
    else if (words.nearest(point)?.isInside) selecting.offer(pointerType);
  });

  region.addEventListener("copy", (event) => {
    if (selection.isEmpty() || event.composedPath()[0].matches?.("input, textarea")) return;
    event.clipboardData.setData("text/plain", selection.text());
    event.preventDefault();
  });
  return { clear };
}
