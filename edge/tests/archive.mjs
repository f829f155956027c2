// Builds a pyramid as one object, as far as the Worker reads it: tiles with a few bytes between them, and their index.

import { gzipSync } from "node:zlib";

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

/** The words of the picture, and how they are stored. */
export const TEXT = { version: 1, total: 1, pages: [{ at: [0, 0, 16_000, 12_000], blocks: [{ role: "p", lines: [{ at: [9, 9, 99, 20], text: "two words" }] }] }] };
const PACKED = gzipSync(JSON.stringify(TEXT));

/** Returns the content of a tile's stand-in. */
export const content = (level, column, row) => `tile ${level}/${column}_${row} `.repeat(1 + ((column * 7 + row) % 5));

/** Encodes an unsigned LEB128. */
function varint(number) {
  const bytes = [];
  for (; number >= 0x80; number = Math.floor(number / 0x80)) bytes.push((number % 0x80) + 0x80);
  return [...bytes, number];
}

/**
 * Returns the object, the places of its index, previews and words as a tiler reports them, and its number of tiles. `fill`
 * returns a tile's content, `gap` the number of bytes before the tiles of a level.
 */
export function archive(fill = content, dzi = DZI, gap = () => 40) {
  const places = [];
  const parts = [SIGNATURE, PREVIEW, THUMBNAIL, PACKED].map((part) => Buffer.from(part));
  const large = { offset: SIGNATURE.length, length: PREVIEW.length };
  const thumbnail = { offset: SIGNATURE.length + PREVIEW.length, length: THUMBNAIL.length };
  const range = { offset: thumbnail.offset + THUMBNAIL.length, length: PACKED.length };
  const text = { range, pages: 1 };
  let offset = range.offset + range.length;
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
  return { object: Buffer.concat([...parts, index]), place, previews: { large, thumbnail }, text, tiles: places.length };
}

/** Stores an archive for a new content, which becomes ready. Returns the content's id. */
export async function store(system, url, { object, place, previews, text }, dzi = DZI) {
  const { id } = await system.ask(url);
  await system.claim(id);
  await system.pyramids.put(`${id}/1.szi`, object, { httpMetadata: { contentType: "application/zip" } });
  const { status } = await system.report(id, 1, { finished: { dzi, archive: place, previews, text } });
  if (status !== 204) throw new Error(`the report got ${status}`);
  return id;
}
