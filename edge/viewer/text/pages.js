// The pages of a document: the number of the one in view, the previous and the next one, and the outline.

import { element, iconButton } from "../dom.js";

const LEFT = "m14.5 6-6 6 6 6";
const RIGHT = "m9.5 6 6 6-6 6";
const ALL = "M5 5h5v5H5zM14 5h5v5h-5zM5 14h5v5H5zM14 14h5v5h-5z";
const OUTLINE = "M5 6h14M9 12h10M9 18h10M5 12h.1M5 18h.1";
/** Deepest level of the outline that is indented. */
const DEEPEST = 6;

/**
 * Creates the control for the pages of a document. Returns
 * `{ bar, outline, turn(by), go(page, y), toggleAll(), heightAbove(controls) }`; `outline` is undefined if there is none.
 * `moves` are those of `moves.js`, and `onPage(number)` is called with the number of the page in view, 0 if all are.
 */
export function pageBar(viewer, camera, document, moves, onPage) {
  const { pages, total } = document;
  const field = element("input", { type: "text", inputmode: "numeric", "aria-label": "Page", placeholder: "–", autocomplete: "off", onfocus: () => field.select() });
  const of = element("span");
  const previous = iconButton("Previous page", LEFT, () => turn(-1), "Page Up");
  const all = iconButton("All pages", ALL, toggleAll, "W");
  const next = iconButton("Next page", RIGHT, () => turn(1), "Page Down");
  const outline = document.outline.length > 0 ? outlineMenu(document, go) : null;
  const open = outline && iconButton("Outline", OUTLINE, () => outline.toggle());
  open?.setAttribute("aria-expanded", "false");
  outline?.panel.addEventListener("toggled", () => open.setAttribute("aria-expanded", !outline.panel.hidden));
  viewer.addHandler("canvas-press", () => outline?.close());
  const bar = element("div", { class: "pages", role: "group", "aria-label": "Pages" }, open, all, previous, field, of, next);
  /** The page in view, or null if all are. */
  let current = null;
  /** The place before all pages were shown. */
  let left = null;

  function show(page) {
    current = page;
    const { number, label } = page ?? { number: 0, label: "" };
    onPage(number);
    field.value = number || "";
    of.textContent = `of ${total}${label && label !== String(number) ? ` (${label})` : ""}`;
    all.ariaPressed = !page;
    previous.setAttribute("aria-disabled", number <= 1);
    next.setAttribute("aria-disabled", number === pages.length);
  }

  function go(index, y, immediately) {
    show(pages[index]);
    moves.toPage(pages[index], y, immediately);
  }

  function turn(by) {
    const index = (current?.number ?? 0) - 1 + by;
    if (pages[index]) go(index);
  }

  /** Shows all pages or, if they are shown, what was before. */
  function toggleAll() {
    if (!camera.isWhole()) {
      const { x, y, zoom } = camera.place();
      left = camera.isHome() ? null : { x, y, zoom };
      camera.goToWhole();
    } else if (left) camera.go(left);
    else camera.goHome();
    show(moves.seenPage());
  }

  function goToEntered() {
    const entered = field.value.trim();
    const index = /^\d+$/.test(entered) ? Number(entered) - 1 : pages.findIndex(({ label }) => label === entered);
    const isMissing = !pages[index];
    field.setCustomValidity(isMissing ? `Enter a page from 1 to ${pages.length}.` : "");
    if (isMissing) return field.reportValidity();
    go(index);
    field.select();
  }

  field.addEventListener("input", () => field.setCustomValidity(""));
  field.addEventListener("blur", () => show(moves.seenPage()));
  bar.addEventListener("keydown", (event) => {
    if (event.target !== field) return;
    event.stopPropagation(); // the viewer's keys
    const act = {
      Enter: goToEntered,
      Escape: () => viewer.canvas.focus({ preventScroll: true }),
      PageUp: () => turn(-1),
      PageDown: () => turn(1),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  viewer.addHandler("animation-finish", () => field.getRootNode().activeElement === field || show(moves.seenPage()));
  show(moves.seenPage());
  /** Returns the height by which it is above other controls; 0 if it is beside them or hidden. */
  const heightAbove = (controls) => (bar.offsetParent ? Math.max(controls.offsetTop - bar.offsetTop, 0) : 0);
  return { bar, outline: outline?.panel, turn, go, toggleAll, heightAbove };
}

/** Creates the menu of headings. Returns `{ panel, toggle(), close() }`; the panel raises `toggled`. */
function outlineMenu({ outline }, go) {
  const entries = outline.map(({ depth, title, page, y }) => {
    const choose = () => {
      toggle();
      go(page, y);
    };
    const entry = element("button", { type: "button", onclick: choose }, element("span", {}, title), element("span", {}, page + 1));
    entry.style.paddingInlineStart = `${10 + 14 * Math.min(depth, DEEPEST)}px`;
    return element("li", {}, entry);
  });
  const panel = element("nav", { class: "outline", "aria-label": "Outline", hidden: true }, element("ul", {}, ...entries));
  let returnTo = null;
  function toggle() {
    panel.hidden = !panel.hidden;
    panel.dispatchEvent(new Event("toggled"));
    if (panel.hidden) return returnTo?.focus({ preventScroll: true });
    returnTo = panel.getRootNode().activeElement;
    panel.querySelector("button").focus({ preventScroll: true });
  }
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    toggle();
  });
  return { panel, toggle, close: () => panel.hidden || toggle() };
}
