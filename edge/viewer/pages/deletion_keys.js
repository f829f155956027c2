// The deletion keys of the files that were uploaded in this browser, by the ids of their contents. They are stored only
// there.

const KEY = "edgezoom-deletion-keys";
const MAX_KEYS = 1000;

/** Returns the key of a content, if it was uploaded here. */
export const keyOf = (id) => stored().find(([known]) => known === id)?.[1];

/** Stores the key of an uploaded content, if it has one. */
export function keepKey({ id, deletionKey }) {
  if (deletionKey) store([[id, deletionKey], ...others(id)].slice(0, MAX_KEYS));
}

export const dropKey = (id) => store(others(id));

const others = (id) => stored().filter(([known]) => known !== id);

function stored() {
  try {
    const keys = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(keys) ? keys.filter((entry) => Array.isArray(entry) && entry.length === 2) : [];
  } catch {
    return []; // storage is forbidden, or has something else
  }
}

function store(keys) {
  try {
    localStorage.setItem(KEY, JSON.stringify(keys));
  } catch {
    // Storage is full or forbidden: the picture cannot be deleted from its page.
  }
}
