// The Worker with tilers in containers, from none to two and back to none: the runtime's real `ctx.container` over a
// stand-in for Docker's API (`engine.mjs`), and the real tiler. Some containers hang at their start, others are killed
// or frozen at any moment. Arguments: { tiler, pictures, slow }, of which `tiler` is the program, `pictures` are URLs to
// convert, and `slow` a URL that takes seconds. Reports times in milliseconds.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { byUrl, startWithContainers } from "../../edge/tests/system.mjs";
import { startEngine } from "./engine.mjs";

/** Time without a report after which a tiler loses its job, in seconds: longer than between two reports. */
const LEASE = 12;
/** Time without a job after which a tiler leaves, in seconds. */
const IDLE = 3;
const PATIENCE = 240_000;

const { tiler, pictures, slow } = JSON.parse(process.argv[2]);
const folder = await mkdtemp(join(tmpdir(), "edgezoom-containers-"));
const socket = join(folder, "docker.sock");
// The second container hangs: its tiler never reports.
const engine = await startEngine(socket, (number) => (number === 1 ? ["sleep", "1000"] : [tiler, "serve"]));
const system = await startWithContainers(
  {
    ALLOW_NETWORKS: "127.0.0.0/8",
    CONTAINERS: "2",
    LEASE_SECONDS: `${LEASE}`,
    EDGEZOOM_EXIT_WHEN_IDLE: `${IDLE}`,
    EDGEZOOM_DOCTOR: "off", // this machine is no container
    EDGEZOOM_JOBS: "2",
    EDGEZOOM_LOG: "json",
  },
  socket,
);
/** Creates a content for a client of its own. Returns its id. */
const create = async (url, number = 0) => {
  const response = await system.fetch(byUrl(url), { headers: { "CF-Connecting-IP": `192.0.2.${number}` } });
  assert.equal(response.status, 301, await response.clone().text());
  return (await response.json()).id;
};
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
async function until(what, check) {
  for (const end = Date.now() + PATIENCE; ; await sleep(20)) {
    const result = await check();
    if (result) return result;
    if (Date.now() > end) throw new Error(`${what}: ${JSON.stringify(await system.operate("stats"))}`);
  }
}
const stateOf = async (id) => Object.keys((await system.operate("show", { target: id })).conversion.state)[0];
const isClaimed = async (id) => (await stateOf(id)) !== "queued";

try {
  await sleep(1000);
  assert.equal(engine.starts.length, 0, "nothing runs without work");

  // The first job starts the first container; a second job finds a tiler that waits.
  const begun = Date.now();
  const first = await create(pictures[0]);
  await until("the first start", () => engine.starts.length === 1);
  const ordered = engine.starts[0].at - begun;
  await until("the first content", async () => (await stateOf(first)) === "ready");
  const cold = Date.now() - begun;
  const warm = [];
  for (const picture of pictures.slice(1, 6)) {
    const sent = Date.now();
    const id = await create(picture);
    await until("a claim", () => isClaimed(id));
    warm.push(Date.now() - sent);
    await until("a content", async () => (await stateOf(id)) === "ready");
    await sleep(137);
  }

  // A backlog starts a second one, which hangs and is destroyed.
  const half = pictures.length / 2;
  const ids = [first, await create(slow, 9)];
  const add = async (from, until) => {
    for (let number = from; number < until; number += 1) ids.push(await create(pictures[number], 1 + (number % 5)));
  };
  await add(1, half);
  await until("a second start", () => engine.starts.length === 2);
  assert.equal(engine.running().length, 2);
  await until("the end of what hangs", () => engine.starts[1].process.signalCode);

  // With the next one, one of two is killed and the other frozen, whatever they do.
  await add(half, pictures.length);
  const two = await until("two tilers", () => engine.running().length === 2 && engine.running());
  await sleep(Math.random() * 3000);
  two[0].process.kill("SIGKILL");
  await sleep(Math.random() * 3000);
  two[1].process.kill("SIGSTOP");
  for (const id of ids) await until(`${id} is ready`, async () => (await stateOf(id)) === "ready");

  // Back to none. What is frozen counts until it is destroyed.
  await until("no container", () => engine.running().length === 0);
  const archives = (await system.pyramids.list({ limit: 1000 })).objects.map(({ key }) => key).filter((key) => key.endsWith(".szi"));
  assert.deepEqual(archives.map((key) => key.split("/")[0]).sort(), [...new Set(ids)].sort(), "each has one archive");
  const { containers } = await system.operate("stats");
  assert.deepEqual(containers.containers, []);
  const { starts } = containers;
  await sleep(3000);
  assert.equal(engine.starts.length, starts, "nothing starts without work");
  console.log(JSON.stringify({ contents: new Set(ids).size, starts, ordered, cold, warm }));
} finally {
  await system.close();
  engine.close();
  await rm(folder, { recursive: true, force: true });
}
