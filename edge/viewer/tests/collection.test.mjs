// The page of a collection: its wall of previews, its memory, its states for the owner, and its accessibility.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertAccessible, assertEventually, resize } from "./browser.mjs";
import { host, open, openEmpty, page, service, setUp } from "./site.mjs";

setUp();

/** Opens the collection with this number of entries, and waits for its first entry. */
async function openWall(size, options) {
  Object.assign(service.collection, { size, waiting: 0, reads: [] });
  await open("/c/drawings", options);
  await page.locator(".entries a").first().waitFor();
}

/** Returns the numbers of the entries in the window, by the texts of their links. */
const inWindow = () => page.evaluate(() => {
  const isSeen = (box) => box.bottom > 0 && box.top < innerHeight;
  const seen = [...document.querySelectorAll(".entries a")].filter((link) => isSeen(link.getBoundingClientRect()));
  return seen.map((link) => Number(/\d+/.exec(link.textContent)[0]));
});
const scrollTo = (share) => page.evaluate((to) => scrollTo({ top: to * (document.documentElement.scrollHeight - innerHeight), behavior: "instant" }), share);
const count = (selector) => page.locator(selector).count();

for (const colorScheme of ["light", "dark"]) {
  test(`the wall passes axe in ${colorScheme} colours`, async () => {
    await openWall(1000, { colorScheme });
    await assertAccessible(page);
    assert.deepEqual(page.wrongs, []);
  });
}

test("a stranger sees what is ready, with titles, alternative texts and names of files", async () => {
  await openWall(1000);
  await page.getByText("980 pictures").waitFor();
  await page.getByRole("link", { name: "What is in drawing 1 Drawing 1 <b>" }).waitFor();
  const second = page.getByRole("link", { name: "sheet 2.tif" });
  assert.equal(await second.getAttribute("href"), "/Content0002");
  assert.equal(await count(".failed"), 0);
  assert.equal(await page.locator("#credits").textContent(), "Museum of Examples · http://rightsstatements.org/vocab/InC/1.0/");
  assert.equal(await page.title(), "Drawings – Edgezoom");
  await page.getByRole("region", { name: "From 1", exact: true }).waitFor();
});

test("100,000 entries need no more elements than a few thousand, wherever the reader is", async () => {
  await openWall(100_000);
  await page.getByText("98,000 pictures").waitFor();
  for (const [share, least] of [[0.5, 45_000], [1, 99_900], [0.25, 20_000], [0, 1]]) {
    await scrollTo(share);
    await assertEventually(async () => (await inWindow()).some((number) => Math.abs(number - share * 100_000) < 2500 && number >= least), `no entry of ${share} is shown`);
    assert.ok((await count(".entries li")) <= 2000, `${await count(".entries li")} entries`);
  }
  // Passing by reads nothing.
  assert.ok(service.collection.reads.length < 60, `${service.collection.reads.length} reads`);
  assert.deepEqual(page.wrongs, []);
});

test("sections that change their height keep the place, also when the window becomes narrow", async () => {
  await openWall(20_000);
  await scrollTo(0.5);
  await assertEventually(async () => (await inWindow()).length > 0, "nothing is shown");
  await scrollTo(0.48); // towards sections above that were not read
  await assertEventually(async () => (await inWindow()).length > 0, "nothing is shown");
  const overlaps = () => page.evaluate(() => {
    const boxes = [...document.querySelectorAll("#wall section:not([hidden])")].map((box) => [box.getBoundingClientRect(), box.querySelector("ul").getBoundingClientRect()]);
    return boxes.filter(([box, list]) => list.bottom > box.bottom + 1).length;
  });
  assert.equal(await overlaps(), 0);
  await resize(page, { width: 390, height: 844 });
  await assertEventually(async () => (await overlaps()) === 0, "entries are over the next section");
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
});

test("Tab goes from entry to entry, and what has the focus stays", async () => {
  await openWall(20_000);
  await page.locator(".entries a").nth(3).focus();
  await page.keyboard.press("Tab");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /Drawing 5/);
  await scrollTo(0.5);
  await assertEventually(async () => (await inWindow()).length > 0, "nothing is shown");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /Drawing 5/);
  await page.keyboard.press("Tab");
  await assertEventually(async () => (await inWindow()).includes(6), "the entry with the focus is not shown");
});

