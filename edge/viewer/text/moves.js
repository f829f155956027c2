// Moves of the camera to words and pages, and the page that it shows.

import { pageAt } from "./document.js";

/** Height of a line in CSS pixels below which a hit is enlarged. */
const SMALL = 10;
/** Height of a line in CSS pixels to which it is enlarged. */
const READABLE = 18;
/** Distance of a hit from the edge of the view in CSS pixels. */
const MARGIN = 24;

/** Returns `{ toBox(box, lineHeight), toPage(page, y), seenPage() }`. `covered()` is that of the camera. */
export function movesOf(viewer, camera, covered, document) {
  /** Returns the uncovered part of the view in CSS pixels, as the picture lies. */
  function free() {
    const { x: width, y: height } = viewer.viewport.getContainerSize();
    const { top, bottom } = covered();
    const down = Math.max(height - top - bottom, 1);
    const isSideways = Math.round(camera.rotation / 90) % 2 !== 0;
    return { shift: (bottom - top) / 2, isSideways, ...(isSideways ? { width: down, height: width } : { width, height: down }) };
  }

  /** Returns the vector of a distance down the view, in pixels of the picture. */
  function downwards(distance) {
    const turn = (camera.rotation * Math.PI) / 180;
    return { x: distance * Math.sin(turn), y: distance * Math.cos(turn) };
  }

  /** Returns the picture's point at the centre of the uncovered view. */
  function centre() {
    const { x, y } = camera.place();
    const down = downwards(free().shift / camera.scale());
    return { x: x - down.x, y: y - down.y };
  }

  /** Returns the page in the middle of the view; null if the whole picture is shown. */
  function seenPage() {
    return camera.isHome() ? null : pageAt(document, centre());
  }

  /** Centres a point of the picture in the uncovered view, at a scale. */
  function show({ x, y }, scale, immediately) {
    const down = downwards(free().shift / scale);
    camera.go({ x: x + down.x, y: y + down.y, zoom: (camera.place().zoom * scale) / camera.scale() }, immediately);
  }

  /** Shows a box with a line of words, and enlarges it if it is small. */
  function toBox({ x, y, width, height }, lineHeight) {
    const scale = camera.scale();
    const wanted = lineHeight * scale < SMALL ? READABLE / lineHeight : scale;
    const middle = { x: x + width / 2, y: y + height / 2 };
    const now = centre();
    const view = free();
    const isSeen = (distance, side, most) => (distance + side / 2) * scale <= most / 2 - MARGIN;
    const isShown = isSeen(Math.abs(middle.x - now.x), width, view.width) && isSeen(Math.abs(middle.y - now.y), height, view.height);
    if (wanted !== scale || !isShown) show(middle, wanted);
  }

  /** Shows a page whole or, if the view is closer, its part from `y` at the same scale. */
  function toPage({ box }, y = 0, immediately) {
    const view = free();
    const whole = Math.min(view.width / box.width, view.height / box.height, 1);
    const scale = Math.max(camera.scale(), whole);
    const [across, down] = [view.width / scale, view.height / scale];
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    if (!view.isSideways) {
      if (across < box.width) middle.x = box.x + across / 2;
      if (down < box.height) middle.y = box.y + Math.min(Math.max(y, 0), box.height - down) + down / 2;
    }
    show(middle, scale, immediately);
  }

  return { seenPage, toBox, toPage };
}
