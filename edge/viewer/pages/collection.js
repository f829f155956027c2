// The page of a collection: a wall of previews in the order of addition, in sections of 200. A section is read when it
// comes near the window and emptied when it has left, so the page is as quick and small with 100,000 entries as with 200.
// Strangers see what is ready; with the collection's key, which stays in this page, all entries show their states. The
// page arrives with the first previews (`edge/collections/src/face/page.rs`).

import { element } from "../dom.js";
import { setUpSearch } from "./collection_search.js";

/** Number of entries of a section: places in the order of addition. */
const STEP = 200;
/** Sections this far from the window are loaded. */
const NEAR = "1200px 0px";
/** Time for which a section must be near before it is read, in ms: dragging the scrollbar passes by thousands. */
const REST = 120;
/** Number of previews that load at once, as in the page that arrives. */
const AT_ONCE = 12;
/** Time after which the wall is made, in ms: the previews in the page load before its entries. */
const SETTLED = 1000;
/** Time between two looks at a collection that is being converted, and before a failed request is repeated, in ms. */
const LOOK = 5000;
// As in collection.css.
const ROW = 190;
const WIDTH = 160;
const GAP = 14;
const HEADING = 44;

const STATES = { waiting: "Waiting", converting: "Being converted", failed: "Failed", "taken-down": "Taken down" };

const wall = document.getElementById("wall");
const name = location.pathname.split("/")[2];
const address = `${location.origin}/v1/collections/${name}`;
const sections = [];
let width = wall.clientWidth;
let key = "";
/** What the search has found; null if nothing is searched for. */
let wordsFound = null;
let collection = JSON.parse(document.getElementById("collection").textContent);

const number = (value) => value.toLocaleString("en");
const sum = (counts) => Object.values(counts).reduce((all, count) => all + count, 0);
const authorization = () => (key ? { headers: { Authorization: `Bearer ${key}` } } : {});

/** Near sections are loaded after a rest; others are emptied, unless the focus is in them. */
const observer = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) {
    const section = sections[Number(target.dataset.index)];
    section.isNear = isIntersecting;
    clearTimeout(section.timer);
    if (isIntersecting) section.timer = setTimeout(load, section.first === 1 ? 0 : REST, section);
    else if (!target.contains(document.activeElement)) empty(section);
  }
}, { rootMargin: NEAR });

/** Returns the height of a section with this many entries, in CSS pixels. */
function heightOf(entries) {
  const columns = Math.max(1, Math.floor((width + GAP) / (WIDTH + GAP)));
  const rows = Math.ceil(entries / columns);
  return rows ? HEADING + rows * ROW + (rows - 1) * GAP : 0;
}

/** Sets the heights of sections, and keeps what is in the window in its place. The layout is made once: there may be thousands. */
function resize(which) {
  const topOf = ({ box }) => box.getBoundingClientRect().top;
  const anchor = scrollY > 0 && sections.find(({ box }) => box.getBoundingClientRect().bottom > 0);
  const before = anchor && topOf(anchor);
  for (const { box, count } of which) box.style.blockSize = `${heightOf(count)}px`;
  if (anchor && topOf(anchor) !== before) scrollBy({ top: topOf(anchor) - before, behavior: "instant" });
}

/** Adds the sections that a number of places needs. */
function reach(places) {
  while (sections.length * STEP < places) {
    const index = sections.length;
    const first = index * STEP + 1;
    const heading = element("h2", { id: `from-${first}` }, `From ${number(first)}`);
    const made = element("section", { "data-index": String(index), "aria-labelledby": heading.id }, heading, element("ul", { class: "entries" }));
    const box = wall.children[index] ?? wall.appendChild(made);
    sections.push({ first, box, list: box.querySelector("ul"), count: 0, entries: null, isNear: false });
    observer.observe(box);
  }
  // Until a section is read, all its places count.
  const unread = sections.filter(({ entries }) => entries === null);
  for (const section of unread) section.count = Math.min(STEP, places - section.first + 1);
  resize(unread);
}

