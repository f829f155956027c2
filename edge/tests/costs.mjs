// The most that one client can cause in a day, in dollars: the limits of the code times Cloudflare's prices. `node
// edge/tests/costs.mjs` writes the tables into the documents; `costs.test.mjs` compares them. Each row names the test
// that causes it and counts or measures that it is no more.

import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { parse } from "smol-toml";

const at = (path) => new URL(`../../${path}`, import.meta.url);
export const read = (path) => readFile(at(path), "utf8");

/** Returns the number, or the product, that a source file gives a constant or a field. */
async function constant(path, name) {
  const [, value] = new RegExp(`\\b${name}\\b[^=:;\\n]*(?:: [A-Za-z0-9]+)?\\s*[:=] ?(?:Duration::from_secs\\()?([\\d_]+(?: \\* [\\d_]+)*)`).exec(await read(path)) ?? [];
  if (!value) throw new Error(`${name} is not in ${path}`);
  return value.replaceAll("_", "").split(" * ").reduce((product, factor) => product * Number(factor), 1);
}

const wrangler = parse(await read("wrangler.toml"));
const perDay = (limiter) => 1440 * wrangler.ratelimits.find(({ name }) => name === limiter).simple.limit;
const SCHEDULER = "edge/src/admission/scheduler";
const DAY = 86_400;
const UPLOAD_BYTES = 500e6; // the example in docs/limits.md

/** Processor time in milliseconds: of a request; of a search, the lines of a page or a manifest; of a region; of a megabyte to hash. */
export const [REQUEST_MS, SEARCH_MS, REGION_MS, HASHED_MS] = [2, 350, 500, 5];
/** Bytes that a content leaves: in its object, and in KV. */
export const [OBJECT_BYTES, RECORD_BYTES] = [20_000, 12_000];
/** Rows that the queue in an object writes for an attempt, which is sent, pulled and acknowledged. */
export const QUEUE_ROWS = 6;

/** Cloudflare's prices of an hour of a container with its memory and disk, of a second of a core, and of a gigabyte. */
export const INSTANCE = { cores: 4, gibibytes: 12, gigabytes: 20 }; // standard-4
export const HOUR = 3600 * (INSTANCE.gibibytes * 0.0000025 + INSTANCE.gigabytes * 0.00000007);
export const CORE_SECOND = 0.00002;
const EGRESS = 0.05; // in the dearest region
/** Dollars a month for a gigabyte in the store, in objects, in KV. */
const [IN_STORE, IN_OBJECTS, IN_KV] = [0.015, 0.2, 0.5];

/** Returns what a client may have in a day. */
async function limits() {
  const tiles = Number(wrangler.vars.CLIENT_TILES_A_DAY);
  const attempts = tiles / (await constant(`${SCHEDULER}/mod.rs`, "TILES_OF_AN_ATTEMPT"));
  const slots = (await constant(`${SCHEDULER}/mod.rs`, "ASSUMED_SLOTS")) - 2; // one client leaves two
  const files = await constant("edge/src/uploads/object.js", "FILES_A_DAY");
  const hours = Number(wrangler.vars.CONTAINER_HOURS_A_DAY);
  const containers = Number(/containers \?\? (\d+)/.exec(await read("deploy/cloudflare/settings.mjs"))[1]);
  const [, tilesOfAll] = /TILES_A_DAY: "(\d+)"/.exec(await read("deploy/cloudflare/wrangler.mjs"));
  if (Number(tilesOfAll) !== tiles) throw new Error("one client has another number of tiles than all with containers");
  return {
    requests: perDay("REQUESTS"),
    counted: perDay("CREATIONS"),
    attempts,
    /** Contents that have an attempt or wait for their first. */
    contents: attempts + tiles / (await constant(`${SCHEDULER}/rows.rs`, "TILES_OF_A_JOB")),
    slotSeconds: slots * DAY,
    files: files * (await constant("edge/src/uploads/object.js", "LEAST_PART")),
    megabytes: (files * UPLOAD_BYTES) / 1e6,
    parts: Math.ceil((files * UPLOAD_BYTES) / (5 << 20)),
    deletions: await constant("edge/src/uploads/object.js", "DELETIONS_A_DAY"),
    searches: perDay("RENDERINGS"),
    regions: Number(wrangler.vars.REGIONS_A_DAY) / (await constant("edge/src/admission/renderings.rs", "SHARE")),
    tilesOfARegion: await constant("engine/regions/src/plan.rs", "MAX_TILES"),
    followed: await constant("content/src/conversion/history.rs", "FOLLOWED"),
    stored: (tiles * (await constant("content/src/content.rs", "TILE_BYTES"))) / 1e9,
    hours,
    /** Hours beyond those of the day: each container has this time to finish its jobs, and is destroyed then. */
    hoursAfter: (containers * (await constant("edge/src/containers/fleet.rs", "FAREWELL"))) / 3600,
    pulls: (hours * 3600 * 1000) / (await pollPause()),
    sent: (attempts * (await sentByAPage())) / 1e9,
  };
}