test("the owner sees all states, and why entries have failed", async () => {
  await openWall(1000);
  await page.getByText("States of all entries, for the owner").click();
  await page.getByLabel("Key of the collection").fill("another");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("This is not the key of this collection.").waitFor();
  await page.getByLabel("Key of the collection").fill(service.collection.key);
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("980 pictures, 10 failed").waitFor();
  await page.getByText("Failed: The server has no such file.").first().waitFor();
  await assertAccessible(page);
  assert.equal(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage })), "{}");
});

test("pictures that become ready appear", async () => {
  Object.assign(service.collection, { size: 100, waiting: 30, reads: [] });
  await open("/c/drawings");
  await page.getByText("68 pictures, 30 to come").waitFor();
  Object.assign(service.collection, { waiting: 0, last: 2 });
  await page.getByText("98 pictures", { exact: true }).waitFor();
  await page.getByRole("link", { name: /Drawing 99/ }).waitFor();
});

test("previews that arrive with the page stay when its entries are read", async () => {
  Object.assign(service.collection, { size: 1000, waiting: 0, reads: [] });
  await openEmpty();
  const { promise: released, resolve: release } = Promise.withResolvers();
  await page.route("**/entries?*", (route) => released.then(() => route.continue()));
  await page.goto(`${service.origin}/c/drawings`);
  const first = await page.locator(".entries li").first().elementHandle();
  assert.equal(await count(".entries li"), 24);
  assert.equal(await count(".entries img:not([loading])"), 12);
  release();
  await page.getByRole("link", { name: "Drawing 99" }).waitFor();
  assert.ok(await first.evaluate((item) => item.isConnected && item.nextSibling.isConnected));
  assert.equal(service.collection.reads.filter((query) => query.includes("after=0&")).length, 1);
});

test("the page in a frame has no owner's form, and opens pictures in a window of their own", async () => {
  Object.assign(service.collection, { size: 100, waiting: 0, reads: [] });
  await openEmpty();
  await page.goto(host.put(`<iframe src="${service.origin}/c/drawings/embed" title="Drawings" width="800" height="600"></iframe>`));
  const frame = page.frameLocator("iframe");
  await frame.getByRole("link", { name: /Drawing 99/ }).waitFor();
  assert.equal(await frame.locator(".owner").count(), 0);
  const opened = page.context().waitForEvent("page");
  await frame.getByRole("link", { name: /Drawing 1 / }).click();
  assert.equal(new URL((await opened).url()).pathname, "/Content0001");
});

test("the search field shows what has the words in its title, and the wall again when it is empty", async () => {
  await openWall(1000);
  await page.getByText("980 pictures").waitFor();
  await page.getByRole("searchbox", { name: "Search titles" }).fill("drawing 99");
  await page.getByText("6 found").waitFor();
  assert.equal(await page.locator("#results a").count(), 6);
  assert.equal(await page.locator("#wall").isHidden(), true);
  assert.equal(new URL(page.url()).search, "?q=drawing%2099");
  await assertAccessible(page);
  await page.keyboard.press("Tab");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /Drawing 99/);
  await page.getByRole("searchbox").fill("nothing");
  await page.getByText("No picture has these words in its title").waitFor();
  await page.getByRole("searchbox").fill("");
  await page.getByText("980 pictures").waitFor();
  assert.equal(await page.locator("#wall").isVisible(), true);
  assert.equal(new URL(page.url()).search, "");
});

test("a link leads to what is found, of which more are shown when the reader asks", async () => {
  Object.assign(service.collection, { size: 1000, waiting: 0, reads: [] });
  await open("/c/drawings?q=drawing");
  await page.getByText("200 or more found").waitFor();
  await page.getByRole("button", { name: "Show more" }).press("Enter");
  await page.getByText("400 or more found").waitFor();
  assert.match(await page.evaluate(() => document.activeElement.textContent), /Drawing 401/, "the focus is where the reader goes on");
  await page.getByRole("button", { name: "Show more" }).press("Enter");
  await page.getByText("500 found").waitFor();
  assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
});
