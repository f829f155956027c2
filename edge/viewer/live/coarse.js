// The picture as far as it is rendered, small: shown while its content is processed, in place of the drawing of tiles,
// and over the viewer until that has drawn its own.

import { element } from "../dom.js";

/** How long the viewer's tiles are waited for, and how long they take to shine through (as `viewer.css` has it). */
const LONGEST_WAIT_MS = 8000;
const FADE_MS = 250;

/**
 * Shows pictures in `place`, each once it has loaded, in place of the one before; `onShown()` is called with the first.
 * Gives `{ show(url), lift() }`.
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

  /**
   * Takes the picture off, if one is shown, and gives what puts it over a viewer's canvas, exactly where that one will
   * draw the picture: `cover(viewer, canvas)`. Until the viewer knows, it stays where it was.
   */
  function lift() {
    latest = "lifted";
    if (!shown) return null;
    const before = shown.getBoundingClientRect();
    return (viewer, canvas) => coverWith(shown, before, viewer, canvas);
  }

  return { show, lift };
}

/** Leaves a picture over the viewer's canvas until that has drawn its own. */
function coverWith(cover, before, viewer, canvas) {
  const put = ({ x, y, width, height }, fit) => {
    const box = { left: x, top: y, width, height };
    for (const [side, length] of Object.entries(box)) cover.style[side] = `${length}px`;
    cover.style.objectFit = fit;
  };
  const { left, top } = canvas.getBoundingClientRect();
  put({ x: before.x - left, y: before.y - top, width: before.width, height: before.height }, "contain");
  canvas.after(cover);

  const follow = () => {
    const picture = viewer.world.getItemAt(0);
    if (!picture) return;
    // It cannot be turned with the picture.
    if (viewer.viewport.getRotation() % 360 !== 0) leave();
    else put(viewer.viewport.viewportToViewerElementRectangle(picture.getBoundsNoRotate(true)), "fill");
  };
  const leave = () => {
    clearTimeout(patience);
    viewer.removeHandler("update-viewport", follow);
    cover.classList.add("leaving");
    setTimeout(() => cover.remove(), FADE_MS);
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
