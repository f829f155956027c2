// The picture itself: OpenSeadragon, with real buttons in place of its images.

import OpenSeadragon from "openseadragon";

const BUTTONS = [
  { name: "Zoom in", path: "M12 5v14M5 12h14", act: (viewer) => zoom(viewer, 2) },
  { name: "Zoom out", path: "M5 12h14", act: (viewer) => zoom(viewer, 0.5) },
  { name: "Whole picture", path: "m4 11 8-7 8 7M6 10v9h12v-9", act: (viewer) => viewer.viewport.goHome() },
];
const FULL_SCREEN = { name: "Full screen", path: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5" };

/** Shows a ready content in place of all that `parent` holds. */
export function showPicture(content, parent) {
  const element = document.createElement("section");
  element.className = "picture";
  element.setAttribute("aria-label", "Zoomable picture");
  const canvas = document.createElement("div");
  canvas.className = "canvas";
  const controls = document.createElement("div");
  controls.className = "controls";
  element.append(canvas, controls);
  parent.replaceChildren(element); // before OpenSeadragon measures it

  const placeholder = styleOfOpenSeadragon();
  document.head.append(placeholder);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const viewer = OpenSeadragon({
    element: canvas,
    tileSources: tileSource(content.dzi),
    crossOriginPolicy: "Anonymous",
    showNavigationControl: false,
    animationTime: still ? 0 : 1,
    blendTime: still ? 0 : 0.1,
    immediateRender: still,
    gestureSettingsTouch: { pinchRotate: false },
    maxZoomPixelRatio: 2,
    visibilityRatio: 0.5,
  });
  placeholder.remove();

  for (const { name, path, act } of BUTTONS) controls.append(button(name, path, () => act(viewer)));
  if (document.fullscreenEnabled) {
    controls.append(button(FULL_SCREEN.name, FULL_SCREEN.path, () => toggleFullScreen(element)));
  }
}

/**
 * OpenSeadragon adds a style element to the page unless it finds it there. It would style nothing in a shadow tree, and
 * violate a strict policy (CSP); so it finds one, which is no HTML and therefore no style.
 */
function styleOfOpenSeadragon() {
  const element = document.createElementNS(null, "style");
  element.setAttribute("data-openseadragon-mobile-css", "");
  return element;
}

/** What OpenSeadragon would read from the descriptor. The content object has it all, which saves a request. */
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

function zoom({ viewport }, factor) {
  viewport.zoomBy(factor);
  viewport.applyConstraints();
}

function toggleFullScreen(element) {
  const change = document.fullscreenElement ? document.exitFullscreen() : element.requestFullscreen();
  change.catch(() => {}); // refused by the browser or its user: all stays as it is
}

function button(name, path, act) {
  const element = document.createElement("button");
  element.type = "button";
  element.title = name;
  element.setAttribute("aria-label", name);
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("viewBox", "0 0 24 24");
  icon.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  icon.append(line);
  element.append(icon);
  element.addEventListener("click", act);
  return element;
}
