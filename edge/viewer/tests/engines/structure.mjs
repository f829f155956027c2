// Compares screenshots of two engines by structure: what is where, and how light. Glyphs and antialiasing differ between
// engines, so both pictures are reduced to cells that are larger than a letter.

import { decodePng } from "../../png.mjs";

/** Side of a cell in pixels. */
const CELL = 24;
/** Lightness, of 255, by which a cell may differ before it counts as different. */
const TOLERANCE = 28;

/** Returns the share of cells that differ: neither like the same cell of the other screenshot, nor like one beside it. */
export function difference(one, other) {
  const [a, b] = [cellsOf(one), cellsOf(other)];
  if (a.columns !== b.columns || a.rows !== b.rows) return 1;
  let different = 0;
  for (let row = 0; row < a.rows; row += 1) {
    for (let column = 0; column < a.columns; column += 1) {
      const isLike = (right, down) => {
        const [x, y] = [column + right, row + down];
        if (x < 0 || y < 0 || x >= b.columns || y >= b.rows) return false;
        return Math.abs(a.light[row * a.columns + column] - b.light[y * b.columns + x]) <= TOLERANCE;
      };
      const around = [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]];
      if (!around.some(([right, down]) => isLike(right, down))) different += 1;
    }
  }
  return different / (a.columns * a.rows);
}

/** Returns the mean lightness of each cell. */
function cellsOf(png) {
  const { width, height, channels, pixels } = decodePng(png);
  const [columns, rows] = [Math.floor(width / CELL), Math.floor(height / CELL)];
  const light = new Float64Array(columns * rows);
  for (let y = 0; y < rows * CELL; y += 1) {
    for (let x = 0; x < columns * CELL; x += 1) {
      const at = (y * width + x) * channels;
      const value = 0.299 * pixels[at] + 0.587 * pixels[at + 1] + 0.114 * pixels[at + 2];
      light[Math.floor(y / CELL) * columns + Math.floor(x / CELL)] += value / (CELL * CELL);
    }
  }
  return { columns, rows, light };
}
