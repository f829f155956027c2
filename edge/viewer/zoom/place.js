// A place in a picture as a parameter of the share page, `?at=x,y,zoom,turn`: the picture pixel at the centre of the
// view, the picture's width in widths of the view, and the picture's rotation, if any, in degrees clockwise. So a phone
// and a large screen show the same part, and servers see the place. The zoom of the opening view is 0: it depends on
// the window. `edge/src/request/place.rs` parses the same. As a fragment, `#x,y,zoom,turn`, a place works too.

const PLACE = /^(\d{1,9}(?:\.\d{1,3})?),(\d{1,9}(?:\.\d{1,3})?),(\d{1,9}(?:\.\d{1,6})?)(?:,(0|90|180|270))?$/;

/** Time that the view or a field must rest before the URL changes. Safari refuses more than 100 changes in 30 seconds. */
export const URL_REST_MS = 400;

/** Returns the place that a text names, moved into the picture; null if the text is malformed. */
export function parsePlace(text, { width, height }) {
  const [x, y, zoom, turn] = PLACE.exec(text)?.slice(1).map((figure) => Number(figure ?? 0)) ?? [];
  return turn === undefined ? null : { x: Math.min(x, width), y: Math.min(y, height), zoom, turn };
}

/**
 * Returns the text of a place: to a tenth of a pixel, or to half a pixel of the screen where that is less. `scale` are CSS
 * pixels per picture pixel.
 */
export function formatPlace({ x, y, zoom, turn, scale = 1 }) {
  const short = (figure, digits) => String(Number(Math.max(0, figure).toFixed(digits)));
  const digits = Math.min(Math.max(Math.ceil(Math.log10(scale)), 1), 3);
  return [short(x, digits), short(y, digits), short(zoom, 3), ...(turn ? [turn] : [])].join();
}

/** Returns the text of the place in a URL, or "" if there is none. A fragment, which people type, comes first. */
export function placeText({ search, hash }) {
  const named = [hash.slice(1), new URLSearchParams(search).get("at") ?? ""];
  return named.find((text) => PLACE.test(text)) ?? "";
}

/** Returns a URL without fragment, and with another place; without one if the place is "". */
export function withPlace(url, place) {
  return withParameter(url.split("#")[0], "at", place);
}

/** Returns a URL with another value, which is escaped, of a parameter; without the parameter if the value is "". */
export function withParameter(url, name, value) {
  const made = new URL(url);
  const others = made.search.slice(1).split("&").filter((pair) => pair && !pair.startsWith(`${name}=`));
  made.search = [...others, ...(value ? [`${name}=${value}`] : [])].join("&");
  return made.href;
}

/** Changes the page's URL without a new entry in the browser's history. */
export function replaceUrl(url) {
  if (url !== location.href) history.replaceState(history.state, "", url);
}

/**
 * Keeps the page's URL and the view in step: goes to the place in the URL when its fragment changes, and updates the URL
 * when the view moves. The opening view has no place in the URL unless it is rotated.
 */
export function keepInUrl(view) {
  let timer = 0;
  const placeOf = () => {
    if (!view.isOpening()) return formatPlace(view.place());
    const { turn } = view.place();
    return turn ? formatPlace({ x: view.picture.width / 2, y: view.picture.height / 2, zoom: 0, turn }) : "";
  };
  view.onRest(() => {
    clearTimeout(timer);
    timer = setTimeout(() => replaceUrl(withPlace(location.href, placeOf())), URL_REST_MS);
  });
  addEventListener("hashchange", () => goTo(view, location.hash ? parsePlace(placeText(location), view.picture) : null, false));
}

/** Goes to a place; to the opening view if it is null. */
export function goTo(view, place, immediately) {
  if (place?.zoom) view.go(place, immediately);
  else view.goToOpening(immediately, place?.turn ?? 0);
}
