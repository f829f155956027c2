// A batch under chaos: a collection is converted while calls between objects, messages of the queue and reports are lost or
// doubled, tilers are killed, the collection's object is moved, and some URLs are taken down. Every entry must end in the
// journal, as its content does.
//
// `cargo xtask chaos --collection 2000` runs it with more lines, and compares people's waiting times with those of an empty
// service. Tilers are stand-ins that speak the tilers' API and pause instead of converting: `tests/tests/e2e` has real ones.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { DZI } from "./archive.mjs";
import { PATIENCE_MS } from "./patience.mjs";
import { byUrl, eventually, startWith } from "./system.mjs";

/** Returns a function that returns true in a share of its calls. */
const RANDOM = `(state) => (share) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) < share * 2 ** 32`;

/**
 * The Worker with a queue that tilers pull from, whose collections lose and double calls in both directions, and whose
 * operator's object does so with questions for takedowns.
 */
const CHAOTIC = `
  import edge, { CollectionObject as Inner, OperatorObject as Operator } from "./index.js";
  export * from "./index.js"; // except for the classes below

  console.log = () => {};
  let [hits, share] = [undefined, 0];
  const jobs = [];
  const made = { lost: 0, unanswered: 0, doubled: 0 };
  const isHit = (fault) => hits(share) && (made[fault] += 1) > 0;

  async function call(make) {
    if (isHit("lost")) throw new Error("from the test");
    const reply = await make();
    if (isHit("doubled")) await make();
    if (isHit("unanswered")) throw new Error("from the test");
    return reply;
  }

  export class OperatorObject extends Operator {
    takedownOf(asked) {
      return call(() => super.takedownOf(asked));
    }
  }

  export class CollectionObject extends Inner {
    constructor(state, env) {
      const getByName = (name) => ({ send: (message) => call(() => env.CONVERSIONS.getByName(name).send(message)) });
      super(state, { ...env, CONVERSIONS: { getByName } });
    }
    note(message) {
      return call(() => super.note(message));
    }
    move() {
      this.ctx.abort("moved by the test");
    }
  }

  export default {
    queue({ messages }) {
      for (const { body } of messages) if (!isHit("lost")) jobs.push(body, ...(isHit("doubled") ? [body] : []));
    },
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/pull") return Response.json(jobs.splice(0, Number(searchParams.get("jobs"))));
      if (pathname === "/move") return Response.json(await env.COLLECTIONS.getByName("batch").move().catch(() => {}));
      if (pathname !== "/chaos") return edge.fetch(request, env, context);
      share = Number(searchParams.get("share"));
      hits ??= (${RANDOM})(Number(searchParams.get("seed")));
      return Response.json(made);
    },
  };
`;

const { lines: LINES, people: PEOPLE, seed } = { lines: 120, people: 0, seed: 1, ...JSON.parse(process.env.EDGEZOOM_BATCH ?? "{}") };
/** Share of the calls and messages that each fault hits. */
const SHARE = LINES < 1000 ? 0.03 : 0.01;
const KEY = "a key that the test has made: 0123456789";
const TILERS = 4;
const SLOTS = 8;
/** Pause of a stand-in in place of a conversion while people are timed, in milliseconds. */
const CONVERSION = 2000;
const LOOK = 20;
const hits = new Function(`return ${RANDOM}`)()(seed);

let isOver = false;
let conversion = CONVERSION;
const made = { killed: 0, moved: 0 };
let system;
const tilers = Array.from({ length: TILERS }, (_, number) => ({ number, life: 0, jobs: 0 }));
/** The tiler of jobs that have to be alone. It is not killed: the service rightly blames such a job. */
const single = { number: TILERS, life: 0, jobs: 0 };

/** Repeats a call until it has an answer that is no fault of the service. */
async function insist(call) {
  for (let left = 100; ; left -= 1) {
    const answer = await call().catch((error) => ({ status: 0, error }));
    if (answer.status > 0 && answer.status < 500) return answer;
    if (left === 0) throw new Error(`no answer: ${answer.status}`, { cause: answer.error });
    await pause(100);
  }
}

/** Handles a job as a tiler. A tiler that was killed is silent from then on. */
async function convert({ id, alone = false }, tiler) {
  const { life } = tiler;
  tiler.jobs += 1;
  try {
    const claim = await system.claim(id, { tiler: tiler.number, alone });
    if (claim.status === 400) throw new Error(await claim.text());
    if (claim.status !== 200) return; // a surplus message
    const { url, attempt } = await claim.json();
    if (hits(0.2)) await system.report(id, attempt, { progress: { stage: "rendering", progress: 0.5 } });
    await pause(conversion);
    if (tiler.life !== life) return;
    const failure = { code: "source-not-found", message: `There is nothing at ${new URL(url).pathname}.` };
    const later = { failure: { ...failure, code: "source-unreachable" }, retry: { later: {} } };
    const outcome = url.includes("/gone/") ? { "gave-up": { failure } } : url.includes("/later/") && attempt === 1 ? { "gave-up": later } : { finished: { dzi: DZI } };
    await insist(() => system.report(id, attempt, outcome));
    // The answer was lost.
    if (hits(SHARE)) await insist(() => system.report(id, attempt, outcome));
  } finally {
    if (tiler.life === life) tiler.jobs -= 1;
  }
}

