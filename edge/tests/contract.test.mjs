// Every documented combination of endpoint, variant and outcome, sent to the running Worker: status, headers and body
// have to be what the contract says, as this file understands it. It shares nothing with the Worker's own code.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import vm from "node:vm";
import { PICTURE, start } from "./wire.mjs";

const SOURCES = Object.fromEntries(
  ["queued", "rendering", "ready", "failed"].map((state) => [state, `http://example.com/${state}.jpg?a=1&b=<2>`]),
);
const canonical = (url) => new URL(url).href;
const REASONS = { 200: "OK", 301: "Moved Permanently", 400: "Bad Request", 404: "Not Found", 503: "Service Unavailable" };

let system;
let closed;
const ids = {};

before(async () => {
  [system, closed] = await Promise.all([start(), start({ MAINTENANCE: "on" })]);
  for (const [state, url] of Object.entries(SOURCES)) ids[state] = await system.content(url, state);
});
after(() => Promise.all([system.close(), closed.close()]));

/** The content object that the contract wants of a content in a state. */
function contentObject(state) {
  const id = ids[state];
  const shareUrl = `${system.origin}/${id}`;
  return {
    id,
    url: canonical(SOURCES[state]),
    ready: state === "ready",
    failed: state === "failed",
    progress: { queued: 0, rendering: 0.25, ready: 1, failed: 0.25 }[state],
    shareUrl,
    embedHtml: `<script src="${shareUrl}.js?width=auto&height=400px"></script>`,
    ...(state === "ready" && { dzi: { url: `${system.origin}/cache/${id}/1.dzi`, ...PICTURE } }),
    ...(state === "queued" && { stage: "queued" }),
    ...(state === "rendering" && { stage: "rendering" }),
    ...(state === "failed" && {
      failure: { code: "source-not-found", message: "There is nothing at the URL (404)." },
    }),
  };
}

