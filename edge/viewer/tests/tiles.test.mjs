// Tiles decode in Chromium as in libjpeg-turbo. `engines/core.mjs` tests it in Firefox and WebKit.

import { after, before, test } from "node:test";

import { newPage, startBrowser } from "./browser.mjs";
import { assertTilesDecode } from "./engines/tiles.mjs";

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

test("tiles decode as in libjpeg-turbo", async () => {
  const page = await newPage(browser);
  await assertTilesDecode({
    open: (url) => page.goto(url),
    evaluate: (call, ...args) => page.evaluate(`(${call})(...${JSON.stringify(args)})`),
  });
});
