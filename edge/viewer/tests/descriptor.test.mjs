// Plain OpenSeadragon on another site, with only the descriptor's URL: as XML and by JSONP.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";

import { host, openEmpty, page, ready, service, setUp } from "./site.mjs";

setUp(async () => {
  const openseadragon = createRequire(import.meta.url).resolve("openseadragon/build/openseadragon/openseadragon.min.js");
  host.file("/openseadragon.js", "text/javascript", await readFile(openseadragon, "utf8"));
});

for (const [form, address] of [
  ["XML", ({ dzi }) => dzi.url],
  ["a script", ({ id }) => `${service.origin}/v1/content/${id}/dzi.js`],
]) {
  test(`OpenSeadragon reads the descriptor as ${form} and loads its tiles`, async (t) => {
    if (!service.real) return t.skip("needs the descriptors of a running service");
    const content = await (await fetch(`${service.origin}/v1/content/${ready}`)).json();
    await openEmpty();
    await page.goto(host.put(`<div id="seadragon" style="width:600px;height:400px"></div><script src="/openseadragon.js"></script>`));
    const opened = await page.evaluate(
      (tileSources) =>
        new Promise((resolve, reject) => {
          const viewer = globalThis.OpenSeadragon({ id: "seadragon", tileSources, showNavigationControl: false });
          viewer.addHandler("open-failed", ({ message }) => reject(new Error(message)));
          viewer.addHandler("tile-load-failed", ({ message }) => reject(new Error(message)));
          viewer.addHandler("tile-loaded", () => {
            const { dimensions, tileOverlap, _tileWidth } = viewer.world.getItemAt(0).source;
            resolve({ width: dimensions.x, height: dimensions.y, tileOverlap, tileSize: _tileWidth });
          });
        }),
      address(content),
    );
    const { width, height, tileOverlap, tileSize } = content.dzi;
    assert.deepEqual(opened, { width, height, tileOverlap, tileSize });
  });
}
