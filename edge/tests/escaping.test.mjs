// Hostile text in every place that echoes untrusted input: a source's URL, a failure's message, the form of the home
// page, and the parameters of scripts.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import vm from "node:vm";
import { aroundTests } from "./around.mjs";
import { start } from "./system.mjs";

const HOSTILE = [
  `"'><script>alert(1)</script>`,
  `</title></textarea></script><!--`,
  `]]><b>&amp;&#60;`,
  `\u2028alert(1)\u2029//`,
  `\u0000\u0007\u001b\u007f\\`,
  `gpj.\u202eexe\u2066\u200b\ufeff`,
  `{home}{content}\ufdd0s\ufdd0c\ufdd1`,
];

let system;
aroundTests(async () => (system = await start()), () => system.close());

/** Returns the elements' names and the scripts of a page, as a browser sees them. */
function elements(html) {
  const scripts = [...html.matchAll(/<script([^>]*)>(.*?)<\/script>/gs)].map(([, attributes, text]) => ({ attributes, text }));
  const names = [...html.replace(/(<script[^>]*>).*?<\/script>/gs, "$1").matchAll(/<([a-z][a-z0-9]*)/gi)].map(([, name]) => name);
  return { scripts, names };
}

async function failed(text) {
  const url = `http://example.com/${encodeURIComponent(text)}?${encodeURIComponent(text)}`;
  const { id } = await system.ask(url);
  await system.claim(id);
  const failure = { code: "corrupt-source", message: text };
  assert.equal((await system.report(id, 1, { "gave-up": { failure } })).status, 204);
  return id;
}

/** Returns a text with the characters that XML and pages cannot carry replaced. */
const carried = (text) => text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd");
const unmarked = (text) => text.replaceAll("\ufdd0", "\ufffd"); // internal markers in untrusted text are replaced

for (const text of HOSTILE) {
  describe(JSON.stringify(text), () => {
    let id;
    before(async () => (id = await failed(text)));

    test("JSON and scripts contain it as text", async () => {
      const content = JSON.parse((await system.send(`/v1/content/${id}`)).body);
      assert.equal(content.failure.message, unmarked(text));
      assert.equal(JSON.parse((await system.send(`/v1/content/${id}?format=json`)).body).content.failure.message, unmarked(text));

      const script = (await system.send(`/v1/content/${id}?callback=call`)).body;
      assert.doesNotMatch(script, /[<>\u2028\u2029]/);
      const received = [];
      vm.runInNewContext(script, { call: (response) => received.push(response.content.failure.message), alert: assert.fail });
      assert.deepEqual(received, [unmarked(text)]);
    });

    test("XML contains it as the text of one element", async () => {
      for (const form of ["", "?format=xml"]) {
        const { body } = await system.send(`/v1/content/${id}${form}`, { headers: { Accept: "application/xml" } });
        assert.doesNotMatch(body, /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|]]>/);
        const [, message] = body.match(/<message>([^<]*)<\/message>/);
        const entities = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'" };
        const read = message.replace(/&[a-z]+;/g, (entity) => entities[entity]);
        assert.equal(read, carried(unmarked(text)));
      }
    });

    test("pages get no elements and no scripts from it", async () => {
      const plain = await failed(`plain ${id}`);
      for (const page of ["", "/embed"]) {
        const { body } = await system.send(`/${id}${page}`);
        const [hostile, harmless] = [elements(body), elements((await system.send(`/${plain}${page}`)).body)];
        assert.deepEqual(hostile.names, harmless.names);
        for (const { attributes, text: script } of hostile.scripts) {
          assert.doesNotMatch(script, /[<>\u2028\u2029]/);
          if (/json/.test(attributes)) JSON.parse(script);
        }
        assert.doesNotMatch(body.replace(/<script.*?<\/script>/gs, ""), /[\0\u2028\u2029\u202e\u2066]/, "no invisible or bidirectional characters");
      }
    });

    test("the home page keeps it in its field", async () => {
      const { status, body } = await system.send(`/?url=${encodeURIComponent(`ftp://${text}`)}`);
      assert.equal(status, 400);
      assert.deepEqual(elements(body).names, elements((await system.send("/?url=ftp%3A%2F%2Fx")).body).names);
      assert.equal(elements(body).scripts.filter(({ text: script }) => script !== "").length, 0);
    });

    test("parameters of scripts are refused or not echoed", async () => {
      const called = await system.send(`/v1/content/${id}?callback=${encodeURIComponent(text)}`);
      assert.deepEqual([called.status, called.type], [400, "text/plain; charset=utf-8"]);
      const quoted = encodeURIComponent(text);
      const embed = await system.send(`/${id}.js?id=${quoted}&width=${quoted}&height=${quoted}&background=${quoted}`);
      assert.equal(embed.body, (await system.send(`/${id}.js`)).body);
      const oembed = await system.send(`/oembed?url=${encodeURIComponent(`${system.origin}/${id}`)}&format=${quoted}`);
      assert.deepEqual([oembed.status, oembed.type], [501, "text/plain; charset=utf-8"]);
    });
  });
}

test("oEmbed gets no elements from a name", async () => {
  for (const text of HOSTILE) {
    const id = await system.content(`http://example.com/oembed/${encodeURIComponent(text)}`, "ready");
    const link = encodeURIComponent(`${system.origin}/${id}`);
    const { html, title } = JSON.parse((await system.send(`/oembed?url=${link}`)).body);
    assert.deepEqual(elements(html).names, ["iframe"], title);
    const { body } = await system.send(`/oembed?url=${link}&format=xml`);
    assert.doesNotMatch(body, /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|]]>/);
    assert.deepEqual(elements((await system.send(`/${id}`)).body).names.filter((name) => name === "b"), []);
  }
});
