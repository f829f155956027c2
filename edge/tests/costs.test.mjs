// What one client can cause in a day, in dollars: the limits of the code times Cloudflare's prices are the table in
// docs/limits.md. `two-clients.test.mjs` checks with the whole Worker that a request causes no more than is assumed
// here.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "smol-toml";

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
/** Returns the number that a source file gives a constant or a field. */
async function constant(path, name) {
  const [, value] = new RegExp(`\\b${name}\\b[^=:;\\n]*(?:: [A-Za-z0-9]+)?\\s*[:=] ?(?:Duration::from_secs\\()?([\\d_]+)`).exec(await read(path)) ?? [];
  assert.ok(value, `${name} is not in ${path}`);
  return Number(value.replaceAll("_", ""));
}

const wrangler = parse(await read("wrangler.toml"));
const perDay = (limiter) => 1440 * wrangler.ratelimits.find(({ name }) => name === limiter).simple.limit;
const SCHEDULER = "edge/src/admission/scheduler";
const DAY = 86_400;
const UPLOAD_BYTES = 500e6; // the example in docs/limits.md

/** What a client may have in a day. */
async function limits() {
  const tiles = Number(wrangler.vars.CLIENT_TILES_A_DAY);
  const attempts = tiles / (await constant(`${SCHEDULER}/mod.rs`, "TILES_OF_AN_ATTEMPT"));
  const slots = (await constant(`${SCHEDULER}/mod.rs`, "ASSUMED_SLOTS")) - 2; // one client leaves two
  const files = await constant("edge/src/uploads/object.js", "FILES_A_DAY");
  return {
    requests: perDay("REQUESTS"),
    counted: perDay("CREATIONS"),
    attempts,
    /** Contents that have an attempt or wait for their first. */
    contents: attempts + tiles / (await constant(`${SCHEDULER}/rows.rs`, "TILES_OF_A_JOB")),
    slotSeconds: slots * DAY,
    files: files * (await constant("edge/src/uploads/object.js", "LEAST_PART")),
    parts: Math.ceil((files * UPLOAD_BYTES) / (5 << 20)),
    deletions: await constant("edge/src/uploads/object.js", "DELETIONS_A_DAY"),
    searches: perDay("RENDERINGS"),
    regions: Number(wrangler.vars.REGIONS_A_DAY) / (await constant("edge/src/admission/renderings.rs", "SHARE")),
    tilesOfARegion: await constant("engine/regions/src/plan.rs", "MAX_TILES"),
    followed: await constant("content/src/conversion/history.rs", "FOLLOWED"),
  };
}

/** The rows of the table: the number in a day, and the price of a million in dollars. */
function metered({ requests, counted, attempts, contents, slotSeconds, files, parts, deletions, searches, regions, tilesOfARegion, followed }) {
  // A tiler claims, reports at most once a second, and reports the end.
  const calls = slotSeconds + 2 * attempts;
  const messages = 2 * requests + 3 * counted + 8 * attempts + slotSeconds;
  return {
    "requests, those of tilers included": [requests + calls, 0.3],
    "ms of processor time": [2 * (requests + calls) + 300 * (searches + regions), 0.02],
    "reads of KV": [requests, 0.5],
    "writes and deletions of KV": [2 * attempts + deletions, 5],
    "reads of the store": [2 * requests + searches + tilesOfARegion * regions, 0.36],
    "writes and lists of the store": [2 * files + 3 * parts + 8 * attempts + 2 * deletions, 4.5],
    "operations of the queue": [6 * attempts, 0.4],
    "requests of Durable Objects": [messages, 0.15],
    "rows that these write": [20 * attempts + 6 * contents + 2 * slotSeconds + 20 * files + regions, 1],
    "GB-s of these": [Math.round(0.128 * (slotSeconds + followed * contents + 0.01 * messages)), 12.5],
    "data points": [requests + 3 * attempts + 2 * regions, 0.25],
    "lines of logs": [5 * attempts, 0.6],
  };
}

test("the worst day of one client costs what is documented, and at most $15", async () => {
  const expected = Object.entries(metered(await limits())).map(([what, [number, price]]) => {
    const dollars = (number * price) / 1e6;
    return { row: `| ${what} | ${Math.round(number).toLocaleString("en")} | ${price} | ${dollars.toFixed(2)} |`, dollars };
  });
  const total = expected.reduce((sum, { dollars }) => sum + dollars, 0);
  const table = [...expected.map(({ row }) => row), `| all | | | ${total.toFixed(2)} |`].join("\n");
  const documented = await read("docs/limits.md");
  assert.ok(documented.includes(table), `docs/limits.md should have:\n${table}`);
  assert.ok(total <= 15, `${total}`);
  // A request that is refused, or that a cache answers: itself, half a millisecond, and a sixteenth of a data point.
  const least = 0.3 + 0.5 * 0.02 + 0.25 / 16;
  assert.ok(documented.includes(`$${least.toFixed(2)} a million`), least.toFixed(2));
});

// Containers: Cloudflare's prices of an hour of one with its memory and disk, and of a second of a core.
const INSTANCE = { cores: 4, gibibytes: 12, gigabytes: 20 }; // standard-4
const HOUR = 3600 * (INSTANCE.gibibytes * 0.0000025 + INSTANCE.gigabytes * 0.00000007);
const CORE_SECOND = 0.00002;
const EGRESS = 0.05; // a gigabyte, in the dearest region

test("the worst day of the containers costs what is documented", async () => {
  const hours = Number(wrangler.vars.CONTAINER_HOURS_A_DAY);
  const text = async (path, name) => Number(new RegExp(`${name}: "(\\d+)"`).exec(await read(path))[1]);
  const tiles = await text("deploy/cloudflare/wrangler.mjs", "TILES_A_DAY");
  const stored = tiles * (await constant("content/src/content.rs", "TILE_BYTES"));
  const attempts = tiles / (await constant(`${SCHEDULER}/mod.rs`, "TILES_OF_AN_ATTEMPT"));
  const [, mebibytes] = /(\d+)_u64 << 20\)\]\s+pub sent:/.exec(await read("tiler/src/browser/limits.rs"));
  const calls = 3600 * hours * (1000 / (await text("edge/src/containers/variables.js", "EDGEZOOM_POLL_MS")));
  const rows = [
    ["hours of containers, all cores busy", hours, HOUR + 3600 * INSTANCE.cores * CORE_SECOND],
    ["gigabytes of tiles, if uploads to the bucket count as egress", stored / 1e9, EGRESS],
    ["gigabytes that web pages send", Math.round((attempts * mebibytes * 2 ** 20) / 1e9), EGRESS],
    ["pulls, each a request of the Worker and of a Durable Object", calls, 0.45e-6],
  ].map(([what, number, price]) => ({ row: `| ${what} | ${number.toLocaleString("en")} | ${(number * price).toFixed(2)} |`, dollars: number * price }));
  const total = rows.reduce((sum, { dollars }) => sum + dollars, 0);
  const table = [...rows.map(({ row }) => row), `| all | | ${total.toFixed(2)} |`].join("\n");
  assert.ok((await read("docs/limits.md")).includes(table), `docs/limits.md should have:\n${table}`);
  assert.ok(total <= 25, `${total}`);
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
