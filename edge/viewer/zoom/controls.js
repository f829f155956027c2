// The viewer's controls: buttons with names, so that keyboards and screen readers can operate the viewer.

import { element, icon } from "../dom.js";

const CONTROLS = {
  zoomOut: { label: "Zoom out", keys: "-", path: "M5 12h14" },
  zoomIn: { label: "Zoom in", keys: "+", path: "M12 5v14M5 12h14" },
  home: { label: "Show the whole picture", keys: "0", path: "M4 10.5 12 4l8 6.5M6 9.5V20h12V9.5M10 20v-6h4v6" },
  rotate: { label: "Turn by a quarter", keys: "r", path: "M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9.4M20 4v5.4h-5.4" },
  fullscreen: {
    label: "Fullscreen",
    keys: "f",
    path: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  },
};
const LEAVE_FULLSCREEN = "M9 4v5H4M20 9h-5V4M15 20v-5h5M4 15h5v5";

/**
 * The bar of controls. `actions` maps the names of controls to functions; a control without one is left out. Returns
 * `{ bar, setScale(percent), setRange({ canZoomIn, canZoomOut, isHome }), setFullscreen(active) }`.
 */
export function controlBar(actions) {
  const buttons = {};
  for (const [name, { label, keys, path }] of Object.entries(CONTROLS)) {
    if (!actions[name]) continue;
    const attributes = { type: "button", class: name, title: `${label} (${keys})`, "aria-label": label, "aria-keyshortcuts": keys };
    buttons[name] = element("button", { ...attributes, onclick: actions[name] }, icon(path));
  }
  const scale = element("span", { class: "scale", "aria-hidden": "true" });
  const { zoomOut, zoomIn, ...others } = buttons;
  const bar = element("div", { class: "controls", role: "group", "aria-label": "Viewer controls" });
  bar.append(zoomOut, scale, zoomIn, ...Object.values(others));

  /** A disabled control stays focusable, and screen readers say that it is disabled. */
  const enable = (button, enabled) => button.setAttribute("aria-disabled", String(!enabled));
  return {
    bar,
    setScale: (percent) => void (scale.textContent = `${percent}\u2009%`),
    setRange({ canZoomIn, canZoomOut, isHome }) {
      enable(zoomIn, canZoomIn);
      enable(zoomOut, canZoomOut);
      enable(buttons.home, !isHome);
    },
    setFullscreen(active) {
      const label = active ? "Leave fullscreen" : CONTROLS.fullscreen.label;
      buttons.fullscreen.setAttribute("aria-label", label);
      buttons.fullscreen.title = `${label} (f)`;
      buttons.fullscreen.replaceChildren(icon(active ? LEAVE_FULLSCREEN : CONTROLS.fullscreen.path));
    },
  };
}
