// How far a picture can be zoomed, as pure arithmetic. A zoom is OpenSeadragon's: how many times as wide as the view
// the picture is drawn. A scale is CSS pixels per picture pixel.

/** At this scale single pixels are clearly visible; a larger one shows nothing more. */
const MOST_MAGNIFIED = 8;

/** A picture that is small already may be magnified this much beyond its first view. */
const BEYOND_HOME = 4;

/** From this scale on, pixels are drawn as squares. */
const CRISP_FROM = 4;

/**
 * The zooms of a picture in a view: at home, and at most and least. Sizes are `{ width, height }`; `sideways` says that
 * the picture is turned by a quarter. At least the whole picture is seen, even where it covers the view at home.
 */
export function zoomRange(picture, view, sideways, fit) {
  const across = view.width / (sideways ? picture.height : picture.width);
  const down = view.height / (sideways ? picture.width : picture.height);
  const contained = Math.min(across, down);
  const home = fit === "cover" ? Math.max(across, down) : contained;
  const perScale = picture.width / view.width;
  return {
    home: home * perScale,
    least: contained * perScale,
    most: Math.max(MOST_MAGNIFIED, home * BEYOND_HOME) * perScale,
  };
}

/** How many CSS pixels a picture pixel takes at a zoom. */
export function scaleOf(zoom, picture, view) {
  return (zoom * view.width) / picture.width;
}

/** Whether pixels are to be drawn as squares rather than blurred. */
export function isCrisp(scale) {
  return scale >= CRISP_FROM;
}
