// A zoomable picture: OpenSeadragon with accessible controls and keys, reduced motion, gestures that do not interfere
// with the page around, and limits that fit the picture.

import { element, shadow } from "../dom.js";
import shared from "../shared.css";
import { Camera } from "./camera.js";
import { controlBar, keyAction } from "./controls.js";
import { creditsLine } from "./credits.js";
import { fullscreenOf } from "./fullscreen.js";
import { wheelFactor } from "./geometry.js";
import { ruler, scaleBar } from "./measures.js";
import { attributionMark, continuesNote, gestureHint, lostTilesNotice, selectingNote } from "./notices.js";
import { overview } from "./overview.js";
import { goTo, keepInUrl, parsePlace, placeText, replaceUrl, withParameter } from "./place.js";
import { openPicture, setStill } from "./seadragon.js";
import css from "./viewer.css";

/** Distance of an arrow key's move, as a fraction of the view. */
const ARROW_STEP = 0.15;
const ZOOM_STEP = 1.6;

/** The distance between controls and picture, in CSS pixels. */
const CONTROLS_MARGIN = 12;
/** Height in CSS pixels below which the controls may cover the picture. */
const LOW = 300;

/** Maximum time that a document waits for its words, which say where its first page is. */
const WORDS_MS = 1000;

const USAGE = "Arrow keys move the picture, plus and minus zoom, 0 shows the whole picture, R rotates it, F toggles fullscreen.";
const MEASURING = "M shows a ruler.";

/**
 * Shows a ready content in `host`, in its shadow root.
 *
 * Options: `name` (name of the picture), `cooperative` (leave plain gestures to the page around), `mayCover` (cover
 * the page if there is no fullscreen), `ownsPage` (keep the view in the page's URL, and take keys without having the
 * focus), `search` (the part of a URL that may name a place, words and a page), `onPage(number)` (called with the
 * number of the page in view, 0 if all are), `fit` (`contain` or `cover`), `background` (a CSS colour), `coveredTop()`
 * (CSS pixels that the page covers at the top), `attribution` (show a link to the share page), `loadText(content.text)`
 * (returns a promise of the words and of what shows them, `{ text, mountText }`), `loadVector(content.vector)` (the same
 * of pages as vectors, `{ vector, mountVector }`, when they are first enlarged). Returns `{ viewer, canvas, focus }`:
 * OpenSeadragon's viewer, and the element in which it draws.
 */
export function mountViewer(host, content, options = {}) {
  const { name, cooperative = false, mayCover = false, ownsPage = false, fit = "contain", background } = options;
  const { coveredTop = () => 0, attribution = false, search = "", onPage = () => {}, loadText = fetchText, loadVector = fetchVector } = options;
  const root = shadow(host, shared, css);
  const canvas = element("div", { class: "canvas" });
  const label = name ? `Zoomable picture: ${name}` : "Zoomable picture";
  const region = element("section", { class: "viewer", "aria-label": label }, canvas);
  if (background) region.style.background = background;
  const credits = creditsLine(content.credits);
  region.dataset.printed = [name, credits.title, content.shareUrl].filter(Boolean).join(" \u00b7 ");
  root.replaceChildren(region);

  const stillness = matchMedia("(prefers-reduced-motion: reduce)");
  const url = ownsPage ? location : { search, hash: "" };
  const place = parsePlace(placeText(url), content.dzi);
  const { promise: when, resolve: open } = Promise.withResolvers();
  if (content.pages > 1 && !place?.zoom) setTimeout(open, WORDS_MS);
  else open();
  const viewer = openPicture(canvas, content.dzi, { still: stillness.matches, cooperative, when });
  undoZoom(host, region, viewer.ended);
  const { width, height } = content.dzi;
  const camera = new Camera(viewer, { width, height, vectors: Boolean(content.vector) }, { fit, isStill: () => stillness.matches, covered });
  function covered() {
    const top = fullscreen?.active ? 0 : coveredTop();
    const bottom = region.clientHeight - controls.bar.offsetTop + CONTROLS_MARGIN + above();
    return { top, bottom, isLow: region.clientHeight < LOW };
  }
  /** Returns the CSS pixels that other controls cover above the bar. */
  let above = () => 0;
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
  const { scale } = content;
  const measuring = scale && ruler(viewer, camera, scale);
  const actions = {
    zoomIn: () => zoom(ZOOM_STEP),
    zoomOut: () => zoom(1 / ZOOM_STEP),
    home: () => camera.goHome(),
    rotate: () => camera.rotate(),
    ruler: measuring && (() => controls.setRuler(measuring.toggle())),
    fullscreen: fullscreen && (() => fullscreen.toggle()),
  };
  const controls = controlBar(actions);
  const usage = element("p", { class: "unseen", id: "usage" }, scale ? `${USAGE} ${MEASURING}` : USAGE);
  const map = overview(viewer, camera, content.dzi);
  const continues = continuesNote(viewer, camera);
  const mark = attribution ? attributionMark(content.shareUrl) : "";
  const measures = scale ? [measuring.layer, scaleBar(viewer, camera, scale)] : [];
  region.append(usage, spoken, ...measures, gestureHint(viewer), continues.note, lostTilesNotice(viewer), controls.bar, map, mark, credits);
  const picture = viewer.canvas;
  makeFocusable(picture, region);
  zoomByWheel(viewer, camera);
  viewer.addHandler("open", () => {
    setStill(viewer, stillness.matches);
    stillness.addEventListener("change", () => setStill(viewer, stillness.matches), { signal: viewer.ended });
    camera.measure();
    goTo(camera, place, true);
    if (ownsPage) keepInUrl(camera);
    continues.show();
  });
  viewer.addHandler("update-viewport", () => {
    camera.sharpen();
    controls.setScale(camera.percent(true));
  });
  for (const move of ["open", "zoom", "pan", "resize", "rotate"]) {
    viewer.addHandler(move, () => controls.setRange(camera.range));
  }
  const onKey = keysOf(region, ownsPage);
  onKey((event) => {
    const onPicture = [picture, map].includes(root.activeElement) || (ownsPage && !root.activeElement);
    const action = keyAction(event, onPicture);
    if (action?.pan) camera.pan(...action.pan.map((step) => step * ARROW_STEP));
    else if (action) actions[action.press]?.();
    return action !== null;
  });
  if (content.text) {
    const coverAbove = (height) => {
      above = height;
      camera.refit();
    };
    const selecting = selectingNote(viewer, ownsPage);
    region.append(selecting.note);
    const own = { viewer, open, camera, region, bar: controls.bar, usage, selecting, covered, coverAbove, onKey };
    const urls = {
      pageUrl: (number) => withParameter(content.shareUrl, "page", number),
      hasPlace: () => placeText(url) !== "",
      setParameter: (name, value) => ownsPage && replaceUrl(withParameter(location.href, name, value)),
    };
    const parts = { ...own, ...urls, search, onPage };
    // Without words the picture is shown all the same.
    loadText(content.text)
      .then(({ text, mountText }) => mountText(text, parts))
      .catch(console.warn)
      .finally(open);
  }
  if (content.vector) {
    const load = () => {
      if (!camera.isEnlarged) return;
      viewer.removeHandler("update-viewport", load);
      // Without vectors the pixels are shown all the same.
      loadVector(content.vector)
        .then(({ vector, mountVector }) => mountVector(vector, viewer, camera))
        .catch(console.warn);
    };
    viewer.addHandler("update-viewport", load);
  }

  return { viewer, canvas, focus: () => picture.focus({ preventScroll: true }) };
}

