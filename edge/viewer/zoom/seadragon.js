// The set-up of OpenSeadragon, which loads and draws tiles and handles pointers. Controls, keys, notices and fullscreen
// are our own.

import OpenSeadragon from "openseadragon";
import { SeamlessDrawer } from "./drawer.js";

/** OpenSeadragon's default of 1.2 s feels slow. */
const ANIMATION_S = 0.7;

/** Number of frames in a row without a change after which OpenSeadragon's frames pause. */
const REST_FRAMES = 10;
/** The events of a change at rest. */
const WAKING = ["open", "zoom", "pan", "rotate", "tile-loaded", "tile-load-failed", "update-viewport"];

// A frame that OpenSeadragon asks for is an object, so that it can be held back and requested later.
OpenSeadragon.requestAnimationFrame = (callback) => {
  const frame = { callback };
  request(frame);
  return frame;
};
OpenSeadragon.cancelAnimationFrame = ({ id }) => cancelAnimationFrame(id);
const request = (frame) => (frame.id = requestAnimationFrame(frame.callback));

const POINTER = { clickToZoom: false, dblClickToZoom: true };

/**
 * Opens a content's `dzi` with OpenSeadragon in an element, when a promise has resolved. `still` turns animation off.
 * The viewer's `ended` is a signal that aborts when it is destroyed, for listeners beyond its element.
 * Tiles are drawn on a 2D canvas, unless a test sets another `drawer`: WebGL allows only about 16 views per page, and
 * needs permission to read pixels of another origin.
 */
export function openPicture(element, dzi, { still, cooperative, drawer = SeamlessDrawer, when = Promise.resolve() }) {
  const unmark = withoutStyleElement();
  const viewer = new OpenSeadragon.Viewer({
    element,
    hash: `edgezoom-${crypto.getRandomValues(new Uint32Array(2)).join("")}`,
    drawer,
    showNavigationControl: false,
    autoHideControls: false, // there are none; their fading requests frames for 1.5 s after a move
    keyboardNavEnabled: false,
    cooperativeGestures: cooperative,
    gestureSettingsMouse: POINTER,
    gestureSettingsPen: POINTER,
    animationTime: still ? 0 : ANIMATION_S,
    springStiffness: 8,
    minScrollDeltaTime: -1, // no event is dropped: the camera zooms by as much as the wheel turned
    maxImageCacheCount: 120,
    tileRetryMax: 2,
    tileRetryDelay: 1500,
    preserveOverlays: true, // there are none; clearing them assigns HTML, which Trusted Types forbid
  });
  unmark();
  const life = new AbortController();
  viewer.ended = life.signal;
  viewer.addHandler("before-destroy", () => {
    life.abort();
    viewer.overlaysContainer = {}; // it assigns HTML, which Trusted Types forbid
  });
  // Two fingers are two events of a frame. OpenSeadragon (6.1.1) would start the second from where the picture was before
  // the first.
  viewer.addHandler("canvas-pinch", () => viewer.isOpen() && springs(viewer).forEach((spring) => spring.update()));
  pauseAtRest(viewer);
  followDensity(viewer);
  when.then(() => viewer.open(tileSource(dzi)));
  return viewer;
}

/**
 * Pauses OpenSeadragon's frames while nothing changes: it would request one after the other, which keeps the processor
 * awake. Counts frames, not time: on a busy machine the frame that ends a movement may be late. The element has the
 * attribute `data-at-rest` while they are paused. Sets `viewer.wake()`, for changes that raise none of the events of
 * `WAKING`.
 */
function pauseAtRest(viewer) {
  let isMoving = false;
  let isAwake = false;
  let quiet = 0;
  let held = null;
  function look() {
    isAwake = viewer.isOpen();
    if (!isAwake) return;
    const isLoading = viewer.imageLoader.jobsInProgress > 0 || !viewer.world.getItemAt(0).getFullyLoaded();
    quiet = isMoving || isLoading || viewer.world.needsDraw() ? 0 : quiet + 1;
    if (quiet <= REST_FRAMES) return requestAnimationFrame(look);
    isAwake = false;
    held = viewer._updateRequestId;
    OpenSeadragon.cancelAnimationFrame(held);
    viewer.element.dataset.atRest = "";
  }
  function wake() {
    quiet = 0;
    if (isAwake) return;
    isAwake = true;
    delete viewer.element.dataset.atRest;
    if (held) resume();
    requestAnimationFrame(look);
  }
  function resume() {
    // Springs measure time from the last frame, and would jump to their targets.
    for (const { start, current, target } of springs(viewer)) {
      const rested = OpenSeadragon.now() - current.time;
      for (const moment of [start, current, target]) moment.time += rested;
    }
    request(held);
    held = null;
  }
  viewer.wake = wake;
  for (const event of WAKING) viewer.addHandler(event, wake);
  viewer.addHandler("animation-start", () => (isMoving = true));
  viewer.addHandler("animation-finish", () => (isMoving = false));
  const resizes = new ResizeObserver(wake);
  resizes.observe(viewer.container);
  viewer.addHandler("before-destroy", () => {
    resizes.disconnect();
    held = null;
  });
}

/**
 * Draws anew when the screen's density changes, by another screen or the browser's zoom. OpenSeadragon looks at it only
 * when the window is resized.
 */
function followDensity(viewer) {
  const query = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
  const changed = () => {
    viewer._updatePixelDensityRatio();
    viewer.wake();
    followDensity(viewer);
  };
  query.addEventListener("change", changed, { once: true, signal: viewer.ended });
}

/** Returns the tile source that OpenSeadragon would read from the descriptor. */
function tileSource({ url, width, height, tileSize, tileOverlap, tileFormat }) {
  return {
    Image: {
      xmlns: "http://schemas.microsoft.com/deepzoom/2008",
      Url: url.replace(/\.dzi$/, "_files/"),
      Format: tileFormat,
      Overlap: tileOverlap,
      TileSize: tileSize,
      Size: { Width: width, Height: height },
    },
  };
}

function springs({ viewport: { zoomSpring, centerSpringX, centerSpringY, degreesSpring } }) {
  return [zoomSpring, centerSpringX, centerSpringY, degreesSpring];
}

/** Turns animation, including flicks, on or off. */
export function setStill(viewer, still) {
  for (const spring of springs(viewer)) spring.animationTime = still ? 0 : ANIMATION_S;
  viewer.gestureSettingsTouch.flickEnabled = !still;
}

/**
 * Prevents OpenSeadragon 6 from adding a style element that hides the focus on touch screens, which a strict
 * Content-Security-Policy would also report as an error. OpenSeadragon adds none if the page has one, so an inert
 * element takes its place. Returns a function that removes it.
 */
function withoutStyleElement() {
  const mark = document.createElementNS(null, "style");
  mark.setAttribute("data-openseadragon-mobile-css", "");
  document.head.append(mark);
  return () => mark.remove();
}
