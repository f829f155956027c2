// Reads a browser's screenshots here, rather than in a page that would have to be opened for that: PNG of 8 bits without
// interlacing, as Chromium writes it. https://www.w3.org/TR/png-3/

import { inflateSync } from "node:zlib";

/** Channels by the colour type: grey, RGB, grey with alpha, RGBA. */
const CHANNELS = { 0: 1, 2: 3, 4: 2, 6: 4 };

/** `{ width, height, channels, pixels }` of a PNG. */
export function readPng(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const [depth, kind, , , interlaced] = png.subarray(24, 29);
  const channels = CHANNELS[kind];
  if (depth !== 8 || !channels || interlaced) throw new Error(`a PNG of another kind: ${[...png.subarray(24, 29)]}`);
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

/** Reverts the filter of a row (section 9): what is stored is the difference to bytes on the left, above, or both. */
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

/** Of three neighbours the one that is nearest to `left + above - corner`. */
function paeth(left, above, corner) {
  const toLeft = Math.abs(above - corner);
  const toAbove = Math.abs(left - corner);
  const toCorner = Math.abs(left + above - 2 * corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
