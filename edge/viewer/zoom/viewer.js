// A zoomable picture: OpenSeadragon with named controls, keys, a labelled region, reduced motion on request, gestures
// that do not interfere with the page around it, and limits that fit the picture.

import { element, shadow } from "../dom.js";
import { Camera } from "./camera.js";
import { controlBar } from "./controls.js";
import { fullscreenOf } from "./fullscreen.js";
import { wheelFactor } from "./geometry.js";
import { gestureHint, goesOnHint } from "./hint.js";
import { keyAction } from "./keyboard.js";
import { lostTilesNotice } from "./lost_tiles.js";
import { attributionMark } from "./mark.js";
import { overview } from "./overview.js";
import { keepInAddress } from "./place.js";
import { openPicture, setStill } from "./seadragon.js";
import css from "./viewer.css";

/** How far an arrow key moves the view, as a part of it. */
const ARROW_STEP = 0.15;
const ZOOM_STEP = 1.6;

/** The controls' distance from the edge, in CSS pixels, and the height below which a viewer cannot spare their room. */
const CONTROLS_MARGIN = 12;
const LOW = 300;

const USAGE = "Arrow keys move the picture, plus and minus zoom, 0 shows the whole, f is fullscreen.";

/**
 * Shows a ready content in `host`, filling it. Replaces the content of the host's shadow root.
 *
 * Options: `name` (what the picture is called), `cooperative` (plain gestures belong to the page around), `mayCover`
 * (may cover the page where there is no fullscreen), `address` (keep the view in the page's address), `fit` (`contain`
 * or `cover`), `background` (a CSS colour), `coveredTop()` (how many CSS pixels the page around covers above),
 * `attribution` (a mark that links to the content's own page). Gives `{ viewer, canvas, focus, destroy }`, `viewer`
 * being OpenSeadragon's, and `canvas` the element that it draws in.
 */
export function mountViewer(host, content, options = {}) {
  const { name, cooperative = false, mayCover = false, address = false, fit = "contain", background } = options;
  const { coveredTop = () => 0, attribution = false } = options;
  const root = shadow(host, css);
  const canvas = element("div", { class: "canvas" });
  const label = name ? `Zoomable picture: ${name}` : "Zoomable picture";
  const region = element("section", { class: "viewer", "aria-label": label }, canvas);
  if (background) region.style.background = background;
  root.replaceChildren(region);

  const stillness = matchMedia("(prefers-reduced-motion: reduce)");
  const mounted = new AbortController();
  const viewer = openPicture(canvas, content.dzi, { still: stillness.matches, cooperative });
  const { width, height } = content.dzi;
  const camera = new Camera(viewer, { width, height }, { fit, isStill: () => stillness.matches, covered });
  function covered() {
    const controlsCover = region.clientHeight < LOW ? 0 : controls.bar.offsetHeight + 2 * CONTROLS_MARGIN;
    return { top: fullscreen?.active ? 0 : coveredTop(), bottom: controlsCover };
  }
  const fullscreen = fullscreenOf(region, mayCover, (active) => {
    if (cooperative) viewer.setCooperativeGestures(!active);
    camera.refit();
    controls.setFullscreen(active);
  });

  const spoken = element("p", { class: "unseen", role: "status" });
  function zoom(factor) {
    camera.zoomBy(factor);
    spoken.textContent = `${camera.percent()} percent`;
  }
  const actions = {
    zoomIn: () => zoom(ZOOM_STEP),
    zoomOut: () => zoom(1 / ZOOM_STEP),
    home: () => camera.goHome(),
    rotate: () => camera.rotate(),
    fullscreen: fullscreen && (() => fullscreen.toggle()),
  };
  const controls = controlBar(actions);
  const usage = element("p", { class: "unseen", id: "usage" }, USAGE);
  const map = overview(viewer, camera, content.dzi);
  const goesOn = goesOnHint(viewer, camera);
  const mark = attribution ? attributionMark(content.shareUrl) : "";
  region.append(usage, spoken, gestureHint(viewer), goesOn.note, lostTilesNotice(viewer), controls.bar, map, mark);
  const focusable = viewer.canvas;
  focusable.setAttribute("role", "application");
  focusable.setAttribute("aria-label", "Picture");
  focusable.setAttribute("aria-describedby", "usage");

  viewer.addHandler("open", () => {
    setStill(viewer, stillness.matches);
    stillness.addEventListener("change", () => setStill(viewer, stillness.matches), { signal: mounted.signal });
    camera.measure();
    camera.goToOpening(true);
    if (address) mounted.signal.addEventListener("abort", keepInAddress(camera));
    goesOn.show();
  });
  viewer.addHandler("update-viewport", () => {
    camera.sharpen();
    controls.setScale(camera.percent(true));
  });
  for (const move of ["open", "zoom", "pan", "resize", "rotate"]) {
    viewer.addHandler(move, () => controls.setRange(camera.range));
  }
  viewer.addHandler("canvas-scroll", (event) => {
    const { ctrlKey, metaKey } = event.originalEvent;
    if (viewer.cooperativeGestures && !ctrlKey && !metaKey) return; // it scrolls the page
    event.preventDefaultAction = true;
    camera.zoomBy(wheelFactor(event.originalEvent), event.position);
  });
  region.addEventListener("keydown", (event) => {
    const action = keyAction(event, [focusable, map].includes(root.activeElement));
    if (!action) return;
    if (action.pan) camera.pan(...action.pan.map((step) => step * ARROW_STEP));
    else actions[action.press]?.();
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    viewer,
    canvas,
    focus: () => focusable.focus({ preventScroll: true }),
    destroy() {
      if (fullscreen?.active) fullscreen.leave();
      mounted.abort();
      viewer.destroy();
      root.replaceChildren();
    },
  };
}