/** What is asked for, and what comes of it: a content's state or an error's text. */
const byUrl = (url) => `/v1/content/?url=${encodeURIComponent(url)}`;
const OUTCOMES = [
  ...Object.keys(SOURCES).map((state) => ({
    title: `by URL, ${state}`,
    target: () => byUrl(SOURCES[state]),
    status: 301,
    state,
  })),
  { title: "by URL, none given", target: () => "/v1/content/?_=1", status: 400, error: /which content/ },
  { title: "by URL, malformed", target: () => byUrl("ftp://example.com/"), status: 400, error: /http:\/\// },
  {
    title: "by URL, down for maintenance",
    target: () => byUrl("http://example.com/new.jpg"),
    status: 503,
    error: /maintenance/,
    down: true,
  },
  ...Object.keys(SOURCES).map((state) => ({
    title: `by id, ${state}`,
    target: () => `/v1/content/${ids[state]}`,
    status: 200,
    state,
  })),
  { title: "by id, unknown", target: () => "/v1/content/00000000000", status: 404, error: /no content/ },
];

const VARIANTS = [
  { title: "no Accept", check: standard, parse: JSON.parse, type: "application/json" },
  { title: "Accept JSON", accept: "application/json", check: standard, parse: JSON.parse, type: "application/json" },
  { title: "Accept XML", accept: "application/xml", check: standard, parse: fromXml("content"), type: "application/xml" },
  { title: "format=json", parameter: "format=json", check: wrapped, parse: JSON.parse, type: "application/json" },
  { title: "format=xml", parameter: "format=xml", check: wrapped, parse: fromXml("response"), type: "application/xml" },
  { title: "callback", parameter: "callback=a.b.c", check: wrapped, parse: fromScript, type: "text/javascript" },
];

for (const outcome of OUTCOMES) {
  describe(outcome.title, () => {
    for (const variant of VARIANTS) {
      test(variant.title, async () => {
        const target = outcome.target();
        const separator = target.includes("?") ? "&" : "?";
        const asked = variant.parameter ? `${target}${separator}${variant.parameter}` : target;
        const headers = { Accept: variant.accept ?? "*/*" };
        const answer = await (outcome.down ? closed : system).send(asked, { headers });
        assert.equal(answer.headers.get("access-control-allow-origin"), "*");
        assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
        const keep = { ready: /^public, max-age=3600$/, failed: /^public, max-age=5[0-9][0-9]$/ }[outcome.state] ?? /^no-store$/;
        assert.match(answer.headers.get("cache-control"), keep);
        variant.check(answer, outcome, variant);

        const head = await (outcome.down ? closed : system).send(asked, { headers, method: "HEAD" });
        assert.deepEqual([head.status, head.type, head.body], [answer.status, answer.type, ""]);
      });
    }
  });
}

function standard(answer, { status, state, error }, { parse, type }) {
  assert.equal(answer.status, status);
  assert.equal(answer.headers.has("retry-after"), status === 503);
  if (error) {
    assert.equal(answer.type, "text/plain; charset=utf-8");
    assert.match(answer.body, error);
    return;
  }
  assert.equal(answer.type, `${type}; charset=utf-8`);
  assert.match(answer.headers.get("vary"), /\bAccept\b/);
  const location = status === 301 ? `${system.origin}/v1/content/${ids[state]}` : null;
  assert.equal(answer.headers.get("location"), location);
  assert.deepEqual(timeless(parse(answer.body)), contentObject(state));
}

/** A content object without the time until a failed content is tried again, which passes while tests run. */
function timeless(content) {
  if (!content.failure) return content;
  const { retryAfter, ...failure } = content.failure;
  assert.ok(Number.isInteger(retryAfter) && retryAfter > 0 && retryAfter <= 600, `retryAfter is ${retryAfter}`);
  return { ...content, failure };
}

function wrapped(answer, { status, state, error }, { parse, type }) {
  assert.equal(answer.status, 200);
  assert.equal(answer.type, `${type}; charset=utf-8`);
  for (const special of ["location", "retry-after"]) assert.equal(answer.headers.has(special), false, special);
  const response = parse(answer.body);
  assert.equal(response.status, status);
  assert.equal(response.statusText, REASONS[status]);
  if (error) {
    assert.match(response.error, error);
    const names = ["error", "status", "statusText", ...(status === 503 ? ["retryAfter"] : [])];
    assert.deepEqual(Object.keys(response).sort(), names.sort());
    return;
  }
  const redirect = status === 301 && { redirectLocation: `${system.origin}/v1/content/${ids[state]}` };
  const expected = { status, statusText: REASONS[status], ...redirect, content: contentObject(state) };
  assert.deepEqual({ ...response, content: timeless(response.content) }, expected);
}

/** What the script calls `a.b.c` with, once; nothing when there is no such function. */
function fromScript(script) {
  const calls = [];
  vm.runInNewContext(script, { a: { b: { c: (value) => calls.push(value) } } });
  vm.runInNewContext(script, { a: { b: {} } });
  assert.equal(calls.length, 1);
  return JSON.parse(JSON.stringify(calls[0]));
}

/** Reads an XML document of the interface: elements with names, texts in them, nothing else. */
function fromXml(root) {
  const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
  const typed = (text) => (/^(true|false|-?\d+(\.\d+)?)$/.test(text) ? JSON.parse(text) : text);
  const read = (inner) => {
    const elements = [...inner.matchAll(/<(\w+)>(.*?)<\/\1>/gs)];
    if (elements.length === 0) return typed(inner.replace(/&(\w+);/g, (_, name) => ENTITIES[name]));
    assert.equal(elements.map(([whole]) => whole).join(""), inner);
    return Object.fromEntries(elements.map(([, name, value]) => [name, read(value)]));
  };
  return (document) => {
    const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
    assert.ok(document.startsWith(`${declaration}<${root}>`), document);
    return read(document.slice(declaration.length))[root];
  };
}

describe("requests", () => {
  test("a slash after the id, or none before the query, changes nothing", async () => {
    const { body } = await system.send(`/v1/content/${ids.ready}`);
    assert.equal((await system.send(`/v1/content/${ids.ready}/`)).body, body);
    const url = encodeURIComponent(SOURCES.ready);
    assert.equal((await system.send(`/v1/content?url=${url}`)).body, (await system.send(`/v1/content/?url=${url}`)).body);
  });

  test("a client that has a finished content gets 304, of each endpoint in each variant", async () => {
    const tags = new Set();
    const targets = [`/v1/content/${ids.ready}?`, `/v1/dzi/${ids.ready}?`, `${byUrl(SOURCES.ready)}&`, `/v1/dzi/?url=${encodeURIComponent(SOURCES.ready)}&`];
    for (const target of targets) {
      for (const { accept = "*/*", parameter = "" } of VARIANTS.slice(1)) {
        const { headers } = await system.send(target + parameter, { headers: { Accept: accept } });
        const tag = headers.get("etag");
        tags.add(tag);
        const again = { Accept: accept, "If-None-Match": `"other", ${tag}` };
        const known = await system.send(target + parameter, { headers: again });
        assert.deepEqual([known.status, known.body, known.headers.get("etag")], [304, "", tag], target + parameter);
        if (!parameter) assert.match(known.headers.get("vary"), /\bAccept\b/);
      }
    }
    assert.equal(tags.size, targets.length * (VARIANTS.length - 1));
  });

  test("an unfinished content is never the same", async () => {
    const answer = await system.send(`/v1/content/${ids.queued}`, { headers: { "If-None-Match": "*" } });
    assert.deepEqual([answer.status, answer.headers.get("etag")], [200, null]);
  });

  test("the error of an unknown format is wrapped", async () => {
    const answer = await system.send(`/v1/content/${ids.ready}?format=yaml`);
    assert.deepEqual([answer.status, JSON.parse(answer.body).status], [200, 400]);
  });

  test("the error of a callback with XML is wrapped XML", async () => {
    const answer = await system.send(`/v1/content/${ids.ready}?format=xml&callback=cb`);
    assert.deepEqual([answer.status, fromXml("response")(answer.body).status], [200, 400]);
  });

  test("the error of a malformed callback is plain text", async () => {
    for (const callback of ["", "alert(1)//", "a b", "a".repeat(129), "<script>"]) {
      const answer = await system.send(`/v1/content/${ids.ready}?callback=${encodeURIComponent(callback)}`);
      assert.deepEqual([answer.status, answer.type], [400, "text/plain; charset=utf-8"], callback);
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    }
  });

  test("a browser may ask from any page", async () => {
    const answer = await system.send(`/v1/content/${ids.ready}`, { method: "OPTIONS" });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    assert.equal(answer.headers.get("access-control-allow-methods"), "GET, HEAD, OPTIONS");
  });

  test("nothing but reading is allowed", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      const answer = await system.send(`/v1/content/${ids.ready}`, { method });
      assert.deepEqual([answer.status, answer.type], [405, "text/plain; charset=utf-8"]);
      assert.equal(answer.headers.get("allow"), "GET, HEAD, OPTIONS");
    }
  });

  test("known content is answered as ever while the service is down", async () => {
    const answer = await closed.send("/v1/content/00000000000");
    assert.equal(answer.status, 404);
  });
});
