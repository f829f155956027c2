// A hint on how to move the picture where plain gestures scroll the page around it. OpenSeadragon passes those gestures
// to the page and raises an event.

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
