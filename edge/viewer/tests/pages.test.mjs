// The pages that show no content: the documentation, and what is said where there is nothing.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { assertAccessible, newPage, startBrowser } from "./browser.mjs";
import { ofTheViewer, startService } from "./service.mjs";

let browser;
let service;
before(async () => ([browser, service] = await Promise.all([startBrowser(), startService()])));
after(async () => {
  await browser.close();
  await service.close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const [path, status, heading] of [
    ["/docs", 200, /Documentation/],
    ["/bot", 200, /Why Edgezoom visited/],
    ["/nothing/here", 404, /Not found/],
    ["/00000000000", 404, /Not found/],
  ]) {
    test(`${path} passes axe in ${colorScheme} colours, and nothing sticks out on a phone`, colorScheme === "dark" ? ofTheViewer : {}, async (t) => {
      if (!service.real && path === "/nothing/here") return t.skip("only a running service has it");
      const page = await newPage(browser, { colorScheme, viewport: { width: 390, height: 844 } });
      const answer = await page.goto(service.origin + path);
      assert.equal(answer.status(), status);
      assert.match(await page.getByRole("heading", { level: 1 }).textContent(), heading);
      await assertAccessible(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      assert.deepEqual(page.wrongs.filter((wrong) => !/status of 404/.test(wrong)), []);
      await page.context().close();
    });
  }
}
