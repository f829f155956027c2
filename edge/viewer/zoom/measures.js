// The scale bar, and the ruler: a line between two handles that stay at their places in the picture. A handle is moved
// by the pointer or, when it has the focus, by the arrow keys.

import { element } from "../dom.js";
import { barOf, lengthWords } from "./lengths.js";

/** Maximum length of the bar in CSS pixels. */
const LONGEST = 140;
/** Maximum length of the bar as a fraction of the view. */
const SHARE = 0.26;
/** Distance of an arrow key's move in CSS pixels. */
const STEP = 2;
/** The same with Shift. */
const LARGE_STEP = 20;
/** Half of the ruler's length, as a fraction of the view, when it appears. */
const HALF = 0.18;

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Creates the scale bar of a picture with this scale. */
export function scaleBar(viewer, camera, scale) {
  const words = element("span");
  const line = element("i");
  const bar = element("div", { class: "bar", role: "img" }, words, line);
  viewer.addHandler("update-viewport", () => {
    const most = Math.min(LONGEST, SHARE * viewer.viewport.getContainerSize().x);
    const { pixels, words: text } = barOf(scale, camera.scale(true), most);
    line.style.inlineSize = `${pixels}px`;
    if (words.textContent === text) return;
    words.textContent = text;
    bar.setAttribute("aria-label", `Scale bar: ${text}`);
  });
  return bar;
}

/** Creates the ruler. Returns `{ layer, toggle() }`; `toggle` shows or hides it and returns true if it is shown. */
export function ruler(viewer, camera, scale) {
  const label = element("output", { class: "length" });
  const line = element("div", { class: "line" });
  const ends = ["Start", "End"].map((name) => ({ handle: element("button", { type: "button", class: "handle" }), name, at: null }));
  const layer = element("div", { class: "measuring", role: "group", "aria-label": "Ruler", hidden: true }, line, ...ends.map(({ handle }) => handle), label);

  function draw() {
    if (layer.hidden) return;
    const [from, to] = ends.map(({ at }) => camera.inView(at));
    const [right, down] = [to.x - from.x, to.y - from.y];
    ends.forEach(({ handle }, index) => (handle.style.translate = translation([from, to][index])));
    line.style.inlineSize = `${Math.hypot(right, down)}px`;
    line.style.transform = `translate(${from.x}px, ${from.y}px) rotate(${Math.atan2(down, right)}rad)`;
    label.style.translate = translation({ x: from.x + right / 2, y: from.y + down / 2 });
  }

  function measure() {
    const [from, to] = ends.map(({ at }) => at);
    const words = lengthWords(Math.hypot(to.x - from.x, to.y - from.y) * scale.value, scale.unit);
    label.textContent = words;
    for (const { handle, name } of ends) handle.setAttribute("aria-label", `${name} of the ruler: ${words}`);
    draw();
  }

  /** Moves an end to a point of the view, within the view. */
  function move(end, { x, y }) {
    const view = viewer.viewport.getContainerSize();
    end.at = camera.inPicture({ x: Math.min(Math.max(x, 0), view.x), y: Math.min(Math.max(y, 0), view.y) });
    measure();
  }

  for (const end of ends) {
    const { handle } = end;
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      handle.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true });
      event.preventDefault();
    });
    handle.addEventListener("pointermove", ({ pointerId, clientX, clientY }) => {
      if (!handle.hasPointerCapture(pointerId)) return;
      const box = layer.getBoundingClientRect();
      move(end, { x: clientX - box.left, y: clientY - box.top });
    });
    handle.addEventListener("keydown", (event) => {
      const arrow = ARROWS[event.key];
      if (!arrow || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = event.shiftKey ? LARGE_STEP : STEP;
      const { x, y } = camera.inView(end.at);
      move(end, { x: x + arrow[0] * step, y: y + arrow[1] * step });
      event.preventDefault();
      event.stopPropagation();
    });
  }
  viewer.addHandler("update-viewport", draw);

  function toggle() {
    layer.hidden = !layer.hidden;
    if (layer.hidden) return false;
    const { x: width, y: height } = viewer.viewport.getContainerSize();
    ends.forEach((end, index) => (end.at = camera.inPicture({ x: width * (0.5 + (index ? HALF : -HALF)), y: height / 2 })));
    measure();
    return true;
  }
  return { layer, toggle };
}

const translation = ({ x, y }) => `${x}px ${y}px`;
