// Chaos with tilers in containers: the same Worker, runtime, stand-in and tiler as in `fleet.mjs`, while containers hang
// at their start, are killed or frozen, and orders for them are lost, by a seed. Every content must be ready with one
// archive; then no container runs, and nothing else is in the store. Arguments: { tiler, pictures, seed, faults }.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { byUrl, startWithContainers } from "../../edge/tests/system.mjs";
import { startEngine } from "./engine.mjs";

const PATIENCE = 600_000;
/** Orders of the runtime that the stand-in refuses, by what the object of a container wants. */
const ORDERS = { start: "POST start", stop: "POST kill", destroy: "DELETE undefined" };

const { tiler, pictures, seed, faults } = JSON.parse(process.argv[2]);
let state = seed;
/** Returns a number below `below`. */
function random(below) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}
const made = { hung: 0, killed: 0, frozen: 0, lost: 0 };
/** Orders that will be refused. */
const armed = [];
const folder = await mkdtemp(join(tmpdir(), "edgezoom-chaos-"));
const socket = join(folder, "docker.sock");
const engine = await startEngine(
  socket,
  () => {
    if (random(5) > 0) return [tiler, "serve"];
    made.hung += 1;
    return ["sleep", "1000"];
  },
  (operation) => {
    const found = armed.indexOf(operation);
    if (found < 0) return false;
    armed.splice(found, 1);
    made.lost += 1;
    return true;
  },
);
const system = await startWithContainers(
  {
    ALLOW_NETWORKS: "127.0.0.0/8",
    CONTAINERS: "3",
    LEASE_SECONDS: "12",
    RETRY_SECONDS: "1,2,3",
    EDGEZOOM_DOCTOR: "off", // this machine is no container
    EDGEZOOM_EXIT_WHEN_IDLE: "3",
    EDGEZOOM_JOBS: "2",
    EDGEZOOM_LOG: "json",
  },
  socket,
);
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const ids = new Set();
const conversion = async (id) => (await system.operate("show", { target: id })).conversion;
const isReady = async (id) => "ready" in (await conversion(id)).state;
async function until(what, check) {
  for (const end = Date.now() + PATIENCE; ; await sleep(100)) {
    if (await check()) return;
    if (Date.now() > end) throw new Error(`${what}: ${JSON.stringify([await system.operate("stats"), made])}`);
  }
}

async function create() {
  for (const [number, picture] of pictures.entries()) {
    const response = await system.fetch(byUrl(picture), { headers: { "CF-Connecting-IP": `192.0.2.${number % 5}` } });
    assert.equal(response.status, 301, await response.clone().text());
    ids.add((await response.json()).id);
    await sleep(random(2000));
  }
}

async function disturb() {
  for (let number = 0; number < faults; number += 1) {
    await sleep(random(3000));
    // The service rightly blames a content whose attempt dies while it is alone on its tiler.
    await until("a last chance", async () => !(await Promise.all([...ids].map(conversion))).some(({ alone, state }) => alone && !("ready" in state)));
    const running = engine.running();
    const [fault, victim] = [random(4), running[random(running.length)]?.process];
    if (fault > 1) armed.push(Object.values(ORDERS)[random(3)]);
    else if (victim) {
      made[fault ? "killed" : "frozen"] += 1;
      victim.kill(fault ? "SIGKILL" : "SIGSTOP");
    }
  }
}

try {
  const begun = Date.now();
  await Promise.all([create(), disturb()]);
  armed.length = 0;
  for (const id of ids) await until(`${id} is ready`, () => isReady(id));
  await until("no container", async () => engine.running().length === 0 && (await system.operate("stats")).containers.containers.length === 0);
  const stored = async () => (await system.pyramids.list({ limit: 1000 })).objects.map(({ key }) => key).sort();
  const expected = await Promise.all([...ids].map(async (id) => `${id}/${(await conversion(id)).state.ready.attempt}.szi`));
  await until("the store has one archive of each", async () => `${await stored()}` === `${expected.sort()}`);
  const { starts } = (await system.operate("stats")).containers;
  await sleep(5000);
  assert.equal((await system.operate("stats")).containers.starts, starts, "nothing starts without work");
  console.log(JSON.stringify({ contents: ids.size, starts, ...made, seconds: Math.round((Date.now() - begun) / 1000) }));
} finally {
  await system.close();
  engine.close();
  await rm(folder, { recursive: true, force: true });
}
