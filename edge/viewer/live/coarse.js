// The picture as far as it is rendered, small: shown while its content is processed, in place of the drawing of tiles,
// and over the viewer until that has drawn its own.

import { element } from "../dom.js";

/** How long the viewer's tiles are waited for, and how long they take to shine through (as `viewer.css` has it). */
const LONGEST_WAIT_MS = 8000;
const FADE_MS = 250;

/**
 * Shows pictures in `place`, each once it has loaded, in place of the one before; `onShown()` is called with the first.
 * Gives `{ show(url), handOver(viewer, canvas) }`.
 */
export function coarsePicture(place, onShown) {
  let shown = null;
  let latest = "";

  async function show(url) {
    if (!url || url === latest) return;
    latest = url;
    const next = element("img", { class: "coarse", alt: "", src: url });
    try {
      await next.decode();
    } catch {
      return; // it is gone: the picture is nearly ready
    }
    if (latest !== url) return;
    if (shown) shown.replaceWith(next);
    else place.prepend(next);
    shown = next;
    onShown();
  }

  /** Leaves what is shown over the viewer's `canvas`, exactly where the picture is, until the viewer has drawn it. */
  function handOver(viewer, canvas) {
    latest = "handed over";
    if (!shown) return;
    const cover = shown;
    canvas.after(cover);
    const follow = () => {
      const picture = viewer.world.getItemAt(0);
      // It knows no place in a picture that was turned, or moved by whoever looks at it.
      if (!picture || viewer.viewport.getRotation() % 360 !== 0) return cover.remove();
      const { x, y, width, height } = viewer.viewport.viewportToViewerElementRectangle(picture.getBoundsNoRotate(true));
      const box = { inset: "auto", left: x, top: y, width, height };
      for (const [side, length] of Object.entries(box)) cover.style[side] = typeof length === "number" ? `${length}px` : length;
      cover.classList.add("placed");
    };
    const leave = () => {
      clearTimeout(patience);
      cover.classList.add("leaving");
      setTimeout(() => {
        viewer.removeHandler("update-viewport", follow);
        cover.remove();
      }, FADE_MS);
    };
    const patience = setTimeout(leave, LONGEST_WAIT_MS);
    viewer.addHandler("update-viewport", follow);
    viewer.addOnceHandler("open", () => {
      const picture = viewer.world.getItemAt(0);
      if (picture.getFullyLoaded()) leave();
      else picture.addOnceHandler("fully-loaded-change", leave);
    });
    viewer.addOnceHandler("destroy", () => clearTimeout(patience));
  }

  return { show, handOver };
}
