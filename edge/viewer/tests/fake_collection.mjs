// The collection `drawings` of the fake service: as many entries as a test asks for, of which every hundredth has failed.

const KEY = "key of drawings";
const CORS = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };

/** Returns the collection: `{ size, waiting, reads, answer(pathname, searchParams, request) }`. */
export function fakeCollection() {
  const collection = {
    key: KEY,
    /** Number of entries. */
    size: 1000,
    /** Number of entries at the end that wait. */
    waiting: 0,
    last: 1,
    /** Queries of entries. */
    reads: [],
    answer(pathname, searchParams, request) {
      const { authorization } = request.headers;
      if (authorization && authorization !== `Bearer ${KEY}`) return { status: 403, headers: CORS, type: "text/plain", body: "The key is wrong." };
      if (!pathname.endsWith("/entries")) return { type: "application/json", headers: CORS, body: JSON.stringify(described()) };
      collection.reads.push(searchParams.toString());
      const [after, limit] = ["after", "limit"].map((name) => Number(searchParams.get(name)));
      const entries = Array.from({ length: collection.size - after }, (_, index) => entry(after + index + 1));
      const words = searchParams.get("q")?.toLowerCase();
      const visible = entries.filter(({ title = "" }) => !words || title.toLowerCase().includes(words)).filter(({ state }) => authorization || state === "ready" || state === "removed");
      return { type: "application/x-ndjson", headers: CORS, body: visible.slice(0, limit).map((one) => `${JSON.stringify(one)}\n`).join("") };
    },
  };
  /** Returns what the page arrives with: the first previews, as the Worker makes them. */
  collection.page = () => {
    const { counts, title, credit, rights } = described();
    const entries = Array.from({ length: 26 }, (_, index) => entry(index + 1)).filter(({ number, state }) => state === "ready" && number <= collection.size);
    const item = ({ id, title: own, alt = "", number }, index) => `<li><a class="entry" href="/${id}"><img src="/${id}/thumbnail.jpg" alt="${alt}"${index < 12 ? "" : ' loading="lazy"'} decoding="async" width="160" height="146"><b>${(own ?? `sheet ${number}.tif`).replaceAll("<", "&lt;")}</b></a></li>`;
    const wall = `<section data-index="0" aria-labelledby="from-1"><h2 id="from-1">From 1</h2><ul class="entries">${entries.slice(0, 24).map(item).join("")}</ul></section>`;
    return { title, counts: `${counts.ready} pictures`, credits: `${credit} · <a href="${rights}" rel="license">${rights}</a>`, wall, collection: JSON.stringify({ counts, last: collection.last }) };
  };
  const stateOf = (number) => {
    if (number % 100 === 50) return "failed";
    if (number % 100 === 60) return "removed";
    return number > collection.size - collection.waiting ? "waiting" : "ready";
  };
  function entry(number) {
    const state = stateOf(number);
    const url = `https://example.com/maps/sheet%20${number}.tif`;
    const words = number % 2 ? { title: `Drawing ${number} <b>`, alt: `What is in drawing ${number}` } : {};
    const failure = state === "failed" && { failure: { code: "source-not-found", message: "The server has no such file." } };
    return { seq: number, number, id: `Content${String(number % 10_000).padStart(4, "0")}`, url, state, at: 1_796_000_000_000, ...words, ...failure };
  }
  function described() {
    const counts = { waiting: 0, converting: 0, ready: 0, failed: 0, removed: 0, "taken-down": 0 };
    for (let number = 1; number <= collection.size; number += 1) counts[stateOf(number)] += 1;
    return { name: "drawings", title: "Drawings", credit: "Museum of Examples", rights: "http://rightsstatements.org/vocab/InC/1.0/", counts, last: collection.last };
  }
  return collection;
}
