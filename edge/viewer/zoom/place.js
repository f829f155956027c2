// A place in a picture as a URL fragment, `#x,y,zoom,turn`: the picture pixel at the centre of the view, the picture's width
// in widths of the view, and the picture's rotation in degrees, if any. So a phone and a large screen show the same part. The
// zoom of the opening view is 0: it depends on the window.

const PLACE = /^#(\d{1,9}(?:\.\d{1,3})?),(\d{1,9}(?:\.\d{1,3})?),(\d{1,9}(?:\.\d{1,6})?)(?:,(0|90|180|270))?$/;

/** Time that the view must rest before the URL changes. Safari refuses more than 100 changes in 30 seconds. */
const REST_MS = 400;

/** Returns the place of a fragment, or null if it is malformed or outside the picture. */
export function parsePlace(fragment, picture) {
  const [x, y, zoom, turn = 0] = PLACE.exec(fragment)?.slice(1).map((figure) => figure && Number(figure)) ?? [];
  return x <= picture.width && y <= picture.height ? { x, y, zoom, turn } : null;
}

/** Returns the fragment of a place, to a tenth of a pixel. */
export function formatPlace({ x, y, zoom, turn }) {
  const short = (figure, digits) => String(Number(Math.max(0, figure).toFixed(digits)));
  return `#${short(x, 1)},${short(y, 1)},${short(zoom, 3)}${turn ? `,${turn}` : ""}`;
}

/**
 * Keeps the page's URL and the view in step: goes to the place in the fragment, now and when it changes, and updates the
 * fragment when the view moves. The opening view has no fragment unless it is rotated.
 */
export function keepInUrl(view) {
  const named = () => parsePlace(location.hash, view.picture);
  const show = (place, immediately) => {
    if (place?.zoom) view.go(place, immediately);
    else view.goToOpening(immediately, place?.turn ?? 0);
  };
  const first = named();
  if (first) show(first, true);

  let timer = 0;
  const fragmentOf = () => {
    if (!view.isOpening()) return formatPlace(view.place());
    const { turn } = view.place();
    return turn ? formatPlace({ x: view.picture.width / 2, y: view.picture.height / 2, zoom: 0, turn }) : "";
  };
  const write = () => {
    const fragment = fragmentOf();
    if (fragment === location.hash) return;
    const { pathname, search } = location;
    history.replaceState(history.state, "", pathname + search + fragment);
  };
  view.onRest(() => {
    clearTimeout(timer);
    timer = setTimeout(write, REST_MS);
  });
  addEventListener("hashchange", () => show(named(), false));
}
