// The overview: a small picture with a frame around the visible part. It fades in when part of the picture is out of
// view. The pointer and the arrow keys move the view.

import { element } from "../dom.js";

/** Maximum of the longer side in CSS pixels. */
const LONGEST = 150;
/** Minimum of the shorter side in CSS pixels. */
const SHORTEST = 22;

/** Fraction of the picture that may be out of view before the overview appears. */
const TOLERANCE = 0.004;

/** Creates the overview of a content's `dzi`. */
export function overview(viewer, camera, dzi) {
  const frame = element("div", { class: "seen" });
  const picture = element("img", { src: smallest(dzi), alt: "", draggable: "false" });
  const sheet = element("div", { class: "sheet" }, picture, frame);
  const map = element("div", { class: "overview", role: "application", "aria-label": "Overview", "aria-describedby": "usage" }, sheet);
  picture.addEventListener("error", () => map.remove());

  const scale = Math.min(1, LONGEST / Math.max(dzi.width, dzi.height));
  const [width, height] = [dzi.width, dzi.height].map((side) => Math.max(side * scale, SHORTEST));
  Object.assign(sheet.style, { width: `${width}px`, height: `${height}px` });

  function turn() {
    const degrees = camera.rotation;
    const sideways = Math.round(degrees / 90) % 2 !== 0;
    Object.assign(map.style, { width: `${sideways ? height : width}px`, height: `${sideways ? width : height}px` });
    sheet.style.transform = `translate(-50%, -50%) rotate(${degrees}deg)`;
  }

  function show() {
    const { left, top, right, bottom } = camera.seen;
    const isPart = left > TOLERANCE || top > TOLERANCE || right < 1 - TOLERANCE || bottom < 1 - TOLERANCE;
    // If it has the focus it stays, or the reader would lose their place.
    const shown = isPart || map.matches(":focus");
    map.classList.toggle("shown", shown);
    if (shown) map.setAttribute("tabindex", "0");
    else map.removeAttribute("tabindex");
    const within = (fraction) => Math.min(Math.max(fraction, 0), 1) * 100;
    Object.assign(frame.style, {
      left: `${within(left)}%`,
      top: `${within(top)}%`,
      width: `${within(right) - within(left)}%`,
      height: `${within(bottom) - within(top)}%`,
    });
  }

  /** Centres the view on the pointer's place. */
  function follow({ clientX, clientY }) {
    const box = map.getBoundingClientRect();
    const [right, down] = [clientX - (box.left + box.width / 2), clientY - (box.top + box.height / 2)];
    const turned = (-camera.rotation * Math.PI) / 180;
    const x = right * Math.cos(turned) - down * Math.sin(turned);
    const y = right * Math.sin(turned) + down * Math.cos(turned);
    camera.centre(x / width + 0.5, y / height + 0.5);
  }

  map.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    map.setPointerCapture(event.pointerId);
    follow(event);
  });
  map.addEventListener("pointermove", (event) => {
    if (map.hasPointerCapture(event.pointerId)) follow(event);
  });
  map.addEventListener("blur", show);
  viewer.addHandler("open", turn);
  viewer.addHandler("rotate", turn);
  viewer.addHandler("update-viewport", show);
  return map;
}

/** Returns the URL of the largest level of a single tile. */
function smallest({ url, width, height, tileSize, tileFormat }) {
  const longer = Math.max(width, height);
  const most = Math.ceil(Math.log2(longer));
  let level = most;
  while (level > 0 && Math.ceil(longer / 2 ** (most - level)) > tileSize) level -= 1;
  return `${url.replace(/\.dzi$/, "_files/")}${level}/0_0.${tileFormat}`;
}
