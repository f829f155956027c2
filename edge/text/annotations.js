// Words as annotations of IIIF: the lines of a page, and the hits of a search. A picture with words is given by the base of
// its addresses (`base`), its pages, and `hasCanvases`, true if each of these is a canvas of its own.

import { SOFT_HYPHEN, around, gap, textOf } from "./document.js";
import { fold, searcher } from "./search.js";

const PRESENTATION = "http://iiif.io/api/presentation/3/context.json";
const SEARCH = [1, 2].map((version) => `http://iiif.io/api/search/${version}/context.json`);
/** Maximum number of hits on a page, of places of a hit, and of its letters: a response stays below 1 MB. */
const MAX_PAGE_HITS = 200;
const MAX_PLACES = 4;
const MAX_EXACT = 200;
/** Maximum number of bytes of a page's annotations, which stay below 1 MB, too, and those of a line beside its text. */
const MAX_LINES = 800_000;
const LINE = 250;
/** Number of letters around a hit. */
const AROUND = 40;
const ENCODER = new TextEncoder();

/** Returns the lines of a page, `readDocument`'s, as annotations of a canvas: IIIF Presentation 3.0. */
export function linesOf(page, number, stored) {
  const { base } = stored;
  const id = `${base}/annotations/${number}.json`;
  let bytes = 0;
  const fits = ({ text }) => (bytes += LINE + id.length + base.length + ENCODER.encode(text).length) < MAX_LINES;
  const items = page.lines.filter(fits).map((line, index) => ({
    id: `${id}#${index + 1}`,
    type: "Annotation",
    motivation: "supplementing",
    textGranularity: "line",
    body: { type: "TextualBody", value: seen(line.text), format: "text/plain" },
    target: targetOf(line.box, number, stored),
  }));
  const context = ["http://iiif.io/api/extension/text-granularity/context.json", PRESENTATION];
  return { "@context": context, id, type: "AnnotationPage", items };
}

/** Returns a line as it is seen: with a hyphen at its end if that divides a word, but not among ideographs, and no other soft ones. */
function seen(text) {
  const hyphen = text.endsWith(SOFT_HYPHEN) && gap(text.slice(0, -1), "字") ? "-" : "";
  return text.replaceAll(SOFT_HYPHEN, "") + hyphen;
}

/** Returns the hits of a folded text in a page's lines and in the alternative texts of its pictures. */
export function hitsOn(page, wanted, number) {
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
function targetOf({ x, y, width, height }, number, { base, hasCanvases, pages }) {
  const [left, top] = hasCanvases ? pages[number - 1].at : [0, 0];
  const [from, until] = [[x - left, y - top].map(Math.floor), [x - left + width, y - top + height].map(Math.ceil)];
  const place = [...from.map((side) => Math.max(side, 0)), until[0] - from[0], until[1] - from[1]];
  return `${base}/canvas/${hasCanvases ? number : 1}#xywh=${place}`;
}

/** Returns the addresses of this page of hits, of the first one, and of the next one if there is one. */
function addressesOf({ next }, query, from, { address }) {
  const at = (page) => `${address}?q=${encodeURIComponent(query)}${page > 1 ? `&from=${page}` : ""}`;
  return { here: at(from), first: at(1), next: next && at(next) };
}

/** Writes the response of IIIF Content Search 2.0: <https://iiif.io/api/search/2.0/>. */
export function secondVersion(found, query, from, stored) {
  const { hits, total, start } = found;
  const { here, first, next } = addressesOf(found, query, from, stored);
  const [items, quoted] = [[], []];
  hits.forEach(({ number, boxes, exact, prefix, suffix }, index) => {
    boxes.forEach((box, part) => {
      const id = `${stored.address}#${start + index + 1}.${part + 1}`;
      const body = { type: "TextualBody", value: exact, format: "text/plain" };
      items.push({ id, type: "Annotation", motivation: "highlighting", body, target: targetOf(box, number, stored) });
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
export function firstVersion(found, query, from, stored) {
  const { hits, total, start } = found;
  const { here, first, next } = addressesOf(found, query, from, stored);
  const resources = [];
  const written = hits.map(({ number, boxes, exact, prefix, suffix }, index) => {
    const annotations = boxes.map((box, part) => {
      const id = `${stored.address}#${start + index + 1}.${part + 1}`;
      const resource = { "@type": "cnt:ContentAsText", chars: exact };
      resources.push({ "@id": id, "@type": "oa:Annotation", motivation: "sc:painting", resource, on: targetOf(box, number, stored) });
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
