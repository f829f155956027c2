// Maintenance, overload and clients over their limits: new contents get 503, existing ones are served.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundTests } from "./around.mjs";
import { PICTURE, byUrl, eventually, start, startWithClock } from "./system.mjs";

const CAPACITY = { tiler: 7, slots: 16 };
let system;
aroundTests(async () => (system = await startWithClock({ BACKLOG_LIMIT: "1000" })), () => system.close());

async function refused(target, init) {
  const answer = await system.send(target, init);
  assert.deepEqual([answer.status, answer.type], [503, "text/plain; charset=utf-8"]);
  assert.ok(Number(answer.headers.get("retry-after")) > 0);
  const wrapped = JSON.parse((await system.send(`${target}&format=json`, init)).body);
  assert.equal(wrapped.status, 503);
  assert.equal(wrapped.retryAfter, Number(answer.headers.get("retry-after")));
  return answer;
}

test("over the backlog's limit new contents are refused, and existing ones are served", async () => {
  const known = await system.content("http://example.com/known.jpg", "queued");
  const ready = await system.content("http://example.com/ready.jpg", "ready");
  assert.equal((await system.reportBacklog({ messages: 1001, capacity: CAPACITY })).status, 204);
  assert.match((await refused(byUrl("http://example.com/new.jpg"))).body, /overloaded/);
  assert.equal((await system.send(byUrl("http://example.com/known.jpg"))).status, 301);
  assert.equal((await system.send(byUrl("http://example.com/ready.jpg"))).status, 301);
  assert.equal((await system.send(`/v1/content/${known}`)).status, 200);
  assert.equal((await system.send(`/v1/content/${ready}`)).status, 200);
  const home = await system.send("/?url=http%3A%2F%2Fexample.com%2Fnew.jpg");
  assert.deepEqual([home.status, home.headers.get("retry-after")], [503, "60"]);

  assert.equal((await system.reportBacklog({ messages: 1000, capacity: CAPACITY })).status, 204);
  assert.equal((await system.send(byUrl("http://example.com/new.jpg"))).status, 301);
  assert.equal((await system.reportBacklog({ messages: 0, capacity: CAPACITY })).status, 204);
});

test("only tilers report the backlog", async () => {
  const body = JSON.stringify({ messages: 1000, capacity: CAPACITY });
  assert.equal((await system.send("/internal/backlog", { method: "POST", body })).status, 401);
  assert.equal((await system.send("/internal/backlog")).status, 405);
  for (const wrong of [{}, { messages: 1 }, { messages: -1, capacity: CAPACITY }, { messages: "many", capacity: CAPACITY }, []]) {
    assert.equal((await system.reportBacklog(wrong)).status, 400);
  }
});

test("a tiler learns the number of tilers", async () => {
  const counted = await start({});
  for (const [tiler, tilers] of [[1, "1"], [2, "2"], [1, "2"]]) {
    const reported = await counted.reportBacklog({ messages: 0, capacity: { tiler, slots: 2 } });
    assert.deepEqual([reported.status, reported.headers.get("edgezoom-tilers")], [204, tilers]);
  }
  await counted.close();
});

test("a client over its limit is refused, others are not, and existing contents do not count", async () => {
  const from = (address) => ({ headers: { "CF-Connecting-IP": address } });
  const client = "203.0.113.7";
  for (let created = 0; created < 20; created += 1) {
    assert.equal((await system.send(byUrl(`http://example.com/${client}/${created}`), from(client))).status, 301);
  }
  assert.match((await refused(byUrl("http://example.com/more"), from(client))).body, /a minute/);
  assert.equal((await system.send(byUrl(`http://example.com/${client}/0`), from(client))).status, 301);
  assert.equal((await system.send(byUrl("http://example.com/more"), from("203.0.113.8"))).status, 301);
});

test("requests without an address, or from the machine itself, count as one client unless a developer says otherwise", async () => {
  const production = await startWithClock({ DEVELOPMENT: "off" });
  // The runtime of the tests states 127.0.0.1 where there is no address.
  const headers = [{}, { "CF-Connecting-IP": "127.0.0.1" }];
  let created = 0;
  while (created < 60 && (await production.send(byUrl(`http://example.com/${created}`), { headers: headers[created % 2] })).status === 301) created += 1;
  assert.equal(created, 20);
  await production.close();
});

test("IPv6 addresses are counted by their /64, /56 and /48 networks", async () => {
  const created = async (count, address) => {
    let created = 0;
    for (let number = 0; number < count; number++) {
      const from = { headers: { "CF-Connecting-IP": address(number) } };
      created += (await system.send(byUrl(`http://example.com/${address(number)}/${number}`), from)).status === 301;
    }
    return created;
  };
  // The limits are 20, 30 and 40 (system.mjs).
  const counts = [
    await created(25, (number) => `2001:db8:1:100::${number}`),
    await created(15, (number) => `2001:db8:1:1${10 + number}::1`),
    await created(25, (number) => `2001:db8:1:${10 + number}00::1`),
  ];
  assert.deepEqual(counts, [20, 10, 10], "/64, /56 and /48; refused requests do not count");
  assert.equal(await created(1, () => "2001:db8:4::1"), 1, "another /48");
});

