// Reads the words in a picture from its archive: the lines of a page as annotations of IIIF, and the places of words.
// `mod.rs` says what is asked.

import { firstVersion, hitsOn, linesOf, secondVersion } from "../../text/annotations.js";
import { readDocument } from "../../text/document.js";
import { fold } from "../../text/search.js";
import { free, hold, within } from "../platform/bounds.js";

/** Maximum number of pages in a response, and of hits before the last one. The next ones have an address. */
const MAX_PAGES = 10;
const MAX_HITS = 100;
/** Maximum number of hits in a picture that are counted. */
const MAX_COUNTED = 10_000;
/**
 * Number of bytes of plain text, or of folded letters if these are more, after which no other page is searched: a book of
 * 1,000 pages, and a third of a second at most (`edge/tests/costs.test.mjs`).
 */
const MAX_SEARCHED = 3_000_000;
/** Bytes in memory for each byte of the plain text: as it is, and pages as they are folded. */
const HELD = 3;
/** Bytes in memory for each byte of a page's JSON: as text, as objects, and as what is written of them. */
const PARSED = 8;
/** Bytes of JSON for each compressed one, where the table of an older archive does not say. */
const UNPACKED = 20;
/** Maximum number of bytes of JSON that are read for a response, if it has more than one page. */
const MAX_READ = 2 << 20;
/** Maximum time to read: shorter than a request goes on whose client has left. */
const READING = 20_000;
/** White space other than single spaces, which need no replacement: that took most of the time. */
const GAPS = /\s{2,}|[^\S ]/g;
const FORM_FEED = 0x0c;
const DECODER = new TextDecoder();
/** The end of a stream of deflate: an empty last block. */
const LAST_BLOCK = new Uint8Array([3, 0]);

/** Returns the lines of a page as JSON, or undefined if the archive does not exist. */
export async function annotationsOf(bucket, asked) {
  const { number, ...stored } = JSON.parse(asked);
  const [page] = (await readPages(bucket, stored, [number])) ?? [];
  return page && JSON.stringify(linesOf(page, number, stored));
}

/** Returns the number of the page and the box of the first place of words as JSON, or undefined if there is none. */
export async function firstIn(bucket, asked) {
  const { query, from, ...stored } = JSON.parse(asked);
  const [first] = (await inTime(bucket, query, from, stored))?.hits ?? [];
  if (!first) return undefined;
  const { x, y, width, height } = first.boxes[0];
  return JSON.stringify([first.number, [x, y, width, height].map((side) => Math.max(Math.round(side), 0))]);
}

/** Returns the places of words as JSON, or undefined if the archive does not exist. */
export async function searchIn(bucket, asked) {
  const { query, from, version, ...stored } = JSON.parse(asked);
  const found = await inTime(bucket, query, from, stored);
  return found && JSON.stringify((version === 1 ? firstVersion : secondVersion)(found, query, from, stored));
}

/** Finds a query within the limits of memory and time. */
const inTime = (bucket, query, from, stored) => held(HELD * stored.plainBytes, () => find(bucket, query, from, stored));

/** Does work that holds some bytes in memory, within the limit of time. */
async function held(bytes, work) {
  const room = hold(bytes, Date.now() + 2 * READING);
  if (!room) throw new Error("too much at once");
  try {
    return await within(READING, work(), new Error("the store is too slow"));
  } finally {
    free(room);
  }
}

/**
 * Finds a query. Returns `{ hits, total, start, next }`: the hits from a page on, `{ number, boxes, exact, prefix, suffix }`
 * with one box for each line; the number of all and of those before; and the page where the next ones begin.
 */
async function find(bucket, query, from, stored) {
  const wanted = fold(query).trim().replace(/\s+/g, " ");
  const numbers = [];
  let [number, searched, total, start, shown, read, next] = [0, 0, 0, 0, 0, 0, undefined];
  const [offset, length] = stored.plain;
  const object = wanted && (await bucket.get(stored.archive, { range: { offset, length } }));
  if (object === null) return undefined;
  for (const text of object ? pagesIn(await unpacked(object.body, "gzip")) : []) {
    if (total >= MAX_COUNTED || searched >= MAX_SEARCHED) break;
    number += 1;
    const folded = fold(DECODER.decode(text));
    searched += Math.max(text.length, folded.length);
    const count = countOf(wanted, wanted.includes(" ") ? folded.replace(GAPS, " ") : folded);
    if (count === 0) continue;
    const bytes = bytesOf(stored.pages[number - 1]);
    const isFull = numbers.length === MAX_PAGES || shown >= MAX_HITS || read + bytes > MAX_READ;
    if (number < from) start += count;
    else if (next || (isFull && numbers.length > 0)) next ??= number;
    else {
      numbers.push(number);
      shown += count;
      read += bytes;
    }
    total += count;
  }
  const pages = await readPages(bucket, stored, numbers);
  return pages && { hits: pages.flatMap((page, index) => hitsOn(page, wanted, numbers[index])), total, start, next };
}

/** Returns the bytes of a compressed stream. In pieces, this would take twice as long. */
async function unpacked(packed, coding) {
  return new Uint8Array(await new Response(packed.pipeThrough(new DecompressionStream(coding))).arrayBuffer());
}

/** Returns the bytes of each page of a plain text, between which is a form feed. */
function* pagesIn(bytes) {
  for (let from = 0, end; end !== bytes.length; from = end + 1) {
    end = bytes.indexOf(FORM_FEED, from);
    if (end < 0) end = bytes.length;
    yield bytes.subarray(from, end);
  }
}

function countOf(wanted, text) {
  let count = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) count += 1;
  return count;
}

/** Returns the length of a page's JSON. */
const bytesOf = ({ words: [, packed], bytes }) => bytes || UNPACKED * packed;

/**
 * Returns the pages with these numbers, in the order of the document, as `readDocument` does, with their pictures; all
 * boxes are those of the picture. Undefined if the archive does not exist.
 */
async function readPages(bucket, { archive, json, pages }, numbers) {
  if (numbers.length === 0) return [];
  const sum = (pages) => pages.reduce((bytes, page) => bytes + bytesOf(page), 0);
  const words = numbers.map((number) => pages[number - 1].words);
  const [first] = words[0];
  const [last, length] = words.at(-1);
  const range = { offset: json[0] + first, length: last + length - first };
  // Each stream costs about as much as two pages.
  const between = sum(pages.slice(numbers[0] - 1, numbers.at(-1)));
  const isDense = numbers.at(-1) - numbers[0] < 2 * numbers.length && between <= MAX_READ;
  const unpacked = isDense ? between : sum(numbers.map((number) => pages[number - 1]));
  return held(range.length + PARSED * unpacked, async () => {
    const object = await bucket.get(archive, { range });
    if (!object) return undefined;
    const bytes = await object.arrayBuffer();
    const spans = isDense ? [[first, bytes.byteLength]] : words;
    const read = await Promise.all(spans.map(([start, length]) => parsedIn(new Uint8Array(bytes, start - first, length))));
    const given = isDense ? numbers.map((number) => read[0][number - numbers[0]]) : read.flat();
    return given.map((page) => ({ ...readDocument({ pages: [page] }).pages[0], given: page }));
  });
}

/** Returns the pages in a part of the compressed JSON. */
async function parsedIn(part) {
  const bytes = await unpacked(new Blob([part, LAST_BLOCK]).stream(), "deflate-raw");
  return JSON.parse(`[${DECODER.decode(bytes).replace(/^,/, "")}]`);
}
