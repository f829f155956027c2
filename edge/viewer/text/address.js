// Search and page as parameters of share pages and embeds, `?q=words` and `?page=12`.

import { URL_REST_MS } from "../zoom/place.js";

/** Returns `{ query, page }` of a URL; `page` counts from 1, and is 0 if there is none or it is malformed. */
export function addressed({ search }) {
  const parameters = new URLSearchParams(search);
  const page = /^\d{1,6}$/.exec(parameters.get("page") ?? "");
  return { query: (parameters.get("q") ?? "").trim().slice(0, 200), page: page ? Number(page[0]) : 0 };
}

/** Returns a function that keeps the query in the page's URL. */
export function keepQuery(setParameter) {
  let timer = 0;
  return (query) => {
    clearTimeout(timer);
    timer = setTimeout(setParameter, URL_REST_MS, "q", encodeURIComponent(query));
  };
}
