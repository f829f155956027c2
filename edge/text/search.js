// Searches the text of a picture. Case and accents do not count, and matches may cross lines and hyphens, but not pages.
// Pure arithmetic.

import { SOFT_HYPHEN } from "./document.js";

/** Maximum number of hits. */
export const MAX_HITS = 500;

/** Returns a text without case, accents, ligatures and soft hyphens. The letters of a text can be folded one by one. */
export function fold(text) {
  // Most text is ASCII, which is quicker by itself.
  return text.toLowerCase().replace(/[^\x00-\x7f]+/g, (run) => run.normalize("NFKD").toLowerCase().replace(/[\p{M}\u00ad]/gu, "").replaceAll("ς", "σ"));
}

/**
 * Returns a function that finds a query in a document and returns its first hits in reading order. A hit is
 * `{ page, parts }`; a part is `{ line, from, to }`, with offsets in the line's text.
 */
export function searcher({ pages }) {
  let folded = null;
  return function find(query) {
    const wanted = fold(query).trim().replace(/\s+/g, " ");
    if (!wanted) return [];
    folded ??= pages.map(foldPage);
    const hits = [];
    for (const page of folded) {
      for (let at = page.text.indexOf(wanted); at >= 0; at = page.text.indexOf(wanted, at + wanted.length)) {
        if (hits.length === MAX_HITS) return hits;
        const parts = partsOf(page, at, at + wanted.length);
        if (parts.length > 0) hits.push({ page: page.page, parts });
      }
    }
    return hits;
  };
}

/** Joins a page's lines. `starts` are their offsets in the text. */
function foldPage(page) {
  const [starts, texts] = [[], []];
  let length = 0;
  for (const { text } of page.lines) {
    const folded = fold(text) + (text.endsWith(SOFT_HYPHEN) ? "" : " ");
    starts.push(length);
    texts.push(folded);
    length += folded.length;
  }
  return { page, starts, text: texts.join("") };
}

/** Returns the parts of lines between two offsets of a page's folded text. */
function partsOf({ page, starts, text }, from, to) {
  let [first, after] = [0, starts.length];
  while (after - first > 1) {
    const middle = (first + after) >> 1;
    if (starts[middle] <= from) first = middle;
    else after = middle;
  }
  const parts = [];
  for (let index = first; index < starts.length && starts[index] < to; index += 1) {
    const line = page.lines[index];
    const end = starts[index + 1] ?? text.length;
    const [begin, last] = [Math.max(from - starts[index], 0), Math.min(to, end) - starts[index]];
    const part = { line, from: unfolded(line.text, begin), to: unfolded(line.text, last, true) };
    if (part.to > part.from) parts.push(part);
  }
  return parts;
}

/** Returns the offset in a text that corresponds to an offset in the folded text, before or after a divided ligature. */
function unfolded(text, offset, after = false) {
  if (/^[ -~]*$/.test(text)) return Math.min(offset, text.length); // each letter is one
  let [at, seen] = [0, 0];
  for (const letter of text) {
    const { length } = fold(letter);
    if (seen + length > offset) return after && seen < offset ? at + letter.length : at;
    seen += length;
    at += letter.length;
  }
  return at;
}
