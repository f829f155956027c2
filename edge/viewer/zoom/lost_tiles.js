// OpenSeadragon requests a tile that failed to load a few times more. After that a notice over the picture says so,
// with a button that requests all missing tiles again.

import { element } from "../dom.js";

/** A notice that is hidden until the retries of a tile are used up. Returns the element. */
export function lostTilesNotice(viewer) {
  const text = element("span", {}, "Parts of the picture did not load.");
  const again = element("button", { type: "button", onclick: retry }, "Try again");
  const notice = element("div", { class: "notice" });
  // The live region exists from the beginning: screen readers do not read one that is inserted with its text.
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
  }
  return region;
}