/** Returns the pause between pulls of a tiler in a container, in milliseconds. */
async function pollPause() {
  return Number(/EDGEZOOM_POLL_MS: "(\d+)"/.exec(await read("edge/src/containers/variables.js"))[1]);
}

/** Returns the number of bytes that a web page may send. */
const sentByAPage = async () => Number(/(\d+)_u64 << 20\)\]\s+pub sent:/.exec(await read("tiler/src/browser/limits.rs"))[1]) * 2 ** 20;

const WORST = ["edge/tests/two-clients.test.mjs", "two clients who do their worst"];
const GATE = ["edge/tests/costs.test.mjs", "an attempt in a container costs no more calls, rows and bytes than is assumed"];
const CPU = ["edge/tests/costs.test.mjs", "the worst search, lines, manifest and region take no more processor time than is assumed"];

/**
 * Returns the rows of a day: what it is, the number, the price of a million in dollars, and the file and name of the test
 * that causes it. The last ones are only with containers.
 */
export async function rows() {
  const of = await limits();
  // A tiler claims, reports at most once a second, and reports the end.
  const calls = of.slotSeconds + 2 * of.attempts;
  const messages = 2 * of.requests + 3 * of.counted + 8 * of.attempts + of.slotSeconds;
  const writes = 8 * of.attempts;
  const gate = of.pulls + calls + writes;
  const both = [
    ["requests, those of tilers included", of.requests + calls, 0.3, ["edge/tests/two-clients.test.mjs", "a client has a limit of requests"]],
    ["ms of processor time", REQUEST_MS * (of.requests + calls) + SEARCH_MS * of.searches + REGION_MS * of.regions + HASHED_MS * of.megabytes, 0.02, CPU],
    ["reads of KV", of.requests, 0.5, ["edge/tests/calls.test.mjs", "a finished content takes one read of KV"]],
    ["writes and deletions of KV", 2 * of.attempts + of.deletions, 5, GATE],
    ["reads of the store", 2 * of.requests + of.searches + of.tilesOfARegion * of.regions, 0.36, ["edge/tests/regions.test.mjs", "the worst client costs what is documented"]],
    ["writes and lists of the store", 2 * of.files + 3 * of.parts + writes + 2 * of.deletions, 4.5, WORST],
    ["operations of the queue", 6 * of.attempts, 0.4, WORST],
    ["requests of Durable Objects", messages, 0.15, WORST],
    ["rows that these write", 20 * of.attempts + 6 * of.contents + 2 * of.slotSeconds + 20 * of.files + of.regions, 1, WORST],
    ["GB-s of these", 0.128 * (of.slotSeconds + of.followed * of.contents + 0.01 * messages), 12.5, ["edge/tests/events.test.mjs", "contents that wait keep no stream open"]],
    ["data points", of.requests + 3 * of.attempts + 2 * of.regions, 0.25, ["edge/tests/measurements.test.mjs", "contents are counted by state"]],
    ["lines of logs", 5 * of.attempts, 0.6, GATE],
  ];
  const containers = [
    ["hours of containers, all cores busy", of.hours, 1e6 * (HOUR + 3600 * INSTANCE.cores * CORE_SECOND), ["edge/src/containers/fleet/tests.rs", "when_the_days_time_is_used_up"]],
    ["hours of those that do not end", of.hoursAfter, 1e6 * (HOUR + 3600 * INSTANCE.cores * CORE_SECOND), ["edge/src/containers/fleet/tests.rs", "a_tiler_that_should_end_is_told_again_and_destroyed"]],
    ["GB of tiles, if uploads to the bucket count as egress", of.stored, 1e6 * EGRESS, ["content/src/content.rs", "tiles_count_by_their_bytes"]],
    ["GB that web pages send", of.sent, 1e6 * EGRESS, ["tiler/tests/sources/page/failures.rs", "what_a_page_sends_is_bounded"]],
    ["requests of their gate: pulls, calls, parts", gate, 0.3 + REQUEST_MS * 0.02, GATE],
    ["requests of the queue's object", of.pulls + 6 * of.attempts, 0.15, GATE],
    ["rows that it writes", QUEUE_ROWS * of.attempts, 1, GATE],
    ["GB-s of the Durable Objects, with the containers'", 0.128 * (DAY + of.hours * 3600), 12.5, ["edge/src/containers/fleet/tests.rs", "when_the_days_time_is_used_up"]],
  ];
  const stored = [
    ["tiles", of.stored, IN_STORE, ["content/src/content.rs", "tiles_count_by_their_bytes"]],
    ["objects of contents", (of.contents * OBJECT_BYTES) / 1e9, IN_OBJECTS, GATE],
    ["records in KV", (of.attempts * RECORD_BYTES) / 1e9, IN_KV, GATE],
  ];
  return { both, containers, stored };
}

