// Hints over the picture: how to move it where plain gestures scroll the page around it, and where an elongated one goes
// on. OpenSeadragon passes plain gestures to the page and raises an event.

import { element } from "../dom.js";

const SHOWN_MS = 1500;

/** An overlay that shows how to zoom when OpenSeadragon left a gesture to the page. Returns the element. */
export function gestureHint(viewer) {
  const modifier = /Mac/i.test(navigator.platform) ? "⌘" : "Ctrl";
  const words = {
    scroll: `Hold ${modifier} and scroll to zoom`,
    drag: "Use two fingers to move the picture",
  };
  const hint = element("p", { class: "hint", "aria-hidden": "true" });
  let timer = 0;
  viewer.addHandler("canvas-cooperative-gesture", (event) => {
    event.preventDefaultAction = true; // its own overlay
    hint.textContent = words[event.gesture];
    hint.classList.add("shown");
    clearTimeout(timer);
    timer = setTimeout(() => hint.classList.remove("shown"), SHOWN_MS);
  });
  return hint;
}

const GOES_ON = { right: "The picture goes on to the right \u2192", down: "The picture goes on further down \u2193" };

/** A note at the edge beyond which an elongated picture goes on, until the view moves. Returns `{ note, show }`; `show` has to be
 * called when the picture has opened. */
export function goesOnHint(viewer, camera) {
  const note = element("p", { class: "goesOn" });
  const hide = () => {
    if (!camera.isOpening()) note.classList.remove("shown");
  };
  function show() {
    const side = camera.goesOn;
    if (!side || !camera.isOpening()) return;
    note.textContent = GOES_ON[side];
    note.classList.add("shown", side);
    for (const move of ["pan", "zoom", "rotate"]) viewer.addHandler(move, hide);
  }
  return { note, show };
}
