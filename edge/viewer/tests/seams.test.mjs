// Tiles decode in Chromium as in libjpeg-turbo (`engines/core.mjs` tests it in Firefox and WebKit), and seams between
// tiles of 512 pixels without overlap are no more visible than between tiles of 510 that overlap by one.
// `seams_report.mjs` measures more views, and pyramids of JPEG.

import assert from "node:assert/strict";
import { test } from "node:test";

import { newPage, startBrowser } from "./browser.mjs";
import { assertTilesDecode } from "./engines/tiles.mjs";
import { gradient, pyramidOf, scene } from "./pyramid.mjs";
import { seamsOf, seamsPage } from "./seams.mjs";
import { serve } from "./servers.mjs";
import { aroundTests } from "../../tests/around.mjs";

/** Visibility in steps of 255, averaged along the seam. In a gradient, steps below 1 are invisible. */
const VISIBLE = 0.5;

const PICTURES = { gradient: gradient(1300, 1100), scene: scene(1300, 1100) };
/** Tile size and overlap: in one piece, the current grid, and the previous one. */
const GRIDS = { whole: [2048, 1], now: [512, 0], before: [510, 1] };

let browser;
let server;
const pyramids = {};
aroundTests(async () => {
  const page = await seamsPage();
  const files = new Map([["/", { body: page }]]);
  server = await serve(({ pathname }) => files.get(pathname));
  for (const [name, picture] of Object.entries(PICTURES)) {
    pyramids[name] = Object.entries(GRIDS).map(([grid, [size, overlap]]) => {
      const { dzi, tiles } = pyramidOf(picture, size, overlap);
      for (const [path, body] of tiles) files.set(`/${name}-${grid}_files/${path}`, { type: "image/png", body });
      return { url: `${server.origin}/${name}-${grid}.dzi`, ...dzi };
    });
  }
  browser = await startBrowser();
}, () => Promise.all([browser?.close(), server?.close()]));

test("tiles decode as in libjpeg-turbo", async () => {
  const page = await newPage(browser);
  await assertTilesDecode({
    open: (url) => page.goto(url),
    evaluate: (call, ...args) => page.evaluate(`(${call})(...${JSON.stringify(args)})`),
  });
});

const middle = { x: 530, y: 490 };
const VIEWS = [
  { ...middle, scale: 0.737, turn: 0 },
  { ...middle, scale: 0.913, turn: 90 },
  { ...middle, scale: 1.618, turn: 0 },
  { ...middle, scale: 0.613, turn: 30 },
];

for (const density of [1, 2]) {
  test(`tiles without overlap show no seam at density ${density}`, async () => {
    for (const [name, grids] of Object.entries(pyramids)) {
      for (const { view, seams: [now, earlier] } of await seamsOf(browser, server.origin, grids, { density, views: VIEWS })) {
        const text = `${name} ${JSON.stringify(view)}: ${now}, before ${earlier}`;
        assert.ok(now !== null && earlier !== null, text);
        assert.ok(now <= Math.max(VISIBLE, earlier), text);
      }
    }
  });
}

test("the measure detects tiles that are drawn a pixel too large", async () => {
  const results = await seamsOf(browser, server.origin, pyramids.scene.slice(0, 2), { density: 2, drawer: "canvas", views: VIEWS });
  const worst = Math.max(...results.map(({ seams: [now] }) => now));
  assert.ok(worst > 2 * VISIBLE, `${worst}`);
});
