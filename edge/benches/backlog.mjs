// `node edge/benches/backlog.mjs [jobs]`: the memory of the object with the queue in workerd while many jobs wait, the
// time to restore them, and the time for a message. Cloudflare ends an object at 128 MB. The time of a write includes
// the runtime's own storage, which differs from Cloudflare's.

import { readFile, readdir } from "node:fs/promises";
import { start } from "../tests/system.mjs";

const JOBS = Number(process.argv[2] ?? 1_000_000);
const BATCH = 10_000;
const MESSAGES = 50;

/** The Worker, whose object with the queue can be filled, and forget what it has restored. */
const FILLED = `
  import edge, { BacklogObject as Inner } from "./index.js";
  export * from "./index.js"; // except for the class below

  export class BacklogObject extends Inner {
    async fill(from, count) {
      for (let first = from; first < from + count; first += 128) {
        const rows = {};
        for (let number = first; number < Math.min(first + 128, from + count); number += 1) {
          const id = String(number).padStart(11, "0");
          const party = "2001:db8:" + (number % 50000).toString(16);
          rows["job/" + id] = JSON.stringify({ job: { id }, party, host: number % 1000 + ".example", order: number + 1 });
        }
        await this.ctx.storage.put(rows);
      }
    }
  }

  export default {
    queue() {},
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      const backlog = env.BACKLOG.getByName("backlog");
      if (pathname === "/last") return new Response(await backlog.send('"last-report"'));
      if (pathname === "/fill") return new Response(await backlog.fill(Number(searchParams.get("from")), Number(searchParams.get("count"))));
      return edge.fetch(request, env, context);
    },
  };
`;

/** Returns the resident memory of workerd in MB. */
async function memory() {
  for (const process_ of await readdir("/proc")) {
    const status = await readFile(`/proc/${process_}/status`, "utf8").catch(() => "");
    if (/^Name:\s+workerd/m.test(status) && new RegExp(`^PPid:\\s+${process.pid}$`, "m").test(status)) return Number(/^VmRSS:\s+(\d+)/m.exec(status)[1]) / 1024;
  }
  throw new Error("workerd does not run");
}

const system = await start({ BACKLOG_LIMIT: String(4 * JOBS) }, FILLED);
for (let from = 0; from < JOBS; from += BATCH) await system.send(`/fill?from=${from}&count=${Math.min(BATCH, JOBS - from)}`);
const before = await memory();
const report = { messages: 0, capacity: { tiler: 7, slots: 0 } };
const begun = performance.now();
await system.reportBacklog(report);
const restored = performance.now() - begun;
const after = await memory();
/** Returns the milliseconds that a message takes. */
async function time(send) {
  const begun = performance.now();
  for (let number = 0; number < MESSAGES; number += 1) await send();
  return ((performance.now() - begun) / MESSAGES).toFixed(1);
}
const [writing, reading] = [await time(() => system.reportBacklog(report)), await time(() => system.send("/last"))];
console.log(`${JOBS} jobs: restored in ${(restored / 1000).toFixed(1)} s, ${(after - before).toFixed(0)} MB more (${(((after - before) * 2 ** 20) / JOBS).toFixed(0)} bytes a job), ${writing} ms a message that writes, ${reading} ms one that does not`);
await system.close();
