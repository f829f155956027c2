// Writes PNG, for test pictures, and reads it, for screenshots: 8 bits, without interlacing.
// https://www.w3.org/TR/png-3/

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
/** Number of channels by colour type: grey, RGB, grey with alpha, RGBA. */
const CHANNELS = { 0: 1, 2: 3, 4: 2, 6: 4 };

/** Encodes `{ width, height, channels, pixels }`. `level` is the effort of compression. */
export function encodePng({ width, height, channels, pixels }, level) {
  const stride = width * channels;
  const rows = Buffer.alloc((stride + 1) * height); // each row starts with its filter: none
  for (let row = 0; row < height; row += 1) rows.set(pixels.subarray(row * stride, (row + 1) * stride), row * (stride + 1) + 1);
  const [colourType] = Object.entries(CHANNELS).find(([, count]) => count === channels);
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, colourType, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("IDAT", deflateSync(rows, { level })), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type, content) {
  const body = Buffer.concat([Buffer.from(type), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Decodes a PNG to `{ width, height, channels, pixels }`. */
export function decodePng(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const [depth, colourType, , , interlaced] = png.subarray(24, 29);
  const channels = CHANNELS[colourType];
  if (depth !== 8 || !channels || interlaced) throw new Error(`unsupported kind of PNG: ${[...png.subarray(24, 29)]}`);
  const parts = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const stored = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const pixels = new Uint8Array(stride * height);
  for (let row = 0; row < height; row += 1) {
    unfilter(stored[row * (stride + 1)], stored.subarray(row * (stride + 1) + 1, (row + 1) * (stride + 1)), pixels, row * stride, stride, channels);
  }
  return { width, height, channels, pixels };
}

/** Reverts the filter of a row (section 9), which stores differences to the bytes on the left, above, or both. */
function unfilter(filter, stored, pixels, start, stride, channels) {
  for (let at = 0; at < stride; at += 1) {
    const left = at < channels ? 0 : pixels[start + at - channels];
    const above = start === 0 ? 0 : pixels[start + at - stride];
    let guess = 0;
    if (filter === 1) guess = left;
    else if (filter === 2) guess = above;
    else if (filter === 3) guess = (left + above) >> 1;
    else if (filter === 4) guess = paeth(left, above, at < channels || start === 0 ? 0 : pixels[start + at - stride - channels]);
    pixels[start + at] = stored[at] + guess;
  }
}

/** Returns the neighbour that is closest to `left + above - corner`. */
function paeth(left, above, corner) {
  const toLeft = Math.abs(above - corner);
  const toAbove = Math.abs(left - corner);
  const toCorner = Math.abs(left + above - 2 * corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
