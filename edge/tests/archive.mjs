// Builds a pyramid as one object, as far as the Worker reads it: tiles with a few bytes between them, and their index.

import { constants, crc32, deflateRawSync, gzipSync } from "node:zlib";
import { textOf } from "../text/document.js";

/** Description of the picture, as a tiler reports it. */
export const DZI = { width: 16_000, height: 12_000, tileSize: 512, tileOverlap: 0, tileFormat: "jpg" };
export const LAST_LEVEL = 14;

const lastLevel = ({ width, height }) => Math.ceil(Math.log2(Math.max(width, height)));

/** Returns the numbers of columns and rows of a level. */
export function grid(level, dzi = DZI) {
  const scaled = (side) => Math.ceil(Math.ceil(side / 2 ** (lastLevel(dzi) - level)) / dzi.tileSize);
  return [scaled(dzi.width), scaled(dzi.height)];
}

/** The beginning of a ZIP. */
const SIGNATURE = "PK\x03\x04";

/** Contents of the previews' stand-ins. */
export const PREVIEW = "the large preview";
export const THUMBNAIL = "the thumbnail";

/** The words of the picture. */
export const TEXT = { version: 1, total: 1, pages: [{ at: [0, 0, 16_000, 12_000], blocks: [{ role: "p", lines: [{ at: [9, 9, 99, 20], text: "two words" }] }] }] };

/**
 * Returns the forms of a text as a tiler stores them: JSON of which each page can be read alone, plain text with a form
 * feed between pages, HTML, and the table of pages.
 */
function formsOf(text) {
  const { pages, ...rest } = text;
  const frame = JSON.stringify({ ...rest, pages: [] });
  const cut = frame.indexOf(`"pages":[`) + 9;
  const pieces = [frame.slice(0, cut), ...pages.map((page, index) => (index > 0 ? "," : "") + JSON.stringify(page))].map((piece) => Buffer.from(piece));
  const flushed = pieces.map((piece) => deflateRawSync(piece, { finishFlush: constants.Z_FULL_FLUSH }));
  const last = Buffer.from(frame.slice(cut));
  const whole = Buffer.concat([...pieces, last]);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(whole));
  trailer.writeUInt32LE(whole.length, 4);
  const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  let offset = header.length + flushed[0].length;
  const table = pages.map(({ at, label }, index) => {
    const { length } = flushed[index + 1];
    offset += length;
    return { at, ...(label && { label }), words: [offset - length, length], bytes: pieces[index + 1].length };
  });
  const parts = (block) => block.lines.map(({ text }) => ({ line: { text, block }, from: 0, to: text.length }));
  const lines = ({ blocks = [] }) => blocks.map((block) => block.alternative ?? textOf(parts(block)));
  const plain = pages.map((page) => lines(page).join("\n\n")).join("\f");
  return {
    json: Buffer.concat([header, ...flushed, deflateRawSync(last), trailer]),
    plain: gzipSync(plain),
    plain_bytes: Buffer.byteLength(plain),
    html: gzipSync(`<!doctype html><title>${plain}</title>`),
    table: Buffer.from(JSON.stringify({ pages: table })),
  };
}

/** Returns the content of a tile's stand-in. */
export const content = (level, column, row) => `tile ${level}/${column}_${row} `.repeat(1 + ((column * 7 + row) % 5));

/** Encodes an unsigned LEB128. */
function varint(number) {
  const bytes = [];
  for (; number >= 0x80; number = Math.floor(number / 0x80)) bytes.push((number % 0x80) + 0x80);
  return [...bytes, number];
}

/**
 * Returns the object, the places of its index, previews, words and vectors as a tiler reports them, and its number of tiles.
 * `fill` returns a tile's content, `gap` the number of bytes before the tiles of a level. `svgs` are the pages as vectors,
 * `null` for one without.
 */
export function archive(fill = content, dzi = DZI, gap = () => 40, words = TEXT, svgs = []) {
  const places = [];
  const parts = [Buffer.from(SIGNATURE)];
  let offset = SIGNATURE.length;
  const add = (bytes) => {
    parts.push(Buffer.from(bytes));
    offset += bytes.length;
    return { offset: offset - bytes.length, length: bytes.length };
  };
  const [large, thumbnail] = [PREVIEW, THUMBNAIL].map(add);
  const { json, plain, plain_bytes, html, table } = formsOf(words);
  const text = { json: add(json), plain: add(plain), plain_bytes, html: add(html), table: add(table), pages: words.pages.length };
  for (let level = 0; level <= lastLevel(dzi); level++) {
    const [columns, rows] = grid(level, dzi);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const bytes = Buffer.from(fill(level, column, row));
        const header = Buffer.alloc(gap(level) + (column % 3), "h");
        parts.push(header, bytes);
        offset += header.length;
        places.push([offset, bytes.length]);
        offset += bytes.length;
      }
    }
  }
  const packed = svgs.map((svg) => svg && add(gzipSync(svg)));
  const boxes = svgs.map((svg, page) => svg && { x: 10 * page, y: 5, width: 10, height: 20, url: `${page}.svg` });
  const vectors = svgs.length > 0 ? { table: add(gzipSync(JSON.stringify({ pages: boxes }))), pages: svgs.length } : undefined;
  places.push(...packed.map((range) => (range ? [range.offset, range.length] : [0, 0])));
  const blocks = [];
  const entries = [];
  for (let first = 0; first < places.length; first += 64) {
    const block = Buffer.alloc(12);
    block.writeBigUInt64LE(BigInt(places[first][0]));
    block.writeUInt32LE(entries.length, 8);
    blocks.push(block);
    let gap = 0;
    places.slice(first, first + 64).forEach(([start, length], at, tiles) => {
      entries.push(...varint(length));
      if (at === 0) return;
      const [before, size] = tiles[at - 1];
      const difference = start - (before + size) - gap;
      gap += difference;
      entries.push(...varint(difference < 0 ? -2 * difference - 1 : 2 * difference));
    });
  }
  const count = Buffer.alloc(8);
  count.writeBigUInt64LE(BigInt(places.length));
  const index = Buffer.concat([Buffer.from("EZTILES1"), count, ...blocks, Buffer.from(entries)]);
  const place = { indexOffset: offset, indexLength: index.length };
  return { object: Buffer.concat([...parts, index]), place, previews: { large, thumbnail }, text, vectors, tiles: places.length - svgs.length };
}

/** Stores an archive for a new content, which becomes ready. Returns the content's id. */
export async function store(system, url, { object, place, previews, text, vectors }, dzi = DZI) {
  const { id } = await system.ask(url);
  await system.claim(id);
  await system.pyramids.put(`${id}/1.szi`, object, { httpMetadata: { contentType: "application/zip" } });
  const { status } = await system.report(id, 1, { finished: { dzi, archive: place, previews, text, vectors } });
  if (status !== 204) throw new Error(`the report got ${status}`);
  return id;
}
