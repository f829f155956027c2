// How far a picture can be zoomed, as pure arithmetic. A zoom is OpenSeadragon's: how many times as wide as the view
// the picture is drawn. A scale is CSS pixels per picture pixel.

/** At this scale single pixels are clearly visible; a larger one shows nothing more. */
const MOST_MAGNIFIED = 8;

/** A picture that covers its view may be magnified this much beyond that. */
const BEYOND_HOME = 4;

/** From this scale on, pixels are drawn as squares. */
const CRISP_FROM = 4;

/** A picture that is this many times as long as it is wide, seen whole, is a line in which nothing can be made out. */
const ELONGATED = 4;

/** A wheel's notch zooms by this much at most, as the exponent of e. Maps do so too. */
const MOST_BY_WHEEL = 0.25;

const NOTHING_COVERED = { top: 0, bottom: 0 };

/**
 * The zooms of a picture in a view: at home, where the whole is seen, at most and least, and the one that it opens
 * with. Sizes are `{ width, height }`; `sideways` says that the picture is turned by a quarter; `covered` is how much of
 * the view, in CSS pixels, panels and controls cover. Small pictures are shown at their own size. At least the whole
 * picture is seen, even where it covers the view at home.
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
    most: Math.max(MOST_MAGNIFIED, fitted, home * BEYOND_HOME) * perScale,
    opening: (fit === "contain" && opensFilled(width / height, home, across, down) ? Math.min(Math.max(across, down), 1) : home) * perScale,
  };
}

/** Whether a picture opens with its shorter side filling the view. */
function opensFilled(shape, home, across, down) {
  const isElongated = shape >= ELONGATED || shape <= 1 / ELONGATED;
  return isElongated && Math.min(Math.max(across, down), 1) >= 2 * home;
}

/** The factor by which a turn of the wheel, or a pinch on a trackpad (`ctrlKey`), zooms: by as much as it turned. */
export function wheelFactor({ deltaY, deltaMode, ctrlKey }) {
  const pixels = deltaMode === 1 ? deltaY * 33 : deltaY;
  const exponent = -pixels * (ctrlKey ? 0.01 : 0.0018);
  return Math.exp(Math.min(Math.max(exponent, -MOST_BY_WHEEL), MOST_BY_WHEEL));
}

/** How many CSS pixels a picture pixel takes at a zoom. */
export function scaleOf(zoom, picture, view) {
  return (zoom * view.width) / picture.width;
}

/** Whether pixels are to be drawn as squares rather than blurred. */
export function isCrisp(scale) {
  return scale >= CRISP_FROM;
}
