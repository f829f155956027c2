// The overview: the whole picture, small, with a frame around what is seen. It fades in once part of the picture is out of
// view. A pointer moves the view there, and so do the arrow keys.

import { element } from "../dom.js";

/** Its longer and its shorter side in CSS pixels, at most and at least. */
const [LONGEST, SHORTEST] = [150, 22];

/** Parts of the picture that are out of view count from here on. */
const NEARLY = 0.004;

/** The overview of a content's `dzi`. Returns the element. */
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
    const isPart = left > NEARLY || top > NEARLY || right < 1 - NEARLY || bottom < 1 - NEARLY;
    // One that has the focus stays: the reader would lose their place.
    const shown = isPart || map.matches(":focus");
    map.classList.toggle("shown", shown);
    if (shown) map.setAttribute("tabindex", "0");
    else map.removeAttribute("tabindex");
    const within = (part) => Math.min(Math.max(part, 0), 1) * 100;
    Object.assign(frame.style, {
      left: `${within(left)}%`,
      top: `${within(top)}%`,
      width: `${within(right) - within(left)}%`,
      height: `${within(bottom) - within(top)}%`,
    });
  }

  /** Moves the view to where the pointer is. */
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

/** The address of the largest level that is a single tile. */
function smallest({ url, width, height, tileSize, tileFormat }) {
  const longer = Math.max(width, height);
  const most = Math.ceil(Math.log2(longer));
  let level = most;
  while (level > 0 && Math.ceil(longer / 2 ** (most - level)) > tileSize) level -= 1;
  return `${url.replace(/\.dzi$/, "_files/")}${level}/0_0.${tileFormat}`;
}
