// Searches the text of a picture. Case, accents, and the forms of quotation marks and dashes do not count. Matches may
// cross lines and hyphens, but not pages. Pure arithmetic.

import { gap } from "./document.js";

/** Maximum number of hits. */
export const MAX_HITS = 500;

/** Maximum length of a query that is looked for around the hyphens at the ends of lines: that of the field. */
const MAX_DIVIDED = 200;

/** Letters that are folded one by one. Ideographs, Hangul, kana, and the scripts of India, Thai and Lao stay as they are. */
const OTHERS = /[\x80-\u03b0\u03c2\u03ca-\u042f\u0439\u0450-\u05cf\u05eb-\u0626\u0640\u064b-\u08ff\u0e33\u0eb3-\u3040\u318f-\u33ff\ua000-\uabff\ud7a4-\u{10ffff}]/gu;
/** What has no width, and the marks that people leave out in Latin, Greek, Cyrillic, Hebrew and Arabic; not those of kana. */
const DROPPED = /[\p{DI}\u0640]|(?=\p{M})(?![\u3099\u309a])[\p{sc=Zinh}\p{sc=Cyrl}\p{sc=Hebr}\p{sc=Arab}]/gu;
/** Letters that do not decompose, as they are typed without their keys. */
const TYPED = { æ: "ae", đ: "d", ð: "d", ħ: "h", ı: "i", ł: "l", ø: "o", œ: "oe", ß: "ss", ŧ: "t", þ: "th", ς: "σ" };
const known = new Map();
const MAX_KNOWN = 20_000;

/**
 * Returns a text without what readers do not type: case, ligatures, soft hyphens, and accents where people leave them out.
 * Vowels of Hindi, voiced kana and syllables of Hangul stay. Letters with what is composed with them can be folded one by one.
 */
export function fold(text) {
  const folded = text.toLowerCase().replace(OTHERS, (letter) => remembered(letter, foldLetter));
  // The time to put many marks in order is a square, and no letter has more than 30 (UAX #15).
  return /[^\0-\x7f]/.test(folded) ? folded.replace(/\p{M}{31,}/gu, "").normalize() : folded;
}

function foldLetter(letter) {
  const plain = letter.replace(/[\p{Pd}\u2212]/u, "-").replace(/[\u02b9-\u02bf\u05f3\u2018-\u201b\u2032\u2039\u203a]/, "'").replace(/[\xab\xbb\u05f4\u201c-\u201f\u2033]/, '"');
  return plain.normalize("NFKD").toLowerCase().replace(DROPPED, "").replace(/[ß-ς]/g, (one) => TYPED[one] ?? one);
}

/** Returns a folded letter: to fold one takes ten times as long as to find it. */
function remembered(letter, folding) {
  if (known.has(letter)) return known.get(letter);
  const folded = folding(letter);
  if (known.size < MAX_KNOWN) known.set(letter, folded);
  return folded;
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
      for (const [from, to] of placesOf(page, wanted)) {
        if (hits.length === MAX_HITS) return hits;
        const parts = partsOf(page, from, to);
        if (parts.length > 0) hits.push({ page: page.page, parts });
      }
    }
    return hits;
  };
}

/**
 * Joins a page's lines. `starts` are their offsets in the text, `letters` those of their letters once these are needed, and
 * `divided` the offsets of lines before which a hyphen is.
 */
function foldPage(page) {
  const [starts, texts, divided] = [[], [], []];
  let length = 0;
  page.lines.forEach(({ text }, index) => {
    const space = gap(text, page.lines[index + 1]?.text ?? "");
    const folded = fold(text) + space;
    starts.push(length);
    texts.push(folded);
    length += folded.length;
    if (!space && /[-\u00ad‐-―]$/.test(text)) divided.push(length);
  });
  return { page, starts, letters: [], divided, text: texts.join("") };
}

/** Returns where a folded query is in a page, with or without the hyphens at the ends of lines. */
function placesOf({ text, divided }, wanted) {
  const { length } = wanted;
  const places = [];
  for (let at = text.indexOf(wanted); at >= 0 && !places[MAX_HITS]; at = text.indexOf(wanted, at + length)) places.push([at, at + length]);
  for (const at of length > MAX_DIVIDED ? [] : divided) {
    const hyphen = text[at - 1] === "-" ? 1 : 0;
    const end = at - hyphen;
    const start = Math.max(end - length + 1, 0);
    const found = (text.slice(start, end) + (hyphen ? "" : "-") + text.slice(at, at + length - 1)).indexOf(wanted);
    if (found >= 0) places.push([start + found, start + found + length + 2 * hyphen - 1]);
  }
  return places.sort(([a], [b]) => a - b);
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

/** Returns where each letter of a text begins, with those that may be composed with it, and where in the folded text; and both ends. */
function lettersOf(text) {
  const [at, folded] = [[0], [0]];
  for (const [letter] of text.matchAll(/[^][\p{M}\u1160-\u11ff\uff9e\uff9f]*/gu)) {
    at.push(at.at(-1) + letter.length);
    folded.push(folded.at(-1) + remembered(letter, fold).length);
  }
  return { at, folded };
}

/** Returns the offset in a text that corresponds to an offset in the folded text, before or after a divided letter. */
function unfolded({ at, folded }, offset, after = false) {
  const letter = folded.findLastIndex((start) => start <= offset);
  return at[after && folded[letter] < offset ? letter + 1 : letter] ?? at.at(-1);
}
