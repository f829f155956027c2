// Requests a second and CPU time a request of the built Worker for a finished content, beside a minimal Worker in
// JavaScript that reads the same value of KV; and the time from a new isolate to its first response. Both Workers are
// in one process, each with a socket of its own, and take short turns, because the machine is not equally fast all the
// time.

import { readFile } from "node:fs/promises";
import { agent, CONNECTIONS, load, middle, sum } from "./load.mjs";
import { PICTURE, PLAIN, start } from "../tests/system.mjs";
import { startTimes } from "./start.mjs";

const TURNS = 300;
const SECONDS = 0.1;
const ISOLATES = 40;

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
