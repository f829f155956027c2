// Chromium, by Playwright, with the functions that the other engines have.

import { newPage, startBrowser } from "../browser.mjs";
import { expressionOf } from "./process.mjs";

/** Starts Chromium. */
export async function startChromium() {
  const browser = await startBrowser();
  const engine = await openChromium(browser);
  return { ...engine, close: () => browser.close() };
}

/** Opens a page in a running Chromium. `options` are those of Playwright's context. */
export async function openChromium(browser, options) {
  const page = await newPage(browser, options);
  return {
    page,
    wrongs: page.wrongs,
    open: (url) => page.goto(url),
    evaluate: async (call, ...args) => JSON.parse(await page.evaluate(expressionOf(call, args))),
    screenshot: () => page.screenshot(),
    resize: (width, height) => page.setViewportSize({ width, height }),
    close: () => page.context().close(),
  };
}
