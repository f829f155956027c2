// The output's half of the notebook's viewer, in a browser, with a stand-in for anywidget and the kernel.
// `test_notebook.py` tests the other half.

import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

import { aroundTests } from "../../../edge/tests/around.mjs";
import { assertAccessible, newPage, painted, parts, restingScale, startBrowser } from "../../../edge/viewer/tests/browser.mjs";
import { pyramidOf, scene } from "../../../edge/viewer/tests/pyramid.mjs";
import { serve } from "../../../edge/viewer/tests/servers.mjs";
import { widget } from "../build.mjs";

const NAME = "Tides";
const { dzi, tiles } = pyramidOf(scene(1500, 1100), 512, 0);

let browser;
let server;

aroundTests(async () => {
  const { outputFiles } = await build({ ...widget, write: false });
  browser = await startBrowser();
  server = await serve(({ pathname }) => {
    if (pathname === "/widget.js") return { type: "text/javascript", body: outputFiles[0].contents };
    if (pathname === "/") return { body: `<!doctype html><html lang="en"><title>A notebook</title><link rel="icon" href="data:,"><main><h1>A notebook</h1><div id="output"></div></main></html>` };
    return { type: "image/png", body: tiles.get(pathname.slice(1)) };
  });
}, () => Promise.all([browser?.close(), server?.close()]));

/** Opens a notebook with an output. */
async function open(hasKernel) {
  const page = await newPage(browser);
  await page.goto(server.origin);
  await page.evaluate(async ([picture, hasKernel]) => {
    const { default: widget } = await import("/widget.js");
    const bytesOf = async (path) => new DataView(await (await fetch(path)).arrayBuffer());
    const state = { picture, still: await bytesOf("/9/0_0.png"), height: 400 };
    const listeners = new Set();
    const tell = (...message) => listeners.forEach((listener) => listener(...message));
    Object.assign(window, { sent: [], state, listeners, saved: 0 });
    const model = {
      get: (name) => state[name],
      set: (name, value) => void (state[name] = value),
      save_changes: () => (window.saved += 1),
      on: (_, listener) => listeners.add(listener),
      off: (_, listener) => listeners.delete(listener),
      async send(message) {
        window.sent.push(message);
        if (!hasKernel) return;
        if (message.views === 1) tell({ ready: true }, []);
        const [level, column, row] = message.tile ?? [];
        if (message.tile) tell(message, [await bytesOf(`/${level}/${column}_${row}.png`)]);
      },
    };
    window.end = widget.render({ model, el: document.getElementById("output") });
  }, [{ name: NAME, ...dzi }, hasKernel]);
  return page;
}

test("an output shows the tiles that the kernel sends, and keeps a still of the view", async () => {
  const page = await open(true);
  await painted(page);
  await assertAccessible(page);
  const viewer = parts(page);
  const before = await restingScale(viewer);
  await viewer.zoomIn.click();
  await viewer.zoomIn.click();
  await page.waitForFunction(() => window.saved > 0);
  assert.ok((await restingScale(viewer)) > before);
  await page.waitForFunction(() => window.sent.some(({ tile }) => tile?.[0] === 11 && tile[1] > 0));
  const still = await page.evaluate(async () => {
    const { width } = await createImageBitmap(new Blob([state.still]));
    return { width, left: [end(), listeners.size, window.sent.at(-1)] };
  });
  assert.ok(still.width >= 1000);
  assert.deepEqual(still.left, [undefined, 0, { views: -1 }]);
  assert.deepEqual(page.wrongs, []);
  await page.context().close();
});

test("without a kernel an output shows the still", async () => {
  const page = await open(false);
  const image = page.getByRole("img", { name: NAME });
  await image.waitFor();
  assert.deepEqual(await image.evaluate((still) => [still.naturalWidth, still.clientHeight]), [375, 400]);
  assert.deepEqual(await page.evaluate(() => [end(), window.sent]), [undefined, [{ views: 1 }, { views: -1 }]]);
  assert.deepEqual(page.wrongs, []);
  await page.context().close();
});