/** Reads the entries of a query. */
async function readEntries(query, signal) {
  const response = await fetch(`${address}/entries?${query}`, { ...authorization(), signal });
  if (!response.ok) throw new Error(await response.text());
  return (await response.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** Reads the entries of a section, and shows them if it is still near. */
async function load(section) {
  section.reading?.abort();
  section.reading = new AbortController();
  try {
    const lines = await readEntries(`order=added&after=${section.first - 1}&limit=${STEP}`, section.reading.signal);
    const entries = lines.filter((entry) => entry.number < section.first + STEP && entry.state !== "removed");
    if (section.isNear) show(section, entries);
  } catch (error) {
    if (error.name === "AbortError") return;
    console.warn("cannot read the entries:", error);
    section.timer = setTimeout(load, LOOK, section);
  }
}

function show(section, entries) {
  const shown = JSON.stringify(entries);
  if (section.entries === shown) return;
  const focused = section.list.contains(document.activeElement) && document.activeElement.href;
  const before = new Map([...section.list.children].map((old) => [hrefOf(old), old]));
  const items = entries.map((entry, index) => item(entry, section.first === 1 && index < AT_ONCE));
  // What has not changed stays, with its picture.
  section.list.replaceChildren(...items.map((made) => (made.isEqualNode(before.get(hrefOf(made)) ?? null) ? before.get(hrefOf(made)) : made)));
  if (focused) [...section.list.querySelectorAll("a")].find((link) => link.href === focused)?.focus({ preventScroll: true });
  Object.assign(section, { entries: shown, count: entries.length });
  resize([section]);
  section.box.hidden = entries.length === 0;
}

const hrefOf = (entry) => entry.querySelector("a")?.href;

/** Forgets the entries of a section, but not its height. */
function empty(section) {
  section.reading?.abort();
  if (section.entries === null) return;
  section.list.replaceChildren();
  section.entries = "";
}

/** Returns an entry, whose preview loads at once or when it comes near; as `item` in `page.rs`. */
function item({ id, url, state, title, alt, failure }, isAtOnce) {
  const label = title || nameOf(url);
  if (state === "ready") {
    // With a name below, a picture without an alternative text needs none.
    const picture = element("img", { src: `/${id}/thumbnail.jpg`, alt: alt ?? "", loading: !isAtOnce && "lazy", decoding: "async", width: "160", height: "146" });
    return element("li", {}, element("a", { class: "entry", href: `/${id}` }, picture, element("b", {}, label)));
  }
  const reason = failure ? `${STATES[state]}: ${failure.message}` : (STATES[state] ?? state);
  return element("li", {}, element("div", { class: `entry ${state}` }, element("span", { class: "state" }, reason), element("b", { title: url }, label)));
}

/** Returns the last part of a URL's path, or its host. */
function nameOf(url) {
  try {
    const { pathname, hostname } = new URL(url);
    return decodeURIComponent(pathname.split("/").findLast(Boolean) ?? hostname);
  } catch {
    return url;
  }
}

/** Reads the counts, and what has changed since the last time. */
async function look() {
  try {
    const response = await fetch(address, authorization());
    if (response.status === 404) return location.reload();
    if (!response.ok) throw new Error(await response.text());
    const before = collection.last;
    collection = await response.json();
    showCounts();
    if (before !== collection.last) refresh();
  } catch (error) {
    console.warn("cannot read the collection:", error);
    setTimeout(look, LOOK);
  }
}

/** Shows what the search has found, or the counts. */
function tell(found) {
  wordsFound = found;
  document.getElementById("counts").textContent = found ?? summary(collection.counts);
}

/** Shows the counts, and looks again if some are to come. */
function showCounts() {
  const { counts } = collection;
  tell(wordsFound);
  reach(sum(counts));
  if (counts.waiting > 0 || counts.converting > 0) setTimeout(look, LOOK);
}

function summary({ ready = 0, waiting = 0, converting = 0, failed = 0 }) {
  const parts = [`${number(ready)} ${ready === 1 ? "picture" : "pictures"}`];
  if (waiting + converting) parts.push(`${number(waiting + converting)} to come`);
  if (key && failed) parts.push(`${number(failed)} failed`);
  return parts.join(", ");
}

/** Reads the near sections again. Others may have entries that they had not, so they show all their places. */
function refresh() {
  for (const section of sections) {
    section.box.hidden = false;
    if (section.isNear) load(section);
  }
}

document.getElementById("owner")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = document.getElementById("problem");
  key = document.getElementById("key").value.trim();
  const response = await fetch(`${address}/entries?limit=1`, authorization()).catch(() => null);
  problem.hidden = response?.ok === true;
  problem.textContent = response?.status === 403 ? "This is not the key of this collection." : "The service does not answer. Try again.";
  if (!response?.ok) key = "";
  tell(wordsFound);
  refresh();
});

new ResizeObserver(() => {
  if (wall.clientWidth === width || wall.hidden) return;
  width = wall.clientWidth;
  resize(sections);
}).observe(wall);

setTimeout(showCounts, wall.hasChildNodes() ? SETTLED : 0);
setUpSearch(readEntries, (entry) => item(entry, false), tell);
