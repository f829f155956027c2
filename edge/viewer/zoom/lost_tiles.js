// When tiles do not come, OpenSeadragon asks for them again a few times. After that a quiet notice says so, over what can be
// seen, with a button that asks for all that is missing once more.

import { element } from "../dom.js";

/** A notice that is hidden until tiles are lost for good. Gives the element. */
export function lostTilesNotice(viewer) {
  const text = element("span", {}, "Parts of the picture did not load.");
  const again = element("button", { type: "button", onclick: retry }, "Try again");
  const notice = element("div", { class: "notice" });
  // The live region is there from the beginning: one that comes with its text is not read out.
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
    // OpenSeadragon takes a tile that failed for one that is not there, and does not look again until it is reset.
    for (const tile of lost) tile.exists = true;
    lost.clear();
    viewer.world.getItemAt(0)?.reset();
  }
  return region;
}
