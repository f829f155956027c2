// A place in a picture as the fragment of an address: `#x,y,zoom`. x and y are the picture pixel in the middle of the
// view, zoom is how many times as wide as the view the picture is drawn, so that a phone and a wall show the same part
// of it.

const PLACE = /^#(\d{1,9}(?:\.\d{1,3})?),(\d{1,9}(?:\.\d{1,3})?),(\d{1,9}(?:\.\d{1,6})?)$/;

/** How long the view must rest before the address changes. Safari refuses more than 100 changes in 30 seconds. */
const REST_MS = 400;

/** The place that a fragment names, if it names one in the picture. */
export function parsePlace(fragment, picture) {
  const [x, y, zoom] = PLACE.exec(fragment)?.slice(1).map(Number) ?? [];
  return zoom > 0 && x <= picture.width && y <= picture.height ? { x, y, zoom } : null;
}

/** The fragment that names a place, to a tenth of a pixel. */
export function formatPlace({ x, y, zoom }) {
  const short = (figure, digits) => String(Number(Math.max(0, figure).toFixed(digits)));
  return `#${short(x, 1)},${short(y, 1)},${short(zoom, 3)}`;
}

/**
 * Keeps the page's address and the view together: goes to the place that the address names, now and when its fragment
 * changes, and keeps the address at the view, without a fragment while it is the one that the picture opens with. `view`
 * has `picture`, `place()`, `isOpening()`, `go(place, immediately)`, `goToOpening(immediately)` and `onRest(listener)`.
 */
export function keepInAddress(view, page = window) {
  const named = () => parsePlace(page.location.hash, view.picture);
  const first = named();
  if (first) view.go(first, true);

  let timer = 0;
  const write = () => {
    const fragment = view.isOpening() ? "" : formatPlace(view.place());
    if (fragment === page.location.hash) return;
    const { pathname, search } = page.location;
    page.history.replaceState(page.history.state, "", pathname + search + fragment);
  };
  const stopResting = view.onRest(() => {
    page.clearTimeout(timer);
    timer = page.setTimeout(write, REST_MS);
  });
  const follow = () => {
    const place = named();
    if (place) view.go(place, false);
    else view.goToOpening(false);
  };
  page.addEventListener("hashchange", follow);
  return () => {
    page.clearTimeout(timer);
    stopResting();
    page.removeEventListener("hashchange", follow);
  };
}
