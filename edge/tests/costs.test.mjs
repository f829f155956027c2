// The most that one client can cause in a day: `costs.mjs` computes the tables of docs/limits.md from the limits of the code and
// Cloudflare's prices. What an attempt and the worst requests cost is counted and measured here, the rest in the tests
// that its rows name; `two-clients.test.mjs` has the whole Worker.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { encodePng } from "../viewer/png.mjs";
import { archive, DZI, grid, store } from "./archive.mjs";
import { CORE_SECOND, HOUR, INSTANCE, OBJECT_BYTES, QUEUE_ROWS, RECORD_BYTES, REGION_MS, SEARCH_MS, read, rows, tables, written } from "./costs.mjs";
import { byUrl, eventually, startWith } from "./system.mjs";

test("the worst day costs what is documented, and at most $15 with machines and $25 more with containers", async () => {
  const { machines, besides, least, documents } = await tables();
  for (const [path, before, text] of documents) {
    assert.equal(written(await read(path), before, text), await read(path), `${path}: run \`node edge/tests/costs.mjs\``);
  }
  assert.ok(machines <= 15 && besides <= 25, `${machines} and ${besides}`);
  assert.ok((await read("docs/limits.md")).includes(`$${least.toFixed(2)} a million`), least.toFixed(2));
});

test("each row names a test that causes it", async () => {
  for (const [what, , , [path, name]] of Object.values(await rows()).flat()) {
    assert.match(await read(path), new RegExp(`(test\\("|fn )${name}`), `${what}: ${path} has no test "${name}"`);
  }
});

/** The Worker whose queue and objects count what they do. Requests with `Through-Gate` pass the gate of containers. */
const COUNTED = `
  import edge, { ConversionObject as Conversion, MessagesObject as Messages, TilerObject as Tiler } from "./index.js";
  export * from "./index.js"; // except for the classes below

  const counts = { queue: 0, kv: 0, lines: 0, gate: 0 };
  const cursors = [];
  console.log = () => (counts.lines += 1);

  export class MessagesObject extends Messages {
    constructor(state, env) {
      super(state, env);
      const { sql } = this;
      this.sql = { exec: (...of) => (cursors.push(sql.exec(...of)), cursors.at(-1)) };
    }
  }
  for (const method of ["send", "pull", "acknowledge"]) {
    MessagesObject.prototype[method] = function (...of) {
      counts.queue += 1;
      return Messages.prototype[method].apply(this, of);
    };
  }

  export class ConversionObject extends Conversion {
    constructor(state, env) {
      const put = (...of) => (counts.kv += 1, env.FINISHED.put(...of));
      super(state, { ...env, FINISHED: Object.assign(Object.create(env.FINISHED), { put }) });
    }
    bytes() {
      return this.ctx.storage.sql.databaseSize;
    }
  }

  export class TilerObject extends Tiler {
    start() {}
  }

  export default {
    async fetch(request, env, context) {
      const { pathname, search, searchParams } = new URL(request.url);
      if (pathname === "/counts") return Response.json({ ...counts, rows: cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0) });
      if (pathname === "/bytes") return Response.json(await env.CONVERSIONS.getByName(searchParams.get("id")).bytes());
      if (pathname === "/reference") {
        let state = 1;
        for (let round = 0; round < 1e8; round += 1) state = (Math.imul(state, 1664525) + 1013904223) | 0;
        return Response.json(state);
      }
      if (!request.headers.has("Through-Gate")) return edge.fetch(request, env, context);
      counts.gate += 1;
      const gate = context.exports.TilerGate({ props: { container: 0, start: 1, token: "token-of-a-start" } });
      return gate.fetch(new Request("http://198.18.0.1" + pathname + search, request));
    },
  };
`;
const startCounted = (bindings) => startWith({ bindings: { CONTAINERS: "1", ...bindings }, entry: COUNTED, isQueueOurs: true });

test("an attempt in a container costs no more calls, rows and bytes than is assumed", async (t) => {
  const system = await startCounted({ DEVELOPMENT: "off" });
  try {
    const through = (path, body) => {
      const headers = { "Through-Gate": "1", Authorization: "Bearer token-of-a-start" };
      return system.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    };
    const url = `http://example.com/${"long/".repeat(400)}.jpg`;
    const { id } = await (await system.fetch(byUrl(url), { headers: { "CF-Connecting-IP": "192.0.2.1" } })).json();
    await through("/internal/backlog", { messages: 1, capacity: { tiler: 7, slots: 8 } });
    const pull = async () => (await (await through("/queue/messages/pull", { batch_size: 1, visibility_timeout_ms: 60_000 })).json()).result.messages;
    const [message] = await eventually(async () => (await pull()).slice());
    const before = JSON.parse((await system.send("/counts")).body);
    assert.equal((await through(`/internal/content/${id}/claim`, { tiler: 7, alone: false })).status, 200);
    const tell = async (outcome) => assert.equal((await through(`/internal/content/${id}/report`, { attempt: 1, outcome })).status, 204);
    await tell({ progress: { stage: "rendering", progress: 0.5 } });
    const range = { offset: 60, length: 9 };
    await tell({ finished: { dzi: DZI, title: "title ".repeat(30), archive: { indexOffset: 90, indexLength: 9 }, previews: { large: range, thumbnail: range } } });
    await through("/queue/messages/ack", { acks: [{ lease_id: message.lease_id }] });
    const record = await eventually(() => system.finished.get(id));
    const { queue, rows, kv, lines, gate } = JSON.parse((await system.send("/counts")).body);
    const bytes = JSON.parse((await system.send(`/bytes?id=${id}`)).body);
    t.diagnostic(JSON.stringify({ queue, rows, kv, lines, gate, bytes, record: record.length }));
    assert.ok(gate - before.gate === 4, "one for each call of the tiler");
    assert.ok(queue <= 6 && rows <= QUEUE_ROWS && kv <= 2 && lines <= 5);
    assert.ok(bytes <= OBJECT_BYTES && record.length <= RECORD_BYTES);
  } finally {
    await system.close();
  }
});

