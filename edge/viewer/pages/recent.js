// The contents that were opened in this browser. They are stored only there.

const KEY = "edgezoom-recent";
const MAX_CONTENTS = 8;

/** Returns the contents, latest first: `{ id, name, width, height }`. */
export function recent() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    const isContent = (entry) => /^[0-9A-Za-z]{11}$/.test(entry?.id) && typeof entry.name === "string";
    return Array.isArray(stored) ? stored.filter(isContent) : [];
  } catch {
    return []; // storage is forbidden, or has something else
  }
}

/** Adds a ready content. */
export function remember({ id, dzi }, name) {
  const { width, height } = dzi;
  store([{ id, name, width, height }, ...recent().filter((other) => other.id !== id)].slice(0, MAX_CONTENTS));
}

/** Removes a content. */
export function forget(id) {
  store(recent().filter((other) => other.id !== id));
}

export function clear() {
  store([]);
}

function store(contents) {
  try {
    localStorage.setItem(KEY, JSON.stringify(contents));
  } catch {
    // Storage is full or forbidden: the home page shows no recent contents.
  }
}