test("a client's jobs wait in its line, another client's job is sent at once, and results make room", async () => {
  const flooded = await start({ BACKLOG_LIMIT: "20" });
  const from = (address) => ({ headers: { "CF-Connecting-IP": address } });
  const capacity = { tiler: 7, slots: 5 };
  assert.equal((await flooded.reportBacklog({ messages: 0, capacity })).status, 204);
  const ids = [];
  let refused;
  for (let number = 0; !refused; number++) {
    const answer = await flooded.send(byUrl(`http://a${number}.example/`), from(`2001:db8:1:${number}::1`));
    if (answer.status === 301) ids.push(JSON.parse(answer.body).id);
    else refused = answer;
  }
  assert.equal(ids.length, 3 + 11, "three are sent, and half of the backlog waits");
  assert.match(refused.body, /too many contents waiting/);
  const other = await flooded.send(byUrl("http://b.example/"), from("203.0.113.8"));
  assert.equal(other.status, 301);
  const { id } = JSON.parse(other.body);
  const jobs = () => flooded.seen().then(({ jobs }) => jobs);
  await eventually(async () => (await jobs()).includes(id));
  assert.deepEqual(await jobs(), [...ids.slice(0, 3), id]);

  // The first result frees the slot that the two clients together leave to a third.
  for (const done of ids.slice(0, 2)) {
    await flooded.claim(done);
    await flooded.report(done, 1, { finished: { dzi: PICTURE } });
  }
  await eventually(async () => (await jobs()).length === 5);
  assert.equal((await jobs())[4], ids[3], "the next one in line");
  await flooded.close();
});

test("a client has a daily budget of tiles", async () => {
  const frugal = await start({ CLIENT_TILES_A_DAY: "250" });
  const from = (address) => ({ headers: { "CF-Connecting-IP": address } });
  const { body } = await frugal.send(byUrl("http://example.com/a"), from("203.0.113.7"));
  const { id } = JSON.parse(body);
  await frugal.claim(id);
  await frugal.report(id, 1, { finished: { dzi: PICTURE } }); // 266 tiles
  await eventually(async () => {
    const answer = await frugal.send(byUrl("http://example.com/b"), from("203.0.113.7"));
    return answer.status === 503 && answer.body.includes("today's tile limit") && answer.headers.get("retry-after") === "3600";
  });
  const other = await frugal.send(byUrl("http://example.com/b"), from("203.0.113.8"));
  assert.equal(other.status, 301);
  // An attempt that is lost counts what it has rendered, and the next one counts again.
  const again = JSON.parse(other.body).id;
  await frugal.claim(again);
  await frugal.report(again, 1, { progress: { stage: "rendering", progress: 0.9, tiles: 240 } });
  const failure = { code: "internal", message: "Its renderer was killed." };
  assert.equal((await frugal.report(again, 1, { "gave-up": { failure, retry: "elsewhere" } })).status, 204);
  assert.match((await frugal.send(byUrl("http://example.com/c"), from("203.0.113.8"))).body, /today's tile limit/);
  await frugal.close();
});

test("queued pictures of twenty gigapixels wait until the next day when the client's tiles are used up", async () => {
  const frugal = await start({ CLIENT_TILES_A_DAY: "100000" });
  const from = (address) => ({ headers: { "CF-Connecting-IP": address } });
  await frugal.reportBacklog({ messages: 0, capacity: { tiler: 7, slots: 2 } });
  const ask = async (name, address) => JSON.parse((await frugal.send(byUrl(`http://${name}.example/`), from(address))).body).id;
  const [first, second] = [await ask("a", "203.0.113.7"), await ask("b", "203.0.113.7")];
  const jobs = async () => (await frugal.seen()).jobs;
  await eventually(async () => (await jobs()).includes(first));
  await frugal.claim(first);
  const progress = { stage: "rendering", progress: 0.3, tiles: 80_000 };
  assert.equal((await frugal.report(first, 1, { progress })).status, 204);
  assert.equal(await ask("c", "203.0.113.7") !== undefined, true, "80,400 are expected");
  await frugal.report(first, 1, { progress: { ...progress, tiles: 100_000 } });
  assert.match((await frugal.send(byUrl("http://d.example/"), from("203.0.113.7"))).body, /today's tile limit/);
  // 105,000 tiles.
  await frugal.report(first, 1, { finished: { dzi: { ...PICTURE, width: 170_000, height: 120_000 } } });
  const other = await ask("other", "203.0.113.8");
  await eventually(async () => (await jobs()).includes(other));
  assert.deepEqual(await jobs(), [first, other]);
  assert.equal((await frugal.find(second)).stage, "queued");
  await frugal.close();
});

test("if admission cannot be checked, only a few contents are created", async () => {
  const blind = `
    import edge, { BacklogObject as Inner } from "./index.js";
    export * from "./index.js"; // except for the class below
    export class BacklogObject extends Inner {
      send() { throw new Error("from the test"); }
    }
    export default edge;
  `;
  const broken = await start({}, blind);
  let admitted = 0;
  for (let number = 0; number < 30; number++) {
    const from = { headers: { "CF-Connecting-IP": `203.0.113.${number}` } };
    admitted += (await broken.send(byUrl(`http://example.com/${number}`), from)).status === 301;
  }
  assert.equal(admitted, 10);
  await broken.close();
});

test("during maintenance new contents are refused", async () => {
  const closed = await start({ MAINTENANCE: "on" });
  const answer = await closed.send(byUrl("http://example.com/new.jpg"));
  assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "300"]);
  assert.match(answer.body, /maintenance/);
  assert.equal((await closed.send("/health")).status, 200);
  await closed.close();
});