/** Time in milliseconds that `/reference` takes on the machine whose times docs/limits.md has. */
const REFERENCE_MS = 140;

/** Returns the processor time of workerd, our only child, in milliseconds. A tick of Linux is 10 ms. */
async function processorTime() {
  const [child] = (await readFile(`/proc/self/task/${process.pid}/children`, "utf8")).split(" ");
  const fields = (await readFile(`/proc/${child}/stat`, "utf8")).split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Pages of words, as many as `bounded` in engine/text/src/bounds.rs leaves: 160,000 letters each, in lines of `length`. */
function documentOf(count, letters, length = 2000) {
  const line = letters.repeat(Math.ceil(length / letters.length)).slice(0, length);
  const lines = Array.from({ length: Math.min(160_000 / length, 20_000) }, (_, at) => ({ at: [0, at % 90, 90, 9], text: line }));
  const pages = Array.from({ length: count }, () => ({ at: [0, 0, 100, 100], label: "i".repeat(32), blocks: [{ role: "p", lines }] }));
  return { version: 1, total: count, pages };
}

test("the worst search, lines, manifest and region take no more processor time than is assumed", async (t) => {
  const system = await startCounted({ REGIONS: "on" });
  const measure = async (path) => {
    const before = await processorTime();
    const { status, body } = await system.send(path);
    assert.equal(status, 200, `${path}: ${body.slice(0, 200)}`);
    return (await processorTime()) - before;
  };
  // Other work on the machine slows some rounds of both, so the least of each counts, and above the limit there are more rounds.
  const timeOf = async (path, limit) => {
    let [least, reference, time] = [Infinity, Infinity, Infinity];
    for (let round = 0; round < 2 || (round < 12 && time > limit); round += 1) {
      reference = Math.min(reference, await measure("/reference"));
      least = Math.min(least, await measure(path.replace("*", 700 + round)));
      time = Math.round((least * REFERENCE_MS) / reference);
    }
    return time;
  };
  try {
    const dzi = { ...DZI, tileFormat: "png" };
    // The level of which a region takes all 48 tiles.
    const noise = (column, row) => {
      const [columns, lines] = grid(12, dzi);
      const [width, height] = [column === columns - 1 ? 4000 % 512 : 512, row === lines - 1 ? 3000 % 512 : 512];
      const pixels = Buffer.alloc(width * height * 4, 90);
      for (let at = 0; at < Math.min(480_000, pixels.length); at += 1) pixels[at] = (Math.imul(at, 2654435761) >>> 13) & 255;
      return encodePng({ width, height, channels: 4, pixels }, 1);
    };
    const cyrillic = String.fromCharCode(...Array.from({ length: 256 }, (_, at) => 0x400 + at));
    const texts = { cyrillic: documentOf(14, cyrillic), greek: documentOf(9, "ᾷ"), marks: documentOf(14, "\u0301\u0316\u0327"), ligatures: documentOf(14, "\ufdfa"), hits: documentOf(12, "e "), lines: documentOf(1, "e".repeat(8), 8), pages: documentOf(1000, "e", 100) };
    const paths = {};
    for (const [name, text] of Object.entries(texts)) {
      if (name === "pages") for (const page of text.pages) page.blocks[0].lines.length = 1;
      const id = await store(system, `http://example.com/${name}.pdf`, archive((level, ...at) => (level === 12 && name === "hits" ? noise(...at) : "none"), dzi, undefined, text), dzi);
      paths[name] = name === "lines" ? `/iiif/${id}/annotations/1.json` : name === "pages" ? `/iiif/${id}/manifest.json` : `/v1/content/${id}/search?q=${name === "hits" ? "e" : "z"}`;
      if (name === "hits") paths.region = `/iiif/${id}/full/2040,*/0/default.png`;
    }
    await measure("/reference");
    const times = {};
    for (const [name, path] of Object.entries(paths)) {
      const limit = name === "region" ? REGION_MS : SEARCH_MS;
      times[name] = await timeOf(path, limit);
      assert.ok(times[name] <= limit, `${name}: ${times[name]} ms`);
    }
    t.diagnostic(JSON.stringify(times));
  } finally {
    await system.close();
  }
});

test("the costs of containers by load are documented", async () => {
  const MONTH = 730 * 3600;
  const [wait, busy, cpu, megabytes] = [60, 4, 0.54, 4.1]; // the idle time; a start and a job; of the mix in docs/scaling.md
  const rows = [1e3, 1e4, 1e5, 1e6, 1e7].map((conversions) => {
    // Conversions that arrive at random: the share of time in which one has arrived in the last `wait + busy` seconds.
    const awake = 1 - Math.exp((-conversions / MONTH) * (wait + busy));
    const cores = (conversions * cpu) / MONTH;
    const containers = Math.max(awake, cores / (0.6 * INSTANCE.cores));
    const cost = containers * 730 * HOUR + conversions * cpu * CORE_SECOND;
    const egress = (conversions * megabytes * 0.025) / 1000;
    const machines = conversions < 1e6 ? "58, 230" : "230";
    return `| ${conversions.toLocaleString("en")} | ${containers.toFixed(2)} | ${Math.round(cost)} | ${Math.round(egress)} | ${machines} |`;
  });
  assert.ok((await read("docs/scaling.md")).includes(rows.join("\n")), `docs/scaling.md should have:\n${rows.join("\n")}`);
});
