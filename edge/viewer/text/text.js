// The words of a picture: they can be selected, copied, found, followed and heard, and their pages turned. The service
// loads this only for pictures that have words.

import { element, iconButton } from "../dom.js";
import { addressed, keepQuery } from "./address.js";
import { readDocument } from "../../text/document.js";
import { FIND, findBar, isFindKey } from "./find.js";
import { wordLayer } from "./layer.js";
import { movesOf } from "./moves.js";
import { pageBar } from "./pages.js";
import { readingDocument } from "./reading.js";
import { selectable } from "./selection.js";
import css from "./text.css";

const USAGE = " Slash finds words.";
const TURNING = " Page Up and Page Down turn pages, W shows all pages.";
const HOME = "Show the first page";

/**
 * Adds words, the object of `text.json`, to a viewer. `open()` opens its picture if that waits for them, `region` is its element
 * and `bar` its controls, `usage` describes its keys, `selecting` says how to select words, `covered()` is that of the
 * camera, `coverAbove(height)` sets a function that returns the CSS pixels of controls above the bar, `onKey(listener)`
 * calls a listener that returns true for the keys it handles, and the others are those of `mountViewer`. `pageUrl(number)` returns
 * the URL of a page, `hasPlace()` is true if the URL has a place, and `setParameter(name, value)` changes a parameter of
 * that URL if the viewer has a browser's page of its own.
 */
export async function mountText(text, parts) {
  const { viewer, open, camera, region, bar, usage, covered, onKey } = parts;
  const document = readDocument(text);
  if (document.pages.length === 0) return;
  const moves = movesOf(viewer, camera, covered, document);
  const isDocument = document.pages.length > 1;
  if (isDocument) camera.setHome(moves.home);
  open();
  if (!viewer.isOpen()) await new Promise((resolve) => viewer.addOnceHandler("open", resolve));
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  region.getRootNode().adoptedStyleSheets.push(sheet);

  /** Creates the element of a link, which opens a tab or shows a page. */
  function anchor({ url, page }, attributes, text) {
    if (url) return element("a", { href: url, target: "_blank", rel: "noopener noreferrer", ...attributes }, text);
    const onclick = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // for another tab or window
      event.preventDefault();
      if (turning) turning.go(page);
      else moves.toPage(document.pages[page]);
    };
    return element("a", { href: parts.pageUrl(page + 1), onclick, ...attributes }, text);
  }
  const words = wordLayer(viewer, camera, document, anchor);
  const selection = selectable(viewer, camera, region, document, words, parts.selecting);
  const onQuery = keepQuery(parts.setParameter);
  const onClose = () => viewer.canvas.focus({ preventScroll: true });
  const finding = document.lines.length ? findBar(document, words, moves, onQuery, onClose) : null;
  const turning = isDocument ? pageBar(viewer, camera, document, moves, parts.onPage) : null;
  if (finding) {
    const finder = iconButton("Find words", FIND, () => finding.open(), "/");
    finder.className = "finder";
    finder.ariaKeyShortcuts = "/ Control+F";
    bar.querySelector(".rotate").after(finder);
    usage.textContent += USAGE;
  }
  if (turning) {
    const home = bar.querySelector(".home");
    home.title = `${HOME} (0)`;
    home.ariaLabel = HOME;
    usage.textContent = usage.textContent.replace("whole picture", "first page") + TURNING;
  }
  region.append(...[finding?.bar, turning?.bar, turning?.outline, readingDocument(document, anchor)].filter(Boolean));
  if (turning) parts.coverAbove(() => turning.heightAbove(bar));

  onKey((event) => {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (finding && isFindKey(event)) finding.open();
    else if (ctrlKey || metaKey || altKey) return false;
    else if (finding && key === "/") finding.open();
    else if (turning && key.toLowerCase() === "w") turning.toggleAll();
    else if (turning && (key === "PageUp" || key === "PageDown")) turning.turn(key === "PageUp" ? -1 : 1);
    else if (key === "Escape") {
      selection.clear();
      if (!finding?.isOpen()) return false;
      finding.close();
    } else return false;
    return true;
  });

  const { query, page } = addressed(parts);
  // A place is more exact than a page.
  if (turning && page > 0 && page <= document.pages.length && !parts.hasPlace()) turning.go(page - 1, 0, true);
  parts.setParameter("page", "");
  if (finding && query) finding.open(query);
}
