// The browser, the service, another site and the current page of a file of tests, as live bindings. `setUp` starts and
// closes them; `aroundTests` does so for what else a file needs.

import { after, afterEach, before } from "node:test";

import { newPage, parts, startBrowser } from "./browser.mjs";
import { startHost } from "./servers.mjs";
import { startService } from "./service.mjs";

export let browser;
export let service;
/** Another site, for pages with embeds. */
export let host;
/** Id of a ready content. */
export let ready;
/** Page of the running test. */
export let page;

/**
 * Runs `start` before the tests of a file, and `stop` after them. If no test matches a pattern, Node.js runs `after`
 * while `before` still runs, and what that starts later would keep the process running for ever.
 */
export function aroundTests(start, stop) {
  let started;
  before(() => (started = start()));
  after(async () => {
    await Promise.allSettled([started]); // `before` has reported its error
    await stop();
  });
}

/** Registers the hooks of a file of tests; `prepare` runs after the start. */
export function setUp(prepare = () => {}, start = startService) {
  aroundTests(
    async () => {
      [browser, service, host] = await Promise.all([startBrowser(), start(), startHost()]);
      ready = await service.ready();
      await prepare();
    },
    async () => {
      await browser?.close();
      await Promise.all([service?.close(), host?.close()]);
    },
  );
  afterEach(() => page?.context().close());
}

/** Replaces the current page by an empty one. */
export async function openEmpty(options) {
  await page?.context().close();
  page = await newPage(browser, options);
}

/** Opens a page of the service by its path, and returns the parts of its viewer. */
export async function open(path, options) {
  await openEmpty(options);
  await page.goto(service.origin + path);
  return parts(page);
}
