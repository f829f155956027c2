// The coarse picture: a small version of the picture so far, shown during the conversion, and over the viewer until its
// tiles are drawn.

import { element } from "../dom.js";

/** Maximum time to wait for the viewer's tiles. */
const MAX_WAIT_MS = 8000;
/** Duration of the transition in `viewer.css`. */
const FADE_MS = 250;

/**
 * Shows each picture in `place` when it has loaded, replacing the one before. Calls `onShown()` each time. Returns `{
 * show(url), lift() }`.
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
      return; // it is deleted: the picture is almost ready
    }
    if (latest !== url) return;
    if (shown) shown.replaceWith(next);
    else place.prepend(next);
    shown = next;
    onShown();
  }

  /**
   * Stops showing pictures. If one is shown, returns `cover(viewer, canvas)`, which moves it over a viewer's canvas.
   */
  function lift() {
    latest = "lifted";
    if (!shown) return null;
    const before = shown.getBoundingClientRect();
    return (viewer, canvas) => coverWith(shown, before, viewer, canvas);
  }

  return { show, lift };
}

/** Keeps a picture over the viewer's canvas, where the viewer will draw it, until the tiles are drawn. */
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
    // It cannot rotate with the picture.
    if (viewer.viewport.getRotation() % 360 !== 0) leave();
    else put(viewer.viewport.viewportToViewerElementRectangle(picture.getBoundsNoRotate(true)), "fill");
  };
  const leave = () => {
    clearTimeout(timer);
    viewer.removeHandler("update-viewport", follow);
    cover.classList.add("leaving");
    setTimeout(() => cover.remove(), FADE_MS);
  };
  const timer = setTimeout(leave, MAX_WAIT_MS);
  viewer.addHandler("update-viewport", follow);
  viewer.addOnceHandler("open", () => {
    const picture = viewer.world.getItemAt(0);
    if (picture.getFullyLoaded()) leave();
    else picture.addOnceHandler("fully-loaded-change", leave);
  });
}
