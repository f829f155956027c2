// A client in a process of its own: keeps so many connections busy with one URL for so long, and says how many answers came.
// usage: node load.mjs <url> <connections> <seconds>

import { Agent, request } from "node:http";

const [url, connections, seconds] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const end = performance.now() + seconds * 1000;
let answers = 0;

function ask() {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.on("end", resolve).on("error", reject).resume();
    });
    asked.on("error", reject).end();
  });
}

async function keepAsking() {
  while (performance.now() < end) {
    await ask();
    answers++;
  }
}

await Promise.all(Array.from({ length: connections }, keepAsking));
agent.destroy();
console.log(answers / seconds);
