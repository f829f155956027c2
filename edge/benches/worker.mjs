// How many requests for a finished content the built Worker answers in a second, beside a minimal one in JavaScript that reads the same
// KV record. Both are in one process, each with a socket of its own, and are asked in short turns: the machine is not equally fast all the time.

import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { PICTURE, PLAIN, start } from "../tests/wire.mjs";

const TURNS = 300;
const SECONDS = 0.1;
const CONNECTIONS = 20;

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

/** Requests a second, with all connections busy for so long. */
async function rate(url, seconds) {
  const begin = performance.now();
  let answers = 0;
  async function keepAsking() {
    while (performance.now() < begin + seconds * 1000) {
      await ask(url);
      answers++;
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, keepAsking));
  return (answers * 1000) / (performance.now() - begin);
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
  await rate(urls[name], 3); // warms up
}

const rates = { edgezoom: [], minimal: [] };
for (let turn = 0; turn < TURNS; turn++) {
  // The one that comes second finds the machine warmer.
  const inTurn = Object.entries(urls);
  for (const [name, url] of turn % 2 ? inTurn.reverse() : inTurn) rates[name].push(await rate(url, SECONDS));
}
const ratios = rates.edgezoom.map((ours, turn) => ours / rates.minimal[turn]);

/** The median, and where the middle half lies. */
function middle(figures, digits) {
  const sorted = figures.toSorted((a, b) => a - b);
  const [low, median, high] = [1, 2, 3].map((quarter) => sorted[(sorted.length * quarter) >> 2].toFixed(digits));
  return `${median} (${low} to ${high})`;
}
for (const [name, figures] of Object.entries(rates)) console.log(`${name.padEnd(9)} ${middle(figures, 0)} requests/s`);
console.log(`ratio     ${middle(ratios, 2)}, the median of ${TURNS} turns of ${SECONDS} s with ${CONNECTIONS} connections`);
agent.destroy();
await edge.close();
