// The contents that were seen in this browser, kept in it and nowhere else.

const KEY = "edgezoom-recent";
const MOST = 8;

/** The contents, the last one first: `{ id, name, width, height }`. */
export function recent() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    const isContent = (entry) => /^[0-9A-Za-z]{11}$/.test(entry?.id) && typeof entry.name === "string";
    return Array.isArray(kept) ? kept.filter(isContent) : [];
  } catch {
    return []; // the browser keeps nothing, or something else is there
  }
}

/** Keeps a ready content under a name. */
export function remember({ id, dzi }, name) {
  const { width, height } = dzi;
  keep([{ id, name, width, height }, ...recent().filter((other) => other.id !== id)].slice(0, MOST));
}

/** Forgets all contents. */
export function forget() {
  keep([]);
}

function keep(contents) {
  try {
    localStorage.setItem(KEY, JSON.stringify(contents));
  } catch {
    // The browser keeps nothing: then there is nothing to show on the home page.
  }
}
