// The home page: an address goes in, a share page comes out.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { assertAccessible, globalsLeft, newPage, painted, startBrowser } from "./browser.mjs";
import { startService } from "./service.mjs";

let browser;
let service;
let source;
before(async () => {
  [browser, service] = await Promise.all([startBrowser(), startService()]);
  const id = await service.ready();
  source = (await (await fetch(`${service.origin}/v1/content/${id}`)).json()).url;
});
after(async () => {
  await browser.close();
  await service.close();
});

let page;
afterEach(() => page.context().close());
async function open(options) {
  page = await newPage(browser, options);
  await page.goto(`${service.origin}/`);
  return page.getByLabel("Address of a picture");
}

for (const colorScheme of ["light", "dark"]) {
  test(`it passes axe in ${colorScheme} colours and leaves no globals`, async () => {
    await open({ colorScheme });
    assert.deepEqual(await globalsLeft(page), []);
    await assertAccessible(page);
    assert.deepEqual(page.wrongs, []);
  });
}

test("by keyboard alone an address leads to its picture", async () => {
  const field = await open();
  const isFocused = () => field.evaluate((element) => element === document.activeElement);
  for (let tabs = 0; tabs < 5 && !(await isFocused()); tabs += 1) await page.keyboard.press("Tab");
  await page.keyboard.type(source);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  await painted(page);
  assert.deepEqual(page.wrongs, []);
});

test("an address may lack its scheme", async () => {
  const field = await open();
  const sent = page.waitForRequest((request) => request.url().includes("?url="));
  await field.fill("example.com/a.jpg");
  await field.press("Enter");
  assert.equal(new URL((await sent).url()).searchParams.get("url"), "https://example.com/a.jpg");
});

test("an address may be pasted anywhere", async () => {
  const field = await open();
  await page.locator("h1").click();
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", " https://example.com/a.jpg\n");
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  assert.equal(await field.inputValue(), "https://example.com/a.jpg");
});

test("it works without JavaScript", async () => {
  const field = await open({ javaScriptEnabled: false });
  await field.fill(source);
  await page.getByRole("button", { name: "Zoom" }).click();
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
});

test("on a phone nothing sticks out", async () => {
  await open({ viewport: { width: 320, height: 600 }, hasTouch: true, isMobile: true });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
});
