// Moves of the camera to words and pages, and the page that it shows.

import { centreOf, pageAt } from "../../text/document.js";

/** Height of a line in CSS pixels below which a hit is enlarged. */
const SMALL = 10;
/** Height of a line in CSS pixels to which it is enlarged. */
const READABLE = 18;
/** Height of a line in CSS pixels up to which a page is enlarged at first. */
const COMFORTABLE = 24;
/** Distance of a hit from the edge of the view in CSS pixels. */
const MARGIN = 24;

/** Returns `{ home(), toBox(box, lineHeight, strip), toPage(page, y), seenPage() }`. `covered()` is that of the camera. */
export function movesOf(viewer, camera, covered, document) {
  /** Returns the uncovered part of the view in CSS pixels, as the picture lies, without a strip at the top. */
  function free(strip = 0) {
    const { x: width, y: height } = viewer.viewport.getContainerSize();
    const { top, bottom } = covered();
    const down = Math.max(height - top - strip - bottom, 1);
    const isSideways = Math.round(camera.rotation / 90) % 2 !== 0;
    return { shift: (bottom - top - strip) / 2, isSideways, ...(isSideways ? { width: down, height: width } : { width, height: down }) };
  }

  /** Returns the vector of a distance down the view, in pixels of the picture. */
  function downwards(distance) {
    const turn = (camera.rotation * Math.PI) / 180;
    return { x: distance * Math.sin(turn), y: distance * Math.cos(turn) };
  }

  /** Returns the picture's point at the centre of the uncovered view. */
  function centre(strip) {
    const { x, y } = camera.place();
    const down = downwards(free(strip).shift / camera.scale());
    return { x: x - down.x, y: y - down.y };
  }

  /** Returns the page in the middle of the view; null if the whole picture is shown. */
  function seenPage() {
    return camera.isWhole() ? null : pageAt(document, centre());
  }

  /** Returns the place with a point of the picture in the centre of the uncovered view, at a scale. */
  function centred({ x, y }, scale, strip) {
    const down = downwards(free(strip).shift / scale);
    return { x: x + down.x, y: y + down.y, zoom: (camera.place().zoom * scale) / camera.scale() };
  }

  /** Shows a box with a line of words below a strip at the top of the view, and enlarges it if it is small. */
  function toBox(box, lineHeight, strip, immediately) {
    const scale = camera.scale();
    const wanted = lineHeight * scale < SMALL ? READABLE / lineHeight : scale;
    const middle = centreOf(box);
    const now = centre(strip);
    const view = free(strip);
    const isSeen = (distance, side, most) => (distance + side / 2) * scale <= most / 2 - MARGIN;
    const isShown = isSeen(Math.abs(middle.x - now.x), box.width, view.width) && isSeen(Math.abs(middle.y - now.y), box.height, view.height);
    if (wanted !== scale || !isShown) camera.go(centred(middle, wanted, strip), immediately);
  }

  /** Returns the scale at which a page is whole. */
  function wholeScale({ box }) {
    const { width, height } = free();
    return Math.min(width / box.width, height / box.height, 1);
  }

  /** Returns the scale to read a page: that of its width, but its lines are not large. A wide page is whole. */
  function readingScale(page) {
    const { box, lines } = page;
    const { width, isSideways } = free();
    const whole = wholeScale(page);
    if (isSideways || box.width > box.height) return whole;
    const middle = lines.map(({ thickness }) => thickness).sort((a, b) => a - b)[lines.length >> 1];
    return Math.max(Math.min(width / box.width, COMFORTABLE / (middle ?? 1), 1), whole);
  }

  /** Returns the place that shows a page from `y` at a scale. */
  function placeOf({ box }, scale, y = 0) {
    const view = free();
    const [across, down] = [view.width / scale, view.height / scale];
    const middle = centreOf(box);
    if (!view.isSideways) {
      if (across < box.width) middle.x = box.x + across / 2;
      // A page that is lower than half of the view is in its middle.
      if (down < 2 * box.height) middle.y = box.y + Math.max(Math.min(y, box.height - down), 0) + down / 2;
    }
    return centred(middle, scale);
  }

  /** Shows a page from `y`, from all pages at the scale to read it, otherwise at this scale, but at least whole. */
  function toPage(page, y, immediately) {
    const scale = camera.isWhole() ? readingScale(page) : Math.max(camera.scale(), wholeScale(page));
    camera.go(placeOf(page, scale, y), immediately);
  }

  /** Returns the place that shows the first page at the scale to read it. */
  function home() {
    const [page] = document.pages;
    return placeOf(page, readingScale(page));
  }

  return { home, seenPage, toBox, toPage };
}
