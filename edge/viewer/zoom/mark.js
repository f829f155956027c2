// The mark of an embedded viewer: a link to the content's own page, in a corner.

import { element, icon } from "../dom.js";

const TILES = "M4 4h7v7H4zM14 4h3v3h-3zM18 4h2v3h-2zM14 8h3v3h-3zM18 8h2v3h-2zM4 14h3v3H4zM8 14h3v3H8zM4 18h3v2H4zM8 18h3v2H8zM14 14h6v6h-6z";

/** The mark. Returns the element. */
export function attributionMark(address) {
  const label = "Open in Edgezoom";
  const attributes = { class: "attribution", href: address, target: "_blank", rel: "noopener", title: label, "aria-label": label };
  return element("a", attributes, icon(TILES));
}
