// `npx node edge/benches/collections.mjs [entries]`: a collection in workerd: its bytes, the processor time of a request
// with 10,000 lines, of a page of the journal, of the collection's page, of a part for IIIF and of searches, and the rows that
// a line, the beginning of a conversion and its end write, of which each costs.

import { readFile, readdir } from "node:fs/promises";
import { start } from "../tests/system.mjs";

const ENTRIES = Number(process.argv[2] ?? 1_000_000);
const LINES = 10_000;
const PAGES = 200;

/** The Worker, whose collections count the rows that they write. */
const COUNTED = `
  import edge, { CollectionObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  let written = 0;

  export class CollectionObject extends Inner {
    constructor(state, env) {
      const { sql } = state.storage;
      const cursors = [];
      const exec = (...of) => {
        const cursor = sql.exec(...of);
        cursors.push(cursor);
        if (cursors.length > 1000) count();
        return cursor;
      };
      const count = () => cursors.splice(0).forEach(({ rowsWritten }) => (written += rowsWritten));
      Object.defineProperty(state.storage, "sql", { value: { exec } });
      super(state, env);
      this.ready = async (after) => {
        for (const { id } of exec("SELECT id FROM entries WHERE number > ? AND state != 'ready' ORDER BY number LIMIT 10000", after).toArray()) await this.note(JSON.stringify({ id, at: Date.now(), end: "ready" }));
      };
      this.measure = () => {
        count();
        return { written, bytes: sql.databaseSize };
      };
    }

    /** Entries begin only when the benchmark says so. */
    async alarm() {}
    begin() {
      return super.alarm();
    }
    end(after) {
      return this.ready(after);
    }
    figures() {
      return this.measure();
    }
  }

  export default {
    queue() {},
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      const collection = env.COLLECTIONS.getByName("bench");
      if (pathname === "/figures") return Response.json(await collection.figures());
      if (pathname === "/ready") return new Response(await collection.end(Number(searchParams.get("after"))));
      if (pathname === "/begin") return new Response(await collection.begin());
      return edge.fetch(request, env, context);
    },
  };
`;

/** Returns the processor time of workerd in milliseconds, of all its threads. */
async function used() {
  for (const process_ of await readdir("/proc")) {
    const stat = await readFile(`/proc/${process_}/stat`, "utf8").catch(() => "");
    const [, , parent, ...rest] = stat.replace(/^.*\) /s, "- ").split(" ");
    if (stat.includes("(workerd)") && Number(parent) === process.pid) return 10 * (Number(rest[9]) + Number(rest[10]));
  }
  throw new Error("workerd does not run");
}

const system = await start({}, COUNTED);
const headers = { Authorization: `Bearer ${"a key of the benchmark ".repeat(2)}` };
const send = async (method, path, body) => (await system.fetch(`/v1/collections/bench${path}`, { method, headers, body })).text();
const figures = async () => JSON.parse((await system.send("/figures")).body);
const line = (number) =>
  JSON.stringify({ url: `https://host-${number % 5000}.museum.example/objects/${number}/original.tif`, title: `Drawing ${number} of a bridge over a river`, alt: "A stone bridge" });

await send("PUT", "", '{"title":"Bench"}');
const before = await used();
for (let from = 0; from < ENTRIES; from += LINES) {
  const body = Array.from({ length: Math.min(LINES, ENTRIES - from) }, (_, index) => line(from + index)).join("\n");
  await send("POST", "/entries", body);
}
const sending = ((await used()) - before) / (ENTRIES / LINES);
const added = await figures();
const reading = await used();
for (let page = 0; page < PAGES; page += 1) await send("GET", `/entries?after=${Math.floor((page * ENTRIES) / PAGES)}`);
const beginning = await used();
await system.send("/begin");
const starting = (await used()) - beginning;
const { written } = await figures();
const { counts } = JSON.parse(await send("GET", ""));
console.log(`${ENTRIES} entries: ${(added.bytes / 1e6).toFixed(0)} MB, ${(added.written / ENTRIES).toFixed(2)} rows a line, ${sending.toFixed(0)} ms of processor time for ${LINES} lines, ${((beginning - reading) / PAGES).toFixed(1)} ms for a page of 1,000, the requests included; ${counts.converting} begin in ${starting} ms and write ${((written - added.written) / counts.converting).toFixed(2)} rows each`);
for (let after = 0; after < ENTRIES; after += LINES) await system.send(`/ready?after=${after}`);
const ended = await figures();
console.log(`all ready: ${(ended.bytes / 1e6).toFixed(0)} MB, ${((ended.written - written) / ENTRIES).toFixed(2)} rows an end`);
const documents = { "the page": "/c/bench", "a part for IIIF": "/iiif/collection/bench/1", "a page of changes": `/iiif/activity/bench/${Math.ceil((2 * ENTRIES) / 1000) - 1}` };
const searches = ["bridge", "bridge over river", "br", "original 7", String(Math.floor(ENTRIES / 2)), "nothing"];
const search = (query) => `/v1/collections/bench/entries?limit=200&q=${encodeURIComponent(query)}`;
for (const [what, path] of [...Object.entries(documents), ...searches.map((query) => [`a search for "${query}"`, search(query)])]) {
  const begun = await used();
  const wall = performance.now();
  for (let time = 0; time < PAGES; time += 1) await system.send(path);
  const { status, body } = await system.send(path);
  console.log(`${what}: ${(((await used()) - begun) / (PAGES + 1)).toFixed(1)} ms of processor time, ${((performance.now() - wall) / (PAGES + 1)).toFixed(1)} ms; ${status}, ${(body.length / 1000).toFixed(0)} kB`);
}
await system.close();
