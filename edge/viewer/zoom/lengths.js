// Lengths of a picture whose content has a `scale`, in words, and the length of its scale bar. Pure arithmetic.

/** The units in words, the largest first, with their size in the unit of the scale. */
const UNITS = {
  metre: [["km", 1e3], ["m", 1], ["mm", 1e-3], ["µm", 1e-6], ["nm", 1e-9], ["pm", 1e-12]],
  degree: [["°", 1], ["′", 1 / 60], ["″", 1 / 3600]],
};
const DIGITS = 3;
/** Rounding that must not make a length smaller than its unit. */
const ROUNDING = 1 - 1e-9;

/** Returns a length, in the unit of a scale, in words: `1.24 mm`, `3.5″`. */
export function lengthWords(length, unit, digits = DIGITS) {
  const [name, size] = unitOf(length, unit);
  const figure = (length / size).toLocaleString("en", { maximumSignificantDigits: digits });
  return unit === "degree" ? figure + name : `${figure}\u202f${name}`;
}

/**
 * Returns the bar for a scale at a number of CSS pixels per picture pixel: the longest of 1, 2 and 5 times a power of
 * ten of a unit that has at most `most` CSS pixels, as `{ pixels, words }`.
 */
export function barOf({ value, unit }, zoom, most) {
  const perPixel = value / zoom;
  const [, size] = unitOf(most * perPixel, unit);
  const longest = ((most * perPixel) / size) * (2 - ROUNDING);
  const power = 10 ** Math.floor(Math.log10(longest));
  const length = Math.max(...[1, 2, 5].map((step) => step * power).filter((step) => step <= longest)) * size;
  return { pixels: length / perPixel, words: lengthWords(length, unit) };
}

/** Returns the size of a pixel and the statement that it comes from, in words. */
export function scaleWords({ value, unit, basis }) {
  return `${lengthWords(value, unit, 4)} per pixel (${basis})`;
}

/** Returns the largest unit of which there is at least one, or the smallest. */
function unitOf(length, unit) {
  return UNITS[unit].find(([, size]) => length >= size * ROUNDING) ?? UNITS[unit].at(-1);
}
