// Keeps a Worker busy, and counts. What the benchmarks of Workers share.

import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";

export const CONNECTIONS = 20;

export const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

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

/** Keeps all connections busy for so long. `url` is an address, or a function that gives one for each request. */
export async function load(url, seconds) {
  const [begin, cpu] = [performance.now(), await cpuTime()];
  let answers = 0;
  async function keepAsking() {
    while (performance.now() < begin + seconds * 1000) {
      await ask(typeof url === "function" ? url() : url);
      answers++;
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, keepAsking));
  const rate = (answers * 1000) / (performance.now() - begin);
  return { answers, rate, cpu: (await cpuTime()) - cpu };
}

/** The median, and where the middle half lies. */
export function middle(figures, digits) {
  const sorted = figures.toSorted((a, b) => a - b);
  const [low, median, high] = [1, 2, 3].map((quarter) => sorted[(sorted.length * quarter) >> 2].toFixed(digits));
  return `${median} (${low} to ${high})`;
}
/** The sum. */
export const sum = (figures) => figures.reduce((sum, figure) => sum + figure, 0);
