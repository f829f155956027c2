// Reads the words in a picture from its archive: the lines of a page as annotations of IIIF, and the places of words.
// `mod.rs` says what is asked.

import { SOFT_HYPHEN, around, gap, readDocument, textOf } from "../../text/document.js";
import { fold, searcher } from "../../text/search.js";
import { free, hold, within } from "../platform/bounds.js";

const PRESENTATION = "http://iiif.io/api/presentation/3/context.json";
const SEARCH = [1, 2].map((version) => `http://iiif.io/api/search/${version}/context.json`);
/** Maximum number of pages in a response, and of hits before the last one. The next ones have an address. */
const MAX_PAGES = 10;
const MAX_HITS = 100;
/** Maximum number of hits on a page, of places of a hit, and of its letters: a response stays below 1 MB. */
const MAX_PAGE_HITS = 200;
const MAX_PLACES = 4;
const MAX_EXACT = 200;
/** Maximum number of bytes of a page's annotations, which stay below 1 MB, too, and those of a line beside its text. */
const MAX_LINES = 800_000;
const LINE = 250;
/** Maximum number of hits in a picture that are counted. */
const MAX_COUNTED = 10_000;
/**
 * Number of bytes of plain text, or of folded letters if these are more, after which no other page is searched: a book of
 * 1,000 pages, and a third of a second at most (`edge/tests/costs.test.mjs`).
 */
const MAX_SEARCHED = 3_000_000;
/** Number of letters around a hit. */
const AROUND = 40;
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
const ENCODER = new TextEncoder();
/** The end of a stream of deflate: an empty last block. */
const LAST_BLOCK = new Uint8Array([3, 0]);

/** Returns the lines of a page as JSON, or undefined if the archive does not exist. */
export async function annotationsOf(bucket, asked) {
  const { number, base, ...stored } = JSON.parse(asked);
  const [page] = (await readPages(bucket, stored, [number])) ?? [];
  if (!page) return undefined;
  const id = `${base}/annotations/${number}.json`;
  let bytes = 0;
  const fits = ({ text }) => (bytes += LINE + id.length + base.length + ENCODER.encode(text).length) < MAX_LINES;
  const items = page.lines.filter(fits).map((line, index) => ({
    id: `${id}#${index + 1}`,
    type: "Annotation",
    motivation: "supplementing",
    textGranularity: "line",
    body: { type: "TextualBody", value: seen(line.text), format: "text/plain" },
    target: targetOf(line.box, number, base, stored),
  }));
  const context = ["http://iiif.io/api/extension/text-granularity/context.json", PRESENTATION];
  return JSON.stringify({ "@context": context, id, type: "AnnotationPage", items });
}

