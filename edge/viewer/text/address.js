// Search and page as parameters of share pages and embeds, `?q=words` and `?page=12`.

import { URL_REST_MS, replaceUrl, withParameter } from "../zoom/place.js";

/** Returns `{ query, page }` of a URL; `page` counts from 1, and is 0 if there is none or it is malformed. */
export function addressed({ search }) {
  const parameters = new URLSearchParams(search);
  const page = /^\d{1,6}$/.exec(parameters.get("page") ?? "");
  return { query: (parameters.get("q") ?? "").trim().slice(0, 200), page: page ? Number(page[0]) : 0 };
}

/** Returns a function that keeps the query in the page's URL. */
export function keepQuery() {
  let timer = 0;
  return (query) => {
    clearTimeout(timer);
    timer = setTimeout(() => replaceParameter("q", encodeURIComponent(query)), URL_REST_MS);
  };
}

/** Changes a parameter of the page's URL; removes it if the value is "". */
export function replaceParameter(name, value) {
  replaceUrl(withParameter(location.href, name, value));
}
