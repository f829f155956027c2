// The viewer's controls, as named buttons that keyboards and screen readers can operate, and its keys.

import { element, icon } from "../dom.js";

/** Each control; the first of its keys is announced. */
const CONTROLS = {
  zoomOut: { label: "Zoom out", keys: ["-", "_"], path: "M5 12h14" },
  zoomIn: { label: "Zoom in", keys: ["+", "="], path: "M12 5v14M5 12h14" },
  home: { label: "Show the whole picture", keys: ["0", "Home"], path: "M4 10.5 12 4l8 6.5M6 9.5V20h12V9.5M10 20v-6h4v6" },
  rotate: { label: "Rotate by 90°", keys: ["r"], path: "M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9.4M20 4v5.4h-5.4" },
  ruler: { label: "Ruler", keys: ["m"], path: "M3.5 15.5 15.5 3.5l5 5-12 12zM7 12l2 2M10.5 8.5l2.5 2.5M14 5l2 2" },
  fullscreen: { label: "Fullscreen", keys: ["f"], path: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5" },
};
const EXIT_FULLSCREEN = { label: "Exit fullscreen", path: "M9 4v5H4M20 9h-5V4M15 20v-5h5M4 15h5v5" };

const ACTIONS = new Map([
  ...Object.entries(CONTROLS).flatMap(([press, { keys }]) => keys.map((key) => [key, { press }])),
  ["ArrowLeft", { pan: [-1, 0] }],
  ["ArrowRight", { pan: [1, 0] }],
  ["ArrowUp", { pan: [0, -1] }],
  ["ArrowDown", { pan: [0, 1] }],
]);

/**
 * Returns the action of a key press: `{ pan: [right, down] }`, `{ press: <name of a control> }`, or null. Combinations
 * belong to the browser. Arrow keys move the picture only if the picture has the focus. OpenSeadragon's own keys are
 * off: they depend on an American keyboard, ignore the number pad, and mirror the picture with `f`.
 */
export function keyAction({ key, ctrlKey, metaKey, altKey }, onPicture) {
  if (ctrlKey || metaKey || altKey) return null;
  const action = ACTIONS.get(key) ?? ACTIONS.get(key.toLowerCase()) ?? null;
  return action?.pan && !onPicture ? null : action;
}

/**
 * Creates the bar of controls. `actions` maps names of controls to functions; a control without a function is left out.
 * Returns
 * `{ bar, setScale(percent), setRange({ canZoomIn, canZoomOut, isHome }), setRuler(shown), setFullscreen(active) }`.
 */
export function controlBar(actions) {
  const buttons = {};
  for (const [name, { label, keys: [key], path }] of Object.entries(CONTROLS)) {
    if (!actions[name]) continue;
    const attributes = { type: "button", class: name, title: `${label} (${key})`, "aria-label": label, "aria-keyshortcuts": key };
    buttons[name] = element("button", { ...attributes, onclick: actions[name] }, icon(path));
  }
  const scale = element("span", { class: "scale", "aria-hidden": "true" });
  const { zoomOut, zoomIn, ...others } = buttons;
  const bar = element("div", { class: "controls", role: "group", "aria-label": "Viewer controls" });
  bar.append(zoomOut, scale, zoomIn, ...Object.values(others));

  /** A disabled control keeps the focus, and screen readers announce its state. */
  const enable = (button, enabled) => button.setAttribute("aria-disabled", String(!enabled));
  return {
    bar,
    setScale: (percent) => void (scale.textContent = `${percent}\u2009%`),
    setRange({ canZoomIn, canZoomOut, isHome }) {
      enable(zoomIn, canZoomIn);
      enable(zoomOut, canZoomOut);
      enable(buttons.home, !isHome);
    },
    setRuler: (shown) => buttons.ruler.setAttribute("aria-pressed", String(shown)),
    setFullscreen(active) {
      const { label, path } = active ? EXIT_FULLSCREEN : CONTROLS.fullscreen;
      buttons.fullscreen.setAttribute("aria-label", label);
      buttons.fullscreen.title = `${label} (f)`;
      buttons.fullscreen.replaceChildren(icon(path));
    },
  };
}
