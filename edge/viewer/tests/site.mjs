// The browser, the fake service, another site and the current page of a file of tests, as live bindings. `setUp` starts and
// closes them.

import { afterEach } from "node:test";

import { aroundTests } from "../../tests/around.mjs";
import { newPage, parts, startBrowser } from "./browser.mjs";
import { startFakeService } from "./fake_service.mjs";
import { startHost } from "./servers.mjs";

export let browser;
export let service;
/** Another site, for pages with embeds. */
export let host;
/** Id of a ready content. */
export let ready;
/** Page of the running test. */
export let page;

/** Registers the hooks of a file of tests; `prepare` runs after the start. */
export function setUp(prepare = () => {}) {
  aroundTests(
    async () => {
      [browser, service, host] = await Promise.all([startBrowser(), startFakeService(), startHost()]);
      ready = service.ready();
      await prepare();
    },
    async () => {
      await browser?.close();
      await Promise.all([service?.close(), host?.close()]);
    },
  );
  afterEach(closePage);
}

/** Closes the page of the running test. A route that is being answered then would fail the program. */
async function closePage() {
  if (page?.isClosed() === false) await page.unrouteAll({ behavior: "ignoreErrors" });
  await page?.context().close();
}

/** Replaces the current page by an empty one. */
export async function openEmpty(options) {
  await closePage();
  page = await newPage(browser, options);
}

/** Opens a page of the service by its path, and returns the parts of its viewer. */
export async function open(path, options) {
  await openEmpty(options);
  await page.goto(service.origin + path);
  return parts(page);
}
