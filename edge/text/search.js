// Searches the text of a picture. Case and accents do not count, and matches may cross lines and hyphens, but not pages.
// Pure arithmetic.

import { gap } from "./document.js";

/** Maximum number of hits. */
export const MAX_HITS = 500;

const DROPPED = /[\p{M}\u00ad]+/gu;
/** Folded lengths of letters by code point, and 1 more; 0: not known yet. */
const known = new Uint8Array(0x110000);

/**
 * Returns a text without case, accents, ligatures and soft hyphens. The letters of a text can be folded one by one, but
 * all together take a tenth of the time. Marks are dropped before, too: the time to put many of them in order is a square.
 */
export const fold = (text) => text.replace(DROPPED, "").normalize("NFKD").toLowerCase().replace(DROPPED, "").replaceAll("ς", "σ");

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

/** Joins a page's lines. `starts` are their offsets in the text, and `letters` those of their letters once these are needed. */
function foldPage(page) {
  const [starts, texts] = [[], []];
  let length = 0;
  page.lines.forEach(({ text }, index) => {
    const folded = fold(text) + gap(text, page.lines[index + 1]?.text ?? "");
    starts.push(length);
    texts.push(folded);
    length += folded.length;
  });
  return { page, starts, letters: [], text: texts.join("") };
}

/** Returns the parts of lines between two offsets of a page's folded text. */
function partsOf({ page, starts, letters }, from, to) {
  const parts = [];
  for (let index = starts.findLastIndex((start) => start <= from); starts[index] < to; index += 1) {
    const line = page.lines[index];
    const places = (letters[index] ??= lettersOf(line.text));
    const part = { line, from: unfolded(places, Math.max(from - starts[index], 0)), to: unfolded(places, to - starts[index], true) };
    if (part.to > part.from) parts.push(part);
  }
  return parts;
}

/** Returns where each letter of a text begins, and where it begins in the folded text, with the end of both. */
function lettersOf(text) {
  const [at, folded] = [[0], [0]];
  for (const letter of text) {
    at.push(at.at(-1) + letter.length);
    const length = (known[letter.codePointAt(0)] ||= fold(letter).length + 1) - 1;
    folded.push(folded.at(-1) + length);
  }
  return { at, folded };
}

/** Returns the offset in a text that corresponds to an offset in the folded text, before or after a divided ligature. */
function unfolded({ at, folded }, offset, after = false) {
  const letter = folded.findLastIndex((start) => start <= offset);
  return at[after && folded[letter] < offset ? letter + 1 : letter] ?? at.at(-1);
}
