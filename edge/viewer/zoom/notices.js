// Everything that lies over the picture besides the controls: how to move it, how to select words, where it continues,
// missing tiles, and the link of an embed.

import { element, icon } from "../dom.js";

const HINT_MS = 1500;
const SELECTING = { mouse: "Drag over words to select them", touch: "Press and hold to select words" };
/** Time that a pointer rests before the note on selecting is shown, and time for which it is. */
const POINTED_MS = 700;
const SELECTING_MS = 5000;
/** Key of the session's storage under which it is noted that this was shown. */
const TAUGHT = "edgezoom-selecting";
const CONTINUES = { right: "Continues to the right \u2192", down: "Continues below \u2193" };
const MARK = "M4 4h7v7H4zM14 4h3v3h-3zM18 4h2v3h-2zM14 8h3v3h-3zM18 8h2v3h-2zM4 14h3v3H4zM8 14h3v3H8zM4 18h3v2H4zM8 18h3v2H8zM14 14h6v6h-6z";

/** Creates an overlay that explains how to zoom, shown when OpenSeadragon leaves a plain gesture to the page around. */
export function gestureHint(viewer) {
  const modifier = /Mac/i.test(navigator.platform) ? "⌘" : "Ctrl";
  const words = {
    scroll: `Hold ${modifier} and scroll to zoom`,
    drag: "Use two fingers to move the picture",
  };
  const hint = element("p", { class: "hint", "aria-hidden": "true" });
  let timer = 0;
  viewer.addHandler("canvas-cooperative-gesture", (event) => {
    event.preventDefaultAction = true; // OpenSeadragon's own overlay
    hint.textContent = words[event.gesture];
    hint.classList.add("shown");
    clearTimeout(timer);
    timer = setTimeout(() => hint.classList.remove("shown"), HINT_MS);
  });
  return hint;
}

/**
 * Creates a note that says where an elongated picture continues, until the view moves. Returns `{ note, show }`; call
 * `show` when the picture has opened.
 */
export function continuesNote(viewer, camera) {
  const note = element("p", { class: "note" });
  const hide = () => {
    if (!camera.isOpening()) note.classList.remove("shown");
  };
  function show() {
    const side = camera.continues;
    if (!side || !camera.isOpening()) return;
    note.textContent = CONTINUES[side];
    note.classList.add("shown", side);
    for (const move of ["pan", "zoom", "rotate"]) viewer.addHandler(move, hide);
  }
  return { note, show };
}

/**
 * Creates a note that says how to select words, for pointers, once in a session. Returns `{ note, offer, learnt }`:
 * `offer(pointerType)` shows it if the pointer rests, and `learnt()` is called when words are selected.
 */
export function selectingNote(viewer, ownsPage) {
  const note = element("p", { class: "note", "aria-hidden": "true" });
  let timer = 0;
  function offer(pointerType) {
    if (note.classList.contains("shown")) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!isNew(ownsPage)) return;
      note.textContent = SELECTING[pointerType] ?? SELECTING.touch;
      note.classList.add("shown");
      timer = setTimeout(hide, SELECTING_MS);
    }, POINTED_MS);
  }
  function hide() {
    clearTimeout(timer);
    note.classList.remove("shown");
  }
  function learnt() {
    hide();
    isNew(ownsPage);
  }
  viewer.canvas.addEventListener("pointermove", ({ target, pointerType, buttons }) => {
    if (pointerType === "mouse" && buttons === 0 && target.closest(".text")) offer(pointerType);
    else if (!note.classList.contains("shown")) clearTimeout(timer);
  });
  viewer.canvas.addEventListener("pointerdown", hide, true); // words stop it
  viewer.canvas.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && hide()); // a finger is lifted
  for (const event of ["zoom", "pan", "rotate"]) viewer.addHandler(event, hide);
  return { note, offer, learnt };
}

let isTaught = false;
/** Returns true once: in a session of a page that is ours, in others, whose storage is not, until they are left. */
function isNew(ownsPage) {
  const wasTaught = isTaught;
  isTaught = true;
  if (wasTaught || !ownsPage) return !wasTaught;
  try {
    const isStored = sessionStorage.getItem(TAUGHT) !== null;
    sessionStorage.setItem(TAUGHT, "");
    return !isStored;
  } catch {
    return true; // storage is forbidden
  }
}

/**
 * Creates a notice with a button that requests missing tiles again, shown when OpenSeadragon has used up its retries.
 */
export function lostTilesNotice(viewer) {
  const text = element("span", {}, "Parts of the picture did not load.");
  const again = element("button", { type: "button", class: "plain", onclick: retry }, "Try again");
  const notice = element("div", { class: "notice" });
  // The live region exists from the start: screen readers ignore a region that is inserted with its text.
  const region = element("div", { role: "status" }, notice);

  const lost = new Set();
  viewer.addHandler("tile-load-failed", ({ tile, maxReached }) => {
    if (!maxReached) return;
    lost.add(tile);
    if (!notice.hasChildNodes()) notice.append(text, again);
  });

  function retry() {
    const focused = again.matches(":focus");
    notice.replaceChildren();
    if (focused) viewer.canvas.focus({ preventScroll: true });
    // OpenSeadragon marks a failed tile as nonexistent, and does not request it again until it is reset.
    for (const tile of lost) tile.exists = true;
    lost.clear();
    viewer.world.getItemAt(0)?.reset();
    viewer.wake();
  }
  return region;
}

/** Creates the mark of an embedded viewer: a link to the share page. */
export function attributionMark(address) {
  const label = "Open in Edgezoom";
  const attributes = { class: "attribution", href: address, target: "_blank", rel: "noopener", title: label, "aria-label": label };
  return element("a", attributes, icon(MARK));
}
