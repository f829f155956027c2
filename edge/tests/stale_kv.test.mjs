// The KV namespace of the local service that chaos tests make stale.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DATE, LOCAL, Miniflare, TOKEN, convertV4MiniflareOptions } from "./system.mjs";

const COMMON = { compatibilityDate: DATE, modulesRoot: "/" };

/** Stands in for Edgezoom's Worker: it reads and writes KV. */
const READER = `export default {
  async fetch(request, { FINISHED }) {
    const { pathname: key, search } = new URL(request.url);
    if (request.method === "PUT") return new Response(await FINISHED.put(key, await request.text()));
    if (!search) return Response.json(await FINISHED.get(key));
    const bytes = await FINISHED.get(key, "arrayBuffer");
    return Response.json(bytes && new TextDecoder().decode(bytes));
  },
}`;

test("a stale namespace answers as at the first read, also about keys that it lacked", async () => {
  const local = {
    name: "edgezoom-local",
    modules: LOCAL,
    bindings: { TILER_TOKEN: TOKEN },
    serviceBindings: { EDGE: "reader" },
    kvNamespaces: ["FINISHED"],
    durableObjects: {
      MEASUREMENTS: { className: "Measurements", useSQLite: true },
      MESSAGES: { className: "Messages", useSQLite: true },
    },
    ...COMMON,
  };
  const reader = {
    name: "reader",
    modules: [{ type: "ESModule", path: "reader.js", contents: READER }],
    serviceBindings: { FINISHED: { name: "edgezoom-local", entrypoint: "StaleKv" } },
    ...COMMON,
  };
  const miniflare = new Miniflare(convertV4MiniflareOptions({ workers: [local, reader] }));
  const ask = (path, init) => miniflare.dispatchFetch(`http://local.test${path}`, init);
  const read = async (key) => (await ask(key)).json();
  const put = async (key, body) => assert.equal((await ask(key, { method: "PUT", body })).status, 200);
  const makeStale = async (milliseconds) => {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const { status } = await ask(`/internal/kv/stale?milliseconds=${milliseconds}`, { method: "POST", headers });
    assert.equal(status, 204);
  };
  try {
    await put("/a", "first");
    assert.deepEqual([await read("/a"), await read("/b")], ["first", null]);
    await makeStale(600_000);
    assert.deepEqual([await read("/a"), await read("/a?bytes"), await read("/b")], ["first", "first", null]);
    await put("/a", "second");
    await put("/b", "third");
    assert.deepEqual([await read("/a"), await read("/a?bytes"), await read("/b")], ["first", "first", null]);
    await makeStale(0);
    assert.deepEqual([await read("/a"), await read("/a?bytes"), await read("/b")], ["second", "second", "third"]);
  } finally {
    await miniflare.dispose();
  }
});
