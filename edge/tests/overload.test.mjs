// Maintenance, overload, and a client over its limit: new contents get 503, existing ones are served as usual.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./wire.mjs";

const byUrl = (url) => `/v1/content/?url=${encodeURIComponent(url)}`;
let system;
before(async () => (system = await start({ BACKLOG_LIMIT: "10" })));
after(() => system.close());

async function refused(target, init) {
  const answer = await system.send(target, init);
  assert.deepEqual([answer.status, answer.type], [503, "text/plain; charset=utf-8"]);
  assert.ok(Number(answer.headers.get("retry-after")) > 0);
  const wrapped = JSON.parse((await system.send(`${target}&format=json`, init)).body);
  assert.equal(wrapped.status, 503);
  assert.equal(wrapped.retryAfter, Number(answer.headers.get("retry-after")));
  return answer;
}

test("past the backlog's limit new contents are refused, and existing ones are served", async () => {
  const known = await system.content("http://example.com/known.jpg", "queued");
  const ready = await system.content("http://example.com/ready.jpg", "ready");
  assert.equal((await system.post("/internal/backlog", { messages: 11 })).status, 204);
  assert.match((await refused(byUrl("http://example.com/new.jpg"))).body, /overloaded/);
  assert.equal((await system.send(byUrl("http://example.com/known.jpg"))).status, 301);
  assert.equal((await system.send(byUrl("http://example.com/ready.jpg"))).status, 301);
  assert.equal((await system.send(`/v1/content/${known}`)).status, 200);
  assert.equal((await system.send(`/v1/content/${ready}`)).status, 200);
  const home = await system.send("/?url=http%3A%2F%2Fexample.com%2Fnew.jpg");
  assert.deepEqual([home.status, home.headers.get("retry-after")], [503, "60"]);

  assert.equal((await system.post("/internal/backlog", { messages: 10 })).status, 204);
  assert.equal((await system.send(byUrl("http://example.com/new.jpg"))).status, 301);
});

test("only tilers report the backlog", async () => {
  const body = JSON.stringify({ messages: 1000 });
  assert.equal((await system.send("/internal/backlog", { method: "POST", body })).status, 401);
  assert.equal((await system.send("/internal/backlog")).status, 405);
  for (const wrong of [{}, { messages: -1 }, { messages: "many" }, []]) {
    assert.equal((await system.post("/internal/backlog", wrong)).status, 400);
  }
});

test("a client over its limit is refused, others are not, and contents that exist are not counted", async () => {
  const from = (address) => ({ headers: { "CF-Connecting-IP": address } });
  let created = 0;
  let answer;
  do {
    answer = await system.send(byUrl(`http://example.com/${created}`), from("203.0.113.7"));
    created += answer.status === 301;
  } while (answer.status === 301 && created < 100);
  assert.equal(created, 20); // system.mjs sets so many
  assert.match((await refused(byUrl("http://example.com/more"), from("203.0.113.7"))).body, /a minute/);
  assert.equal((await system.send(byUrl("http://example.com/0"), from("203.0.113.7"))).status, 301);
  assert.equal((await system.send(byUrl("http://example.com/more"), from("203.0.113.8"))).status, 301);
});

test("during maintenance new contents are refused", async () => {
  const closed = await start({ MAINTENANCE: "on" });
  const answer = await closed.send(byUrl("http://example.com/new.jpg"));
  assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "300"]);
  assert.match(answer.body, /maintenance/);
  assert.equal((await closed.send("/health")).status, 200);
  await closed.close();
});
