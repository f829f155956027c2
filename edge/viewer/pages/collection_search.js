// The search field of a collection's page: shows the pictures with these words in their titles in place of the wall. The
// address has the words, so that a link leads to what was found.

import { element } from "../dom.js";

/** Number of pictures that are shown at first, and that each press of the button adds. */
const STEP = 200;
/** Time after the last letter, in ms. */
const REST = 400;

const field = document.getElementById("q");
const results = document.getElementById("results");
const list = element("ul", { class: "entries" });
const more = element("button", { type: "button" }, "Show more");
let reading;
let last = 0;

/**
 * Handles the field. `read(query, signal)` returns the entries of a query, `item(entry)` an element. `tell(text)` shows how
 * many are found, or null when the field is empty again.
 */
export function setUpSearch(read, item, tell) {
  async function begin() {
    const words = field.value.trim();
    history.replaceState(null, "", words ? `?q=${encodeURIComponent(words)}` : location.pathname);
    reading?.abort();
    last = 0;
    if (words) return find();
    document.getElementById("wall").hidden = false;
    results.replaceChildren();
    tell(null);
  }

  async function find() {
    reading = new AbortController();
    const { signal } = reading;
    try {
      const found = await read(`q=${encodeURIComponent(field.value.trim())}&after=${last}&limit=${STEP}`, signal);
      document.getElementById("wall").hidden = true;
      if (last === 0) list.replaceChildren();
      const items = found.map(item);
      list.append(...items);
      results.replaceChildren(list, ...(found.length === STEP ? [more] : []));
      if (last > 0) items[0]?.querySelector("a").focus({ preventScroll: true });
      last = found.at(-1)?.number ?? last;
      const count = list.children.length;
      tell(count === 0 ? "No picture has these words in its title" : `${count.toLocaleString("en")} ${found.length === STEP ? "or more " : ""}found`);
    } catch (error) {
      if (error.name === "AbortError") return;
      console.warn("cannot search:", error);
      tell("The service does not answer. Try again.");
    }
  }
  more.onclick = find;

  let timer;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(begin, REST);
  });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    begin();
  });
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  if (field.value.trim()) begin();
}
