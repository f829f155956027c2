// Computed pictures as pyramids of PNG tiles in any grid, for tests that compare pixels.

import { encodePng } from "../png.mjs";

/** Returns a smooth gradient, in which the smallest step is visible. */
export const gradient = (width, height) => filled(width, height, (x, y) => [40 + (170 * x) / width, 60 + (120 * y) / height, 200 - (150 * (x + y)) / (width + height)]);

/** Returns a picture with features of photographs: smooth areas, grain, thin lines and hard edges in all directions. */
export function scene(width, height) {
  let seed = 7;
  const grain = Float32Array.from({ length: 4099 }, () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648 - 0.5);
  return filled(width, height, (x, y) => {
    const waves = 40 * Math.sin(x / 37 + Math.sin(y / 91) * 3) + 30 * Math.cos(y / 23 - x / 61);
    const branch = Math.abs(((x * 0.83 + y * 1.31) % 97) - 48) < 1.6 ? -70 : 0;
    const roof = (x * 0.31 - y * 0.77 + 4000) % 230 < 90 ? 45 : 0;
    const noise = 18 * grain[(x * 31 + y * 1009) % grain.length];
    return [110 + waves + branch + roof + noise, 120 + waves * 0.7 + branch + noise, 100 + roof + branch * 0.6 + noise];
  });
}

function filled(width, height, colour) {
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0, at = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) for (const value of colour(x, y)) pixels[at++] = Math.min(Math.max(value, 0), 255);
  }
  return { width, height, pixels };
}

/** Cuts a picture into a pyramid: `{ dzi, tiles }`, with PNG tiles by their paths in the `_files` folder. */
export function pyramidOf(picture, tileSize, tileOverlap) {
  const tiles = new Map();
  const { width, height } = picture;
  let level = Math.ceil(Math.log2(Math.max(width, height)));
  for (let scaled = picture; ; scaled = halved(scaled), level -= 1) {
    for (let row = 0; row * tileSize < scaled.height; row += 1) {
      for (let column = 0; column * tileSize < scaled.width; column += 1) {
        tiles.set(`${level}/${column}_${row}.png`, cut(scaled, ...span(column, scaled.width), ...span(row, scaled.height)));
      }
    }
    if (level === 0) return { dzi: { width, height, tileSize, tileOverlap, tileFormat: "png" }, tiles };
  }
  function span(index, side) {
    return [Math.max(index * tileSize - tileOverlap, 0), Math.min((index + 1) * tileSize + tileOverlap, side)];
  }
}

/** Halves a picture: each pixel is the mean of four. */
function halved({ width, height, pixels }) {
  const [across, down] = [Math.ceil(width / 2), Math.ceil(height / 2)];
  const half = new Uint8Array(across * down * 3);
  for (let y = 0; y < down; y += 1) {
    const rows = [2 * y, Math.min(2 * y + 1, height - 1)].map((row) => row * width);
    for (let x = 0; x < across; x += 1) {
      const [left, right] = [2 * x, Math.min(2 * x + 1, width - 1)];
      for (let channel = 0; channel < 3; channel += 1) {
        const value = (column) => pixels[(rows[0] + column) * 3 + channel] + pixels[(rows[1] + column) * 3 + channel];
        half[(y * across + x) * 3 + channel] = (value(left) + value(right) + 2) >> 2;
      }
    }
  }
  return { width: across, height: down, pixels: half };
}

/** Returns the part of a picture between these columns and rows as a PNG. */
function cut({ width, pixels }, left, right, top, bottom) {
  const across = right - left;
  const part = new Uint8Array(across * (bottom - top) * 3);
  for (let y = top; y < bottom; y += 1) part.set(pixels.subarray((y * width + left) * 3, (y * width + right) * 3), (y - top) * across * 3);
  return encodePng({ width: across, height: bottom - top, channels: 3, pixels: part }, 1);
}
