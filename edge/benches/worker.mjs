// Requests a second and CPU time a request of the built Worker for a finished content, beside a minimal Worker in
// JavaScript that reads the same value of KV; and the time from a new isolate to its first response. Both Workers are
// in one process, each with a socket of its own, and take short turns, because the machine is not equally fast all the
// time.

import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { PICTURE, PLAIN, start } from "../tests/wire.mjs";
import { startTimes } from "./start.mjs";

const TURNS = 300;
const SECONDS = 0.1;
const CONNECTIONS = 20;
const ISOLATES = 40;

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

function ask(url) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.on("end", resolve).on("error", reject).resume();
    });
    asked.on("error", reject).end();
  });
}

/** The runtime's CPU time so far, in microseconds: of workerd, our only child. A tick of Linux has 10 ms. */
async function cpuTime() {
  const [child] = (await readFile(`/proc/self/task/${process.pid}/children`, "utf8")).split(" ");
  const fields = (await readFile(`/proc/${child}/stat`, "utf8")).split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Keeps all connections busy for so long. */
async function load(url, seconds) {
  const [begin, cpu] = [performance.now(), await cpuTime()];
  let answers = 0;
  async function keepAsking() {
    while (performance.now() < begin + seconds * 1000) {
      await ask(url);
      answers++;
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, keepAsking));
  const rate = (answers * 1000) / (performance.now() - begin);
  return { answers, rate, cpu: (await cpuTime()) - cpu };
}

const minimal = {
  name: "minimal",
  modules: true,
  script: await readFile(new URL("minimal.js", import.meta.url), "utf8"),
};
const edge = await start({}, PLAIN, minimal);
const id = await edge.content("http://example.com/finished.jpg", "ready");
const urls = {};
for (const [name, address] of Object.entries(edge.addresses)) {
  urls[name] = `${address}/v1/content/${id}`;
  const { dzi } = await (await fetch(urls[name])).json();
  if (dzi.width !== PICTURE.width) throw new Error(`${name} answers something else`);
  await load(urls[name], 3); // warms up
}

const turns = { edgezoom: [], minimal: [] };
for (let turn = 0; turn < TURNS; turn++) {
  // The one that comes second finds the machine warmer.
  const inTurn = Object.entries(urls);
  for (const [name, url] of turn % 2 ? inTurn.reverse() : inTurn) turns[name].push(await load(url, SECONDS));
}

/** The median, and where the middle half lies. */
function middle(figures, digits) {
  const sorted = figures.toSorted((a, b) => a - b);
  const [low, median, high] = [1, 2, 3].map((quarter) => sorted[(sorted.length * quarter) >> 2].toFixed(digits));
  return `${median} (${low} to ${high})`;
}
const sum = (figures) => figures.reduce((sum, figure) => sum + figure, 0);
const cost = (name) => sum(turns[name].map(({ cpu }) => cpu)) / sum(turns[name].map(({ answers }) => answers));
for (const [name, all] of Object.entries(turns)) {
  const rates = middle(all.map(({ rate }) => rate), 0);
  console.log(`${name.padEnd(9)} ${rates} requests/s, ${cost(name).toFixed(0)} us of CPU time a request`);
}
const ratios = turns.edgezoom.map(({ rate }, turn) => rate / turns.minimal[turn].rate);
console.log(`ratio     ${middle(ratios, 2)} of the rates, ${(cost("minimal") / cost("edgezoom")).toFixed(2)} of the costs`);
console.log(`          ${TURNS} turns of ${SECONDS} s each, with ${CONNECTIONS} connections`);
agent.destroy();
await edge.close();

for (const [name, times] of Object.entries(await startTimes(minimal.script, ISOLATES))) {
  console.log(`${name.padEnd(9)} ${middle(times, 1)} ms from a new isolate to its first response, of ${ISOLATES}`);
}