async function pull() {
  let alone = Promise.resolve();
  while (!isOver) {
    const free = tilers.flatMap((tiler) => Array(SLOTS - tiler.jobs).fill(tiler));
    const jobs = free.length > 0 ? JSON.parse((await system.send(`/pull?jobs=${free.length}`)).body) : [];
    for (const job of jobs) {
      if (job.alone) alone = alone.then(() => convert(job, single)).catch(() => {});
      else convert(job, free.splice(Math.floor(free.length / 2), 1)[0]).catch(() => {}); // the service repeats what was lost
    }
    if (jobs.length === 0) await pause(LOOK);
  }
}

async function report() {
  for (; !isOver; await pause(1000)) {
    for (const { number } of tilers) await system.reportBacklog({ messages: 0, capacity: { tiler: number, slots: SLOTS } }).catch(() => {});
  }
}

async function disturb() {
  for (let turn = 0; !isOver; turn += 1, await pause(500)) {
    if (turn % 10 === 2) {
      const victim = tilers[made.killed % TILERS];
      [victim.life, victim.jobs] = [victim.life + 1, 0];
      made.killed += 1;
    } else if (turn % 10 === 5) {
      await system.send("/move");
      made.moved += 1;
    }
  }
}

const urlOf = (number) => `https://host-${number % Math.ceil(LINES / 20)}.batch.example/${number % 20 === 7 ? "gone" : number % 20 === 8 ? "later" : "kept"}/${number}.jpg`;
const isRemoved = (number) => number % 100 === 50;
const isEdited = (number) => number % 50 === 1;
const isTakenDown = (number) => number % 15 === 4 && number < 300;

async function call(method, path, body) {
  const answer = await insist(() => system.request(`/v1/collections/batch${path}`, { method, headers: { Authorization: `Bearer ${KEY}` }, body }));
  const text = await answer.text();
  assert.ok(answer.status < 300, text);
  return text;
}
const read = async () => JSON.parse(await call("GET", ""));

/** Sends lines as JSON, some of them twice, as a client does that has got no answer. */
async function add(lines) {
  const size = Math.min(10_000, Math.ceil(LINES / 7));
  for (let from = 0; from < lines.length; from += size) {
    const part = lines.slice(from, from + size);
    for (let times = hits(0.3) ? 2 : 1; times > 0; times -= 1) {
      const { accepted, refused } = JSON.parse(await call("POST", "/entries", part.map((line) => JSON.stringify(line)).join("\n")));
      assert.deepEqual([accepted, refused], [part.length, []]);
    }
  }
}

/** A reader of the journal that goes on from the last change that it has seen. */
class Reader {
  entries = new Map();
  after = 0;

  async goOn() {
    for (let isLast = false; !isLast; ) {
      const page = (await call("GET", `/entries?after=${this.after}`)).split("\n").filter(Boolean).map((line) => JSON.parse(line));
      for (const entry of page) {
        assert.ok(entry.seq > this.after, "the journal is in order");
        this.after = entry.seq;
        this.entries.set(entry.number, entry);
      }
      isLast = page.length < 1000;
    }
    return this.entries;
  }
}

