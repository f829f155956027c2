// A place in a picture as a URL fragment, `#x,y,zoom`: the picture pixel at the centre of the view, and the picture's width
// in widths of the view. So a phone and a large screen show the same part.

const PLACE = /^#(\d{1,9}(?:\.\d{1,3})?),(\d{1,9}(?:\.\d{1,3})?),(\d{1,9}(?:\.\d{1,6})?)$/;

/** Time that the view must rest before the URL changes. Safari refuses more than 100 changes in 30 seconds. */
const REST_MS = 400;

/** Returns the place of a fragment, or null if it is malformed or outside the picture. */
export function parsePlace(fragment, picture) {
  const [x, y, zoom] = PLACE.exec(fragment)?.slice(1).map(Number) ?? [];
  return zoom > 0 && x <= picture.width && y <= picture.height ? { x, y, zoom } : null;
}

/** Returns the fragment of a place, to a tenth of a pixel. */
export function formatPlace({ x, y, zoom }) {
  const short = (figure, digits) => String(Number(Math.max(0, figure).toFixed(digits)));
  return `#${short(x, 1)},${short(y, 1)},${short(zoom, 3)}`;
}

/**
 * Keeps the page's URL and the view in step: goes to the place in the fragment, now and when it changes, and updates the
 * fragment when the view moves. The opening view has no fragment.
 */
export function keepInUrl(view) {
  const named = () => parsePlace(location.hash, view.picture);
  const first = named();
  if (first) view.go(first, true);

  let timer = 0;
  const write = () => {
    const fragment = view.isOpening() ? "" : formatPlace(view.place());
    if (fragment === location.hash) return;
    const { pathname, search } = location;
    history.replaceState(history.state, "", pathname + search + fragment);
  };
  view.onRest(() => {
    clearTimeout(timer);
    timer = setTimeout(write, REST_MS);
  });
  addEventListener("hashchange", () => {
    const place = named();
    if (place) view.go(place, false);
    else view.goToOpening(false);
  });
}