/** Returns a line as it is seen: with a hyphen at its end if that divides a word, but not among ideographs, and no other soft ones. */
function seen(text) {
  const hyphen = text.endsWith(SOFT_HYPHEN) && gap(text.slice(0, -1), "字") ? "-" : "";
  return text.replaceAll(SOFT_HYPHEN, "") + hyphen;
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
  const { query, from, base, address, version, ...stored } = JSON.parse(asked);
  const found = await inTime(bucket, query, from, stored);
  if (!found) return undefined;
  const at = (page) => `${address}?q=${encodeURIComponent(query)}${page > 1 ? `&from=${page}` : ""}`;
  const target = ({ box, number }) => targetOf(box, number, base, stored);
  const write = version === 1 ? firstVersion : secondVersion;
  return JSON.stringify(write(found, { here: at(from), first: at(1), next: found.next && at(found.next), address }, target));
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

/** Returns the hits of a folded text in a page's lines and in the alternative texts of its pictures. */
function hitsOn(page, wanted, number) {
  const inLines = searcher({ pages: [page] })(wanted).map(({ parts }) => {
    const [first, last] = [parts[0], parts.at(-1)];
    return {
      number,
      boxes: parts.slice(0, MAX_PLACES).map(({ line, from, to }) => around([line.part(from, to)])),
      exact: whole(textOf(parts).replaceAll("\n", " ").slice(0, MAX_EXACT)),
      prefix: whole(first.line.text.slice(Math.max(first.from - AROUND, 0), first.from)),
      suffix: whole(last.line.text.slice(last.to, last.to + AROUND)),
    };
  });
  const { x: left, y: top } = page.box;
  const inPictures = (page.given.blocks ?? []).flatMap(({ alternative, at }) => {
    if (!at || !alternative || !fold(alternative).includes(wanted)) return [];
    const [x, y, width, height] = at;
    return [{ number, boxes: [{ x: left + x, y: top + y, width, height }], exact: whole(alternative.slice(0, MAX_EXACT)), prefix: "", suffix: "" }];
  });
  return [...inLines, ...inPictures].slice(0, MAX_PAGE_HITS);
}

/** Returns a cut text without soft hyphens and without halves of letters at its ends. */
const whole = (text) => text.replaceAll(SOFT_HYPHEN, "").replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");

/** Returns the part of a canvas that is a box of the picture, as a text: clients cannot read other forms. */
function targetOf({ x, y, width, height }, number, base, { hasCanvases, pages }) {
  const [left, top] = hasCanvases ? pages[number - 1].at : [0, 0];
  const [from, until] = [[x - left, y - top].map(Math.floor), [x - left + width, y - top + height].map(Math.ceil)];
  const place = [...from.map((side) => Math.max(side, 0)), until[0] - from[0], until[1] - from[1]];
  return `${base}/canvas/${hasCanvases ? number : 1}#xywh=${place}`;
}

/** Writes the response of IIIF Content Search 2.0: <https://iiif.io/api/search/2.0/>. */
function secondVersion({ hits, total, start }, { here, first, next, address }, target) {
  const [items, quoted] = [[], []];
  hits.forEach(({ number, boxes, exact, prefix, suffix }, index) => {
    boxes.forEach((box, part) => {
      const id = `${address}#${start + index + 1}.${part + 1}`;
      const body = { type: "TextualBody", value: exact, format: "text/plain" };
      items.push({ id, type: "Annotation", motivation: "highlighting", body, target: target({ box, number }) });
      if (part > 0) return;
      const selector = [{ type: "TextQuoteSelector", prefix, exact, suffix }];
      quoted.push({ id: `${id}.quote`, type: "Annotation", motivation: "contextualizing", target: { type: "SpecificResource", source: id, selector } });
    });
  });
  return {
    "@context": SEARCH[1],
    id: here,
    type: "AnnotationPage",
    partOf: { id: `${first}#all`, type: "AnnotationCollection", total, first: { id: first, type: "AnnotationPage" } },
    startIndex: start,
    ...(next && { next: { id: next, type: "AnnotationPage" } }),
    items,
    annotations: [{ type: "AnnotationPage", items: quoted }],
  };
}

/** Writes the response of IIIF Content Search 1.0: <https://iiif.io/api/search/1.0/>. */
function firstVersion({ hits, total, start }, { here, first, next, address }, target) {
  const resources = [];
  const written = hits.map(({ number, boxes, exact, prefix, suffix }, index) => {
    const annotations = boxes.map((box, part) => {
      const id = `${address}#${start + index + 1}.${part + 1}`;
      const resource = { "@type": "cnt:ContentAsText", chars: exact };
      resources.push({ "@id": id, "@type": "oa:Annotation", motivation: "sc:painting", resource, on: target({ box, number }) });
      return id;
    });
    return { "@type": "search:Hit", annotations, match: exact, before: prefix, after: suffix };
  });
  return {
    "@context": ["http://iiif.io/api/presentation/2/context.json", SEARCH[0]],
    "@id": here,
    "@type": "sc:AnnotationList",
    within: { "@type": "sc:Layer", total, first },
    startIndex: start,
    ...(next && { next }),
    resources,
    hits: written,
  };
}
