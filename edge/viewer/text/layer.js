// The layer over the picture: lines of words, which the browser and its menus can select, links, and marks. The words
// are transparent, so that only marks are painted. Lines exist while they are in view and large enough to read; they
// are created at rest, in pieces. Screen readers get the document of `reading.js` instead.

import { element } from "../dom.js";
import { contains } from "../../text/document.js";
import { whenIdle } from "./idle.js";

/** Minimum height of a line in CSS pixels. */
const LEGIBLE = 5;
/** Maximum number of lines in the layer. */
const MAX_LINES = 4000;
/** Height of letters, in heights of the line. */
const LETTERS = 0.8;

/**
 * Creates the layer in OpenSeadragon's canvas. `anchor(link, attributes)` creates the element of a link. Returns
 * `{ layer, nodeOf, nearest, linkAt, show, keep, refresh }`.
 */
export function wordLayer(viewer, camera, document, anchor) {
  const words = element("div", { class: "words", lang: document.language || null });
  const links = linksOf(anchor);
  const layer = element("div", { class: "text", "aria-hidden": "true" }, words, links.container);
  viewer.canvas.append(layer);

  const alive = new Map();
  let kept = [0, -1];
  const inPieces = whenIdle();
  let followed = "";

  /** Moves the layer with the picture. */
  function follow() {
    const matrix = String(camera.matrix);
    if (matrix === followed) return; // only tiles have changed
    layer.style.transform = followed = matrix;
    words.classList.add("moving");
  }

  /** Returns the pages in view, and whether a box is in view. */
  function seen() {
    const { left, top, right, bottom } = camera.seen;
    const { width, height } = camera.picture;
    const isSeen = ({ x, y, width: across, height: down }) =>
      x < right * width && x + across > left * width && y < bottom * height && y + down > top * height;
    return { pages: document.pages.filter(({ box }) => isSeen(box)), isSeen };
  }

  /** Creates what has come into view, and removes what has left it. */
  function refresh() {
    words.classList.remove("moving");
    const { pages, isSeen } = seen();
    const scale = camera.scale(true);
    const isLegible = ({ thickness, box }) => thickness * scale >= LEGIBLE && isSeen(box);
    const wanted = new Set(pages.flatMap(({ lines }) => lines.filter(isLegible)).slice(0, MAX_LINES));
    for (const line of document.lines.slice(kept[0], kept[1] + 1)) if (alive.has(line)) wanted.add(line);
    for (const [line, node] of alive) {
      if (wanted.has(line)) continue;
      node.remove();
      alive.delete(line);
    }
    // In reading order, in which the browser selects.
    const ordered = [...wanted].sort((a, b) => a.index - b.index);
    let after = words.firstChild;
    inPieces(ordered, (line) => {
      const node = alive.get(line);
      if (node) after = node.nextSibling;
      else alive.set(line, words.insertBefore(lineNode(line), after));
    });
    links.show(pages);
  }

  /** Shows rectangles of the picture as marks of a kind, in place of those before. */
  function show(kind, rectangles) {
    layer.querySelector(`.${kind}`)?.remove();
    if (rectangles.length === 0) return;
    const marks = rectangles.map((rectangle) => place(element("i"), rectangle));
    layer.prepend(element("div", { class: `marks ${kind}` }, ...marks));
  }

  /** Returns the position in the text that is nearest to a point of the picture: `{ line, place }`, or null. */
  function nearest(point) {
    let [best, least] = [null, Infinity];
    for (const line of alive.keys()) {
      const { place, aside, above } = line.locate(point);
      // Beside a short line, the lines above and below it are nearer to the pointer than its end.
      const distance = above + aside / 30;
      if (distance < least) [best, least] = [{ line, place, isInside: aside === 0 && above === 0 }, distance];
    }
    return best;
  }

  viewer.addHandler("update-viewport", follow);
  for (const event of ["animation-finish", "resize"]) viewer.addHandler(event, refresh);
  follow();
  refresh();
  return {
    layer,
    /** Returns the text node of a line, or undefined if the layer does not have it. */
    nodeOf: (line) => alive.get(line)?.firstChild,
    nearest,
    linkAt: links.at,
    show,
    /** Keeps the lines between two indexes while they are selected. */
    keep: (first, last) => (kept = [first, last]),
    refresh,
  };
}

function lineNode({ text, rtl, corner: { x, y }, length, thickness, angle }) {
  const node = element("div", { dir: rtl ? "rtl" : null }, text);
  node.style.font = `${thickness * LETTERS}px/${thickness}px sans-serif`;
  return place(node, { x, y, width: length, height: thickness, angle });
}

/**
 * Creates the container of the links of pages. Returns `{ container, show(pages), at(point) }`, where `at` returns the
 * element of the link at a point of the picture, or undefined.
 */
function linksOf(anchor) {
  const container = element("div", { class: "links" });
  container.addEventListener("click", (event) => event.stopPropagation()); // OpenSeadragon prevents its default
  let shown = [];
  let anchors = [];
  function show(pages) {
    if (pages.length === shown.length && pages.every((page, index) => page === shown[index])) return;
    shown = pages;
    anchors = pages.flatMap(({ links }) => links).map((link) => {
      const node = anchor(link, { tabindex: "-1", draggable: "false" });
      return { box: link.box, node: place(node, link.box) };
    });
    container.replaceChildren(...anchors.map(({ node }) => node));
  }
  return { container, show, at: (point) => anchors.find(({ box }) => contains(box, point))?.node };
}

/** Puts an element onto a rectangle of the picture. */
function place(node, { x: left, y: top, width, height, angle }) {
  for (const [side, length] of Object.entries({ left, top, width, height })) node.style[side] = `${length}px`;
  if (angle) node.style.rotate = `${angle}deg`;
  return node;
}
