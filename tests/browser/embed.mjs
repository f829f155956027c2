// Opens pages of another site that embed a picture: by our script, in a frame, and with plain OpenSeadragon, which reads
// the descriptor as XML and as a script. Arguments: { browser, service, content }, a ready content object. Reports for
// each what went wrong, and the descriptors that OpenSeadragon read.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { newPage, painted, parts, restingScale } from "../../edge/viewer/tests/browser.mjs";
import { startHost } from "../../edge/viewer/tests/servers.mjs";
import { run } from "./chromium.mjs";

const openseadragon = createRequire(import.meta.url).resolve("openseadragon/build/openseadragon/openseadragon.min.js");

await run(async (browser, { service, content: { id, dzi } }) => {
  const host = await startHost();
  host.file("/openseadragon.js", "text/javascript", await readFile(openseadragon, "utf8"));
  async function open(body) {
    const page = await newPage(browser);
    await page.goto(host.put(body));
    return page;
  }

  const wrongs = {};
  for (const [form, body] of [
    ["script", `<script src="${service}/${id}.js?height=400px"></script>`],
    ["frame", `<iframe title="A picture" src="${service}/${id}/embed" width="800" height="400" allowfullscreen></iframe>`],
  ]) {
    const page = await open(body);
    const scope = form === "frame" ? page.frameLocator("iframe") : page;
    await painted(page, scope);
    const viewer = parts(scope);
    const before = await restingScale(viewer);
    await viewer.zoomIn.click();
    const after = await restingScale(viewer);
    wrongs[form] = after > before ? page.wrongs : [`it zoomed from ${before} to ${after} %`, ...page.wrongs];
  }

  const descriptors = [];
  for (const address of [dzi.url, `${service}/v1/content/${id}/dzi.js`]) {
    const page = await open(`<div id="seadragon" style="width:600px;height:400px"></div><script src="/openseadragon.js"></script>`);
    descriptors.push(await page.evaluate(readDescriptor, address));
  }
  await host.close();
  return { wrongs, descriptors };
});

/** Runs in the page: resolves to what OpenSeadragon read once it has loaded a tile. */
function readDescriptor(tileSources) {
  return new Promise((resolve, reject) => {
    const viewer = globalThis.OpenSeadragon({ id: "seadragon", tileSources, showNavigationControl: false });
    for (const failed of ["open-failed", "tile-load-failed"]) viewer.addHandler(failed, ({ message }) => reject(new Error(message)));
    viewer.addHandler("tile-loaded", () => {
      const { dimensions, tileOverlap, _tileWidth } = viewer.world.getItemAt(0).source;
      resolve({ width: dimensions.x, height: dimensions.y, tileOverlap, tileSize: _tileWidth });
    });
  });
}
