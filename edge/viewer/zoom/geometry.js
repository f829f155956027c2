// The limits of zooming, as pure arithmetic. A zoom is OpenSeadragon's: the picture's width in widths of the view. A
// scale is in CSS pixels per picture pixel.

/** Maximum scale: single pixels are clearly visible. */
const MAX_SCALE = 8;

/** Maximum scale of a picture with vectors, which are sharp at any. */
const MAX_VECTOR_SCALE = 64;

/** Screen pixels per picture pixel from which vectors are drawn. */
export const VECTORS_FROM = 1.5;

/** Maximum zoom in multiples of the home zoom, if that is larger. */
const BEYOND_HOME = 4;

/** Scale from which pixels are drawn as squares. */
const CRISP_FROM = 4;

/** Ratio of the sides from which a picture, shown whole, is too narrow to make anything out. */
const ELONGATED = 4;

/** Maximum zoom per wheel event, as an exponent of e, as in maps. */
const MAX_BY_WHEEL = 0.25;

const NOTHING_COVERED = { top: 0, bottom: 0 };

/**
 * Returns a picture's zooms in a view: `home` shows it whole or, with `cover`, fills the view; `least` shows it whole;
 * `most` is the maximum; `opening` is the first one. Small pictures are not enlarged. Sizes are `{ width, height }`, a
 * picture may have `vectors`, `sideways` is true if the picture is rotated by 90°, and `covered` are the CSS pixels that panels and controls cover.
 */
export function zoomRange(picture, view, sideways, fit, covered = NOTHING_COVERED) {
  const [width, height] = sideways ? [picture.height, picture.width] : [picture.width, picture.height];
  const across = view.width / width;
  const down = Math.max(view.height - covered.top - covered.bottom, 1) / height;
  const fitted = Math.min(across, down);
  const contained = Math.min(fitted, 1);
  const home = fit === "cover" ? Math.max(across, view.height / height) : contained;
  const perScale = picture.width / view.width;
  return {
    home: home * perScale,
    least: contained * perScale,
    most: Math.max(picture.vectors ? MAX_VECTOR_SCALE : MAX_SCALE, fitted, home * BEYOND_HOME) * perScale,
    opening: (fit === "contain" && opensFilled(width / height, home, across, down) ? Math.min(Math.max(across, down), 1) : home) * perScale,
  };
}

/** Returns the height of a view that a whole picture leaves free. */
export function freeHeight(picture, view, sideways) {
  const [width, height] = sideways ? [picture.height, picture.width] : [picture.width, picture.height];
  return Math.max(view.height - height * Math.min(view.width / width, 1), 0);
}

/** Returns true if a picture opens with its shorter side filling the view. */
function opensFilled(shape, home, across, down) {
  const isElongated = shape >= ELONGATED || shape <= 1 / ELONGATED;
  return isElongated && Math.min(Math.max(across, down), 1) >= 2 * home;
}

/** Returns the zoom factor of a wheel event, or of a pinch on a trackpad (`ctrlKey`). */
export function wheelFactor({ deltaY, deltaMode, ctrlKey }) {
  const pixels = deltaMode === 1 ? deltaY * 33 : deltaY;
  const exponent = -pixels * (ctrlKey ? 0.01 : 0.0018);
  return Math.exp(Math.min(Math.max(exponent, -MAX_BY_WHEEL), MAX_BY_WHEEL));
}

/** Returns the scale of a zoom. */
export function scaleOf(zoom, picture, view) {
  return (zoom * view.width) / picture.width;
}

/** Returns true if pixels are drawn as squares instead of being smoothed. */
export function isCrisp(scale) {
  return scale >= CRISP_FROM;
}
