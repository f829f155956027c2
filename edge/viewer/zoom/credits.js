// The credits of a picture: who made it, and on what terms it may be used, as its source states them.

import { element } from "../dom.js";

/** Names of Creative Commons' public domain tools, by their part of the URI. */
const PUBLIC_DOMAIN = { __proto__: null, zero: "CC0", mark: "Public Domain Mark" };

/** Creates the line with the credits over the picture; an empty text if there are none. Its title is the whole text. */
export function creditsLine({ creator, credit, copyright, rights } = {}) {
  const texts = [...new Set([creator, credit, copyright].filter(Boolean))];
  const words = texts.filter((text) => !texts.some((other) => other !== text && other.includes(text))).join(" \u00b7 ");
  if (!words && !rights) return "";
  const link = rights && rightsLink(rights);
  const title = [words, link?.textContent].filter(Boolean).join(" \u00b7 ");
  return element("p", { class: "credits", title }, element("span", {}, words), link);
}

/** Creates a link to a licence or rights statement, which the API permits only of Creative Commons and the like. */
export function rightsLink(uri) {
  const [, code, version] = /^https?:\/\/creativecommons\.org\/\w+\/([\w-]+)\/([\d.]+)/.exec(uri) ?? [];
  const name = code ? `${PUBLIC_DOMAIN[code] ?? `CC ${code.toUpperCase()}`} ${version}` : "Rights statement";
  return element("a", { href: uri, target: "_blank", rel: "license noopener nofollow" }, name);
}
