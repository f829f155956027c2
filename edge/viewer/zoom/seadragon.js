// OpenSeadragon's set-up: it loads and draws tiles and handles pointers. Controls, keys, hints and fullscreen are
// modules beside this one.

import OpenSeadragon from "openseadragon";
import { SeamlessDrawer } from "./drawer.js";

/** OpenSeadragon's default of 1.2 s feels slow. */
const ANIMATION_S = 0.7;

const POINTER = { clickToZoom: false, dblClickToZoom: true };

/**
 * An OpenSeadragon viewer in an element, for a content's `dzi`. `still` asks for no animation. Tiles are drawn on a 2D
 * canvas, unless a test names another `drawer`: WebGL allows some 16 views a page, and needs permission to read the
 * pixels of another origin.
 */
export function openPicture(element, dzi, { still, cooperative, drawer = SeamlessDrawer }) {
  const unmark = withoutStyleElement();
  const viewer = new OpenSeadragon.Viewer({
    element,
    hash: `edgezoom-${crypto.getRandomValues(new Uint32Array(2)).join("")}`,
    drawer,
    tileSources: tileSource(dzi),
    showNavigationControl: false,
    keyboardNavEnabled: false,
    cooperativeGestures: cooperative,
    gestureSettingsMouse: POINTER,
    gestureSettingsPen: POINTER,
    animationTime: still ? 0 : ANIMATION_S,
    springStiffness: 8,
    minScrollDeltaTime: -1, // each event counts: `camera` zooms by as much as the wheel turned
    maxImageCacheCount: 120,
    tileRetryMax: 2,
    tileRetryDelay: 1500,
  });
  unmark();
  return viewer;
}

/** The tile source that OpenSeadragon would read from the descriptor, without fetching it. */
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

/** Turns animation on or off from now on, flicks included. */
export function setStill(viewer, still) {
  const { zoomSpring, centerSpringX, centerSpringY, degreesSpring } = viewer.viewport;
  for (const spring of [zoomSpring, centerSpringX, centerSpringY, degreesSpring]) {
    spring.animationTime = still ? 0 : ANIMATION_S;
  }
  viewer.gestureSettingsTouch.flickEnabled = !still;
}

/**
 * OpenSeadragon 6 puts a style element into the page's head that hides the focus on touch screens, unless there is one
 * already. We want neither that, nor the error that a strict Content-Security-Policy would report: an inert element
 * stands in for it until the viewer exists. Returns the function that removes it.
 */
function withoutStyleElement() {
  const mark = document.createElementNS(null, "style");
  mark.setAttribute("data-openseadragon-mobile-css", "");
  document.head.append(mark);
  return () => mark.remove();
}