/**
 * Undoes the CSS `zoom` of the page around: browsers give places of pointers and boxes in pixels of the window, but sizes
 * of elements in zoomed ones. So the picture has the screen's pixels, too. Engines without `currentCSSZoom` have only one
 * kind.
 */
function undoZoom(host, region, ended) {
  if (host.currentCSSZoom === undefined) return;
  const undo = () => (region.style.zoom = 1 / host.currentCSSZoom);
  undo();
  const sizes = new ResizeObserver(undo);
  sizes.observe(host, { box: "device-pixel-content-box" });
  ended.addEventListener("abort", () => sizes.disconnect());
}

/** Names the picture for screen readers. A pointer gives it the focus, for keys, but no focus ring. */
function makeFocusable(picture, region) {
  picture.setAttribute("role", "application");
  picture.setAttribute("aria-label", "Picture");
  picture.setAttribute("aria-describedby", "usage");
  picture.addEventListener("pointerdown", () => {
    region.classList.add("pointed");
    picture.focus({ preventScroll: true });
  });
  picture.addEventListener("blur", () => region.classList.remove("pointed"));
}

function zoomByWheel(viewer, camera) {
  viewer.addHandler("canvas-scroll", (event) => {
    const { ctrlKey, metaKey } = event.originalEvent;
    if (viewer.cooperativeGestures && !ctrlKey && !metaKey) return; // it scrolls the page
    event.preventDefaultAction = true;
    camera.zoomBy(wheelFactor(event.originalEvent), event.position);
  });
}

/**
 * Returns a function that calls a listener with each key press that is for a viewer. If the listener returns true, the
 * key does nothing else.
 */
function keysOf(region, ownsPage) {
  return (listener) => {
    (ownsPage ? document : region).addEventListener("keydown", (event) => {
      if (event.defaultPrevented || (ownsPage && belongsToPage(event)) || !listener(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  };
}

/** Loads words, and the module that shows them: one of its own, because few pictures have words. */
async function fetchText(url) {
  const [text, { mountText }] = await Promise.all([fetchJson(url), import("./text.js")]);
  return { text, mountText };
}

/** Loads where pages have vectors, and the module that shows them. */
async function fetchVector(url) {
  const [vector, { mountVector }] = await Promise.all([fetchJson(url), import("./vector.js")]);
  return { vector: { ...vector, base: url }, mountVector };
}

async function fetchJson(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.url} responds with ${response.status}`);
  return response.json();
}

/** Returns true if a key press is for a field or a dialog of the page. */
function belongsToPage(event) {
  return document.querySelector("dialog[open]") !== null || event.composedPath()[0].matches?.("input, textarea, select, [contenteditable]");
}
