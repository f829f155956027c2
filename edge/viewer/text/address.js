// Search and page as parameters of the share page, `?q=words` and `?page=12`.

/** Returns `{ query, page }` of a URL; `page` counts from 1, and is 0 if there is none or it is malformed. */
export function addressed({ search }) {
  const parameters = new URLSearchParams(search);
  const page = /^\d{1,6}$/.exec(parameters.get("page") ?? "");
  return { query: (parameters.get("q") ?? "").trim().slice(0, 200), page: page ? Number(page[0]) : 0 };
}

/** Returns a URL with a parameter, or without it if the value is "". Other parameters stay as they are. */
export function withParameter(url, name, value) {
  const { origin, pathname, search, hash } = new URL(url);
  const others = search.slice(1).split("&").filter((pair) => pair && !pair.startsWith(`${name}=`));
  const query = [...others, ...(value ? [`${name}=${encodeURIComponent(value)}`] : [])].join("&");
  return origin + pathname + (query && `?${query}`) + hash;
}