/** Starts a receiver of notices that fails now and then, and never twice in a row: the second pause is five minutes. */
async function receiver(received) {
  let hasFailed = false;
  const server = createServer(async (request, response) => {
    const { data } = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString());
    hasFailed = !hasFailed && hits(0.3);
    if (!hasFailed) received.push(data);
    if (hasFailed && hits(0.5)) request.socket.destroy();
    else response.writeHead(hasFailed ? 500 : 204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Asks for pictures as people do, one after the other. Returns the median of the times in which they are ready, in milliseconds. */
async function wait(people) {
  const times = [];
  for (const person of Array(people).keys()) {
    const begun = performance.now();
    const headers = { "CF-Connecting-IP": `198.51.100.${person}` };
    const asked = await system.request(byUrl(`https://person.example/${begun}`), { headers });
    const { id } = await asked.json();
    while (!(await system.find(id)).ready) await pause(LOOK);
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[Math.floor(people / 2)];
}

/** Compares an entry with the end that its number gives it, and with its content. */
function assertEnd({ number, state, failure, url }, { status, content }) {
  const index = number - 1;
  assert.equal(url, urlOf(index));
  // A content whose turn had not come was never created.
  if (isRemoved(index)) return assert.ok(state === "removed" && [404, 410].includes(status), `${url}: ${state} ${status}`);
  if (isTakenDown(index)) return assert.deepEqual([state, status], ["taken-down", 410], url);
  const isGone = url.includes("/gone/");
  assert.deepEqual([state, failure?.code], isGone ? ["failed", "source-not-found"] : ["ready", undefined], url);
  // A request starts a failed content again after ten minutes.
  assert.deepEqual([status, content.ready, content.url], [200, !isGone, url]);
  if (!isGone) assert.equal(content.title, isEdited(index) ? "Edited" : "Draft");
}

/** Asks for every entry's content. Removals and edits may still be on the way. */
async function compare(entries) {
  const left = [...entries.values()];
  const asked = async ({ id }) => {
    const answer = await insist(() => system.request(`/v1/content/${id}`));
    return { status: answer.status, content: answer.status === 200 ? await answer.json() : undefined };
  };
  const ask = async () => {
    for (let entry = left.pop(); entry; entry = left.pop()) {
      for (const end = Date.now() + PATIENCE_MS; ; await pause(500)) {
        try {
          assertEnd(entry, await asked(entry));
          break;
        } catch (error) {
          if (Date.now() > end) throw error;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, ask));
}

/** Takes URLs down while their entries wait, convert or are ready. */
async function takeDown(numbers) {
  for (const number of numbers) {
    await system.operate("takedown", { target: urlOf(number), reason: "From the test." });
    await pause(300);
  }
}

/** Converts the batch amid faults, while a reader follows its journal. */
async function run(notify, reader, say) {
  const numbers = [...Array(LINES).keys()];
  const alone = await wait(PEOPLE);
  await call("PUT", "", JSON.stringify({ notify }));
  await system.send(`/chaos?share=${SHARE}&seed=${seed}`);
  await add(numbers.map((number) => ({ url: urlOf(number), title: "Draft" })));
  const chaos = disturb();
  const down = numbers.filter(isTakenDown);
  const takedowns = takeDown(down);
  if (PEOPLE > 0) {
    while ((await read()).counts.ready === 0) await pause(LOOK);
    const beside = await wait(PEOPLE);
    say(`a person's picture: ${alone.toFixed(0)} ms alone, ${beside.toFixed(0)} ms beside the batch, ratio ${(beside / alone).toFixed(2)}`);
  }
  conversion = 0;
  const changed = numbers.filter((number) => isRemoved(number) || isEdited(number));
  await add(changed.map((number) => ({ url: urlOf(number), ...(isRemoved(number) ? { remove: true } : { title: "Edited" }) })));
  for (let [left, shown] = [LINES, Infinity]; left > 0; await pause(200)) {
    const { counts } = await read();
    left = counts.waiting + counts.converting + down.length - counts["taken-down"];
    await reader.goOn();
    if (left > shown - LINES / 20) continue;
    shown = left;
    say(`${Math.round(performance.now() / 1000)} s: ${left} of ${LINES} entries left, ${JSON.stringify(made)}`);
  }
  await takedowns;
  isOver = true;
  await chaos;
}

/** Compares what a reader and the receiver of notices have seen with the journal, and this with every content. */
async function judge(reader, received) {
  const entries = await new Reader().goOn();
  assert.deepEqual([...(await reader.goOn())].sort(), [...entries].sort(), "a reader who goes on knows the same");
  assert.deepEqual([...entries.keys()].sort((a, b) => a - b), Array.from({ length: LINES }, (_, index) => index + 1));
  assert.equal(new Set([...entries.values()].map(({ id }) => id)).size, LINES);
  await compare(entries);
  const isTold = async () => {
    const { last, notices } = await read();
    return notices.after === last && !notices.off && last;
  };
  const last = await eventually(isTold);
  let told = 0;
  for (const notice of received) {
    assert.ok(notice.after <= told, `no notice has the changes from ${told} to ${notice.after}`);
    told = Math.max(told, notice.last);
  }
  assert.equal(told, last);
}

test(`every one of ${LINES} entries has its end, whatever is lost`, { timeout: process.env.EDGEZOOM_BATCH ? 1e8 : undefined }, async (context) => {
  const say = (text) => (process.env.EDGEZOOM_BATCH ? console.log(text) : context.diagnostic(text));
  const [received, reader] = [[], new Reader()];
  const server = await receiver(received);
  system = await startWith({ bindings: { ALLOW_NETWORKS: "127.0.0.1/32", LEASE_SECONDS: "6", RETRY_SECONDS: "1,2,3" }, entry: CHAOTIC });
  await system.send(`/chaos?share=0&seed=${seed}`);
  const tilersWork = [pull(), report()];
  try {
    await run(`http://127.0.0.1:${server.address().port}/`, reader, say);
    await Promise.all(tilersWork);
    const lost = await (await system.request("/chaos?share=0")).json();
    await judge(reader, received);
    say(JSON.stringify({ ...made, ...lost, notices: received.length }));
    assert.ok(Object.values({ ...made, ...lost }).every((number) => number > 0), "every kind of fault hit something");
  } finally {
    isOver = true;
    await system.close();
    server.close();
  }
});