const dollars = (all) => all.reduce((sum, [, number, price]) => sum + (number * price) / 1e6, 0);
const figure = (number) => (number < 1000 ? Number(number.toPrecision(3)) : Math.round(number)).toLocaleString("en");

/** Returns the sums of a day in dollars, and every text that a document has to have, by the line before it. */
export async function tables() {
  const { both, containers, stored } = await rows();
  const row = ([what, number, price]) => [what, figure(number), price < 1000 ? figure(price) : "", ((number * price) / 1e6).toFixed(2)];
  const [machines, besides] = [dollars(both), dollars(containers)];
  const line = (cells) => `| ${cells.join(" | ")} |`.replaceAll("  ", " ");
  const table = [
    ...both.map((one) => line([...row(one), ""])),
    line(["all with machines", "", "", machines.toFixed(2), ""]),
    ...containers.map((one) => line([...row(one).slice(0, 3), "", row(one)[3]])),
    line(["all with containers", "", "", machines.toFixed(2), besides.toFixed(2)]),
  ];
  const stays = stored.map(([what, number, price]) => line([what, figure(number), price, (number * price).toFixed(2)]));
  // A request that is refused, or that a cache answers: itself, half a millisecond, and a sixteenth of a data point.
  const least = 0.3 + 0.5 * 0.02 + 0.25 / 16;
  const [hours, , tiles, sent] = containers.map((one) => dollars([one]));
  return {
    machines,
    besides,
    least,
    documents: [
      ["docs/limits.md", "| what | in a day | a million | $ | $ more with containers |\n|---|---|---|---|---|\n", table.join("\n")],
      ["docs/limits.md", "| what stays of a day | GB | a GB a month | $ a month |\n|---|---|---|---|\n", stays.join("\n")],
      [
        "docs/operations/guide.md",
        "| a hundred thousand | the same | $76; one container is awake most of the time |\n",
        [
          `| the most that a day can cost | the same | $${besides.toFixed(0)}: ${hours.toFixed(0)} for the hours of containers, ${(tiles + sent).toFixed(0)} for their traffic |`,
          `| besides | the Worker's part, up to [$${Math.ceil(machines)} a day for one client](../limits.md#what-one-client-can-cause) | the same |`,
        ].join("\n"),
      ],
    ],
  };
}

/** Returns a document with a table behind a line in place of the rows there, as many as the table has or more. */
export function written(document, before, text) {
  const start = document.indexOf(before) + before.length;
  if (start < before.length) throw new Error(`no line ${before}`);
  const isTable = /\|---\|\n$/.test(before);
  const rest = document.slice(start).split("\n");
  const old = isTable ? rest.findIndex((line) => !line.startsWith("|")) : text.split("\n").length;
  return document.slice(0, start) + [text, ...rest.slice(old)].join("\n");
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [path, before, text] of (await tables()).documents) await writeFile(at(path), written(await read(path), before, text));
}
