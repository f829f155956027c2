// The share page in a browser: in every state of a content, by keyboard, on a phone, without animation.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import {
  assertAccessible,
  assertEventually,
  coloursIn,
  globalsLeft,
  isFocused,
  newPage,
  painted,
  parts,
  placeIn,
  restingScale,
  startBrowser,
} from "./browser.mjs";
import { ofTheViewer, startService } from "./service.mjs";

let browser;
let service;
let ready;
before(async () => {
  [browser, service] = await Promise.all([startBrowser(), startService()]);
  ready = await service.ready();
});
after(async () => {
  await browser.close();
  await service.close();
});

let page;
afterEach(() => page.context().close());
async function open(id, options, fragment = "") {
  page = await newPage(browser, options);
  await page.goto(`${service.origin}/${id}${fragment}`);
  return parts(page);
}

test("a ready picture is painted, and nothing is complained of", async () => {
  await open(ready);
  await painted(page);
  assert.deepEqual(await globalsLeft(page), []);
  assert.equal(await page.locator("style").count(), 0);
  assert.deepEqual(page.wrongs, []);
});

test("a coarse picture is shown while it is converted, gets sharper, and stays until the picture is drawn", async (context) => {
  if (service.real) return context.skip("the end-to-end tests have it with a slow source");
  const { id, report, finish } = await service.slow();
  const { region } = await open(id);
  await page.getByRole("progressbar").waitFor();
  const coarse = page.locator("img.coarse");
  assert.equal(await coarse.count(), 0);
  for (const number of [1, 3]) {
    report({ stage: "rendering", progress: 0.1 + number / 10, coarse: number });
    await page.locator(`img.coarse[src$="_coarse/${number}.jpg"]`).waitFor();
    assert.equal(await coarse.count(), 1);
  }
  await assertAccessible(page);

  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/cache/*/*_files/**", async (route) => {
    await released;
    await route.continue();
  });
  finish();
  await region.waitFor();
  const box = await region.boundingBox();
  const over = await coarse.boundingBox();
  assert.ok(over.width > 0 && over.x >= box.x && over.x + over.width <= box.x + box.width, JSON.stringify({ box, over }));
  await assertEventually(async () => {
    const { width, height } = await coarse.boundingBox();
    return Math.abs(width / height - 3 / 2) < 0.01;
  }, "it does not lie where the picture will");
  release();
  await painted(page);
  await assertEventually(async () => (await coarse.count()) === 0, "it is left over the viewer");
  assert.deepEqual(page.wrongs, []);
});

test("with a slow source a coarse picture is seen before half of the progress, gets sharper, and nothing flashes", async (context) => {
  if (!service.real) return context.skip("needs a conversion");
  const { region } = await open(await service.trickling(12));
  const coarse = page.locator("img.coarse");
  await coarse.waitFor();
  const progress = await page.getByRole("progressbar").evaluate(({ value }) => value);
  assert.ok(progress < 0.5, `${progress} of the progress`);
  const seen = new Set();
  const upperPart = { x: 300, y: 80, width: 600, height: 100 }; // the first rows of the picture
  while ((await coarse.count()) > 0) {
    seen.add(await coarse.first().getAttribute("src", { timeout: 1000 }).catch(() => null));
    const colours = coloursIn(await page.screenshot({ clip: upperPart }));
    assert.ok(colours > 20, `${colours} colours after ${seen.size} coarse pictures`);
  }
  seen.delete(null);
  assert.ok(seen.size >= 2, [...seen].join(" "));
  await painted(page);
  assert.ok(await region.isVisible());
  assert.deepEqual(page.wrongs.filter((wrong) => !wrong.includes("404")), []);
});

test("what is missing of a damaged picture is said beside its name, once it is ready", async (context) => {
  if (service.real) return context.skip("needs a damaged picture");
  const warning = "The file is <b>damaged</b>.";
  const { id, finish } = await service.slow({ warning });
  await open(id);
  await page.getByRole("progressbar").waitFor();
  assert.equal(await page.locator("#warning").isVisible(), false);
  finish();
  await painted(page);
  assert.equal(await page.locator("#warning").textContent(), warning);
  await assertAccessible(page);
});

for (const colorScheme of ["light", "dark"]) {
  test(`every state passes axe in ${colorScheme} colours`, colorScheme === "dark" ? ofTheViewer : {}, async () => {
    const { id: slow, finish } = await service.slow();
    for (const [id, seen] of [[ready, ".controls"], [await service.failed(), ".problem"], [slow, "progress"]]) {
      await page?.context().close();
      await open(id, { colorScheme });
      await page.locator(seen).waitFor();
      await assertAccessible(page);
    }
    finish();
  });
}

test("progress is shown in words and as a figure, and turns into the picture by itself", async () => {
  const { id, finish } = await service.slow();
  await open(id);
  const bar = page.getByRole("progressbar");
  await bar.waitFor();
  assert.match(await page.getByRole("status").first().textContent(), /Downloading the source|Waiting for its turn/);
  finish();
  await painted(page);
  assert.equal(await bar.count(), 0);
  assert.deepEqual(page.wrongs, []);
});

test("where events do not come through, progress is asked for", async () => {
  const { id, finish } = await service.slow();
  page = await newPage(browser);
  await page.route("**/events", (route) => route.abort());
  await page.goto(`${service.origin}/${id}`);
  await page.getByRole("progressbar").waitFor();
  finish();
  await painted(page);
});

test("a failure says its reason and when it is tried again, and offers another picture", async () => {
  await open(await service.failed());
  await page.getByRole("heading", { name: "The address does not exist" }).waitFor();
  assert.notEqual(await page.getByRole("alert").textContent(), "");
  await page.getByText("Open the address in a browser to see whether it is right.").waitFor();
  await page.getByText(/^It is tried again when it is opened in (9|10) minutes or later\.$/).waitFor();
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 1);
  await page.getByRole("link", { name: "Zoom into another picture" }).click();
  await page.waitForURL(`${service.origin}/`);
  assert.deepEqual(page.wrongs, []);
});

test("a failure that was tried a moment ago stays, and the focus with it", async (t) => {
  if (service.real) return t.skip("the first try is permitted");
  const failure = { code: "source-not-found", message: "There is nothing.", retryAfter: 540 };
  await open(service.create({ kind: "failed", failure }));
  const button = page.getByRole("button", { name: "Try again" });
  await button.press("Enter");
  await page.getByText(/^It was tried less than a minute ago\./).waitFor();
  assert.ok(await button.evaluate(isFocused));
  await assertAccessible(page);
});

test("what waits for its next try says so", async (t) => {
  if (service.real) return t.skip("would need a source that is down");
  await open(service.create({ kind: "processing", stage: "waiting", progress: 0.1 }));
  await page.getByText("Trying again in a few minutes").waitFor();
});

test("a failure that may have passed can be tried again", async (t) => {
  if (service.real) return t.skip("would need a source that comes back");
  const failure = { code: "source-unreachable", message: "The host does not answer.", retryAfter: 540 };
  const again = { kind: "processing", stage: "queued", source: "https://example.com/again.jpg" };
  const id = service.create({ kind: "failed", failure, source: again.source, again });
  await open(id);
  await page.getByRole("button", { name: "Try again" }).press("Enter");
  await page.getByRole("progressbar").waitFor();
  service.set(id, { kind: "ready" });
  await painted(page);
});

test("when the service falls silent, that is said, and asking again goes on", async (t) => {
  if (service.real) return t.skip("would need a service that can be taken down");
  const { id, finish } = await service.slow();
  await open(id);
  await page.getByRole("progressbar").waitFor();
  service.takeDown(true);
  await page.getByRole("heading", { name: "No connection" }).waitFor();
  service.takeDown(false);
  finish();
  await page.getByRole("button", { name: "Try again" }).click();
  await painted(page);
});

test("everything can be done with the keyboard alone", ofTheViewer, async () => {
  const viewer = await open(ready);
  await painted(page);
  const start = await restingScale(viewer);

  for (let tabs = 0; tabs < 10 && !(await viewer.picture.evaluate(isFocused)); tabs += 1) await page.keyboard.press("Tab");
  assert.ok(await viewer.picture.evaluate(isFocused), "the picture is reached with Tab");
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  const zoomed = await restingScale(viewer);
  assert.ok(zoomed > start * 2, `${zoomed} is not twice ${start}`);

  await page.waitForURL(/#/);
  const before = page.url();
  await page.keyboard.press("ArrowRight");
  await page.waitForURL((url) => url.href !== before);
  assert.ok(placeIn(page.url()).x > placeIn(before).x);

  await page.keyboard.press("0");
  await page.waitForURL((url) => url.hash === "");
  assert.equal(await restingScale(viewer), start);

  await page.keyboard.press("Tab"); // zoom out
  await page.keyboard.press("Tab");
  assert.ok(await viewer.zoomIn.evaluate(isFocused));
  await page.keyboard.press("Enter");
  assert.ok((await restingScale(viewer)) > start);
});

test("controls say what they cannot do now", ofTheViewer, async () => {
  const viewer = await open(ready);
  await painted(page);
  const disabled = (control) => control.getAttribute("aria-disabled");
  assert.deepEqual([await disabled(viewer.zoomOut), await disabled(viewer.home)], ["true", "true"]);
  await viewer.zoomIn.click();
  assert.deepEqual([await disabled(viewer.zoomOut), await disabled(viewer.home)], ["false", "false"]);
  for (let clicks = 0; (await disabled(viewer.zoomIn)) === "false" && clicks < 30; clicks += 1) await viewer.zoomIn.click();
  assert.equal(await restingScale(viewer), 800);
});

test("a turned picture is whole again", ofTheViewer, async () => {
  const viewer = await open(ready);
  await painted(page);
  const upright = await restingScale(viewer);
  await viewer.rotate.click();
  await painted(page);
  const onItsSide = await restingScale(viewer);
  assert.ok(onItsSide < upright, `${onItsSide} < ${upright}`);
  assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
});

test("an address leads to its place, and so does one that is typed later", ofTheViewer, async () => {
  const viewer = await open(ready, {}, "#500,400,6");
  await painted(page);
  const deep = await restingScale(viewer);
  await page.evaluate(() => (location.hash = "#700,300,2"));
  await page.waitForTimeout(300);
  const shallow = await restingScale(viewer);
  assert.ok(Math.abs(deep / shallow - 3) < 0.1, `${deep} is three times ${shallow}`);
  assert.equal(new URL(page.url()).hash, "#700,300,2");
});

test("without animation a step is there at once", ofTheViewer, async () => {
  const viewer = await open(ready, { reducedMotion: "reduce" });
  await painted(page);
  await viewer.zoomIn.click();
  await page.evaluate(async () => {
    for (let frames = 0; frames < 3; frames += 1) await new Promise(requestAnimationFrame);
  });
  const atOnce = parseInt(await viewer.scale.textContent(), 10);
  assert.equal(atOnce, await restingScale(viewer));
});

test("fullscreen gives the focus back to where it was", ofTheViewer, async () => {
  const viewer = await open(ready);
  await painted(page);
  for (const [key, from] of [["f", viewer.picture], ["Enter", viewer.fullscreen]]) {
    await from.focus();
    await page.keyboard.press(key);
    await page.getByRole("button", { name: "Leave fullscreen" }).waitFor();
    assert.ok(await page.evaluate(() => document.fullscreenElement !== null));
    await viewer.zoomIn.focus();
    await page.keyboard.press("f");
    await page.waitForFunction(() => document.fullscreenElement === null);
    await assertEventually(() => from.evaluate(isFocused), "the focus is back");
  }
});

test("lost tiles are asked for again, then told of quietly, then fetched when the reader says so", ofTheViewer, async () => {
  page = await newPage(browser);
  let broken = true;
  let asked = 0;
  await page.route("**/*_files/**", (route) => {
    asked += 1;
    return broken ? route.fulfill({ status: 503 }) : route.continue();
  });
  await page.goto(`${service.origin}/${ready}`);
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  assert.ok(asked > 1, "asked more than once");
  await assertAccessible(page);
  broken = false;
  await again.press("Enter");
  await painted(page);
  assert.equal(await again.count(), 0);
  assert.ok(await parts(page).picture.evaluate(isFocused));
});

test("what there is to share can be copied, and the dialog gives the focus back", async () => {
  const viewer = await open(ready, { permissions: ["clipboard-read", "clipboard-write"] });
  await painted(page);
  await viewer.zoomIn.click();
  await page.waitForURL(/#/);
  const share = page.getByRole("button", { name: "Share" });
  await share.press("Enter");
  assert.equal(await page.getByLabel("Link", { exact: true }).inputValue(), `${service.origin}/${ready}`);
  assert.equal(await page.getByLabel("Link to this view", { exact: true }).inputValue(), page.url());
  const lines = await page.getByLabel("Embed", { exact: true }).inputValue();
  assert.match(lines, /^<script src=".+\.js\?width=auto&height=400px"><\/script>$/);
  await assertAccessible(page);
  await page.getByRole("button", { name: "Copy link", exact: true }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${service.origin}/${ready}`);
  await page.keyboard.press("Escape");
  assert.ok(await share.evaluate(isFocused));
});

test("what is known of a picture is told: source, size, when, files, and its warning", async () => {
  const warning = "The file is damaged: from row 3,012 of 4,000 on nothing could be read.";
  const id = service.real ? ready : service.create({ kind: "ready", warning });
  await open(id);
  await painted(page);
  const button = page.getByRole("button", { name: "About this picture" });
  await button.press("Enter");
  const dialog = page.getByRole("dialog", { name: "About this picture" });
  const { url, dzi } = await (await fetch(`${service.origin}/v1/content/${id}`)).json();
  const fact = (name) => dialog.locator("dt", { hasText: name }).locator("xpath=following-sibling::dd[1]");
  assert.equal(await fact("Source").textContent(), url);
  assert.equal(await fact("Deep Zoom Image").getByRole("link").getAttribute("href"), dzi.url);
  for (const name of ["info.json", "manifest.json"]) {
    assert.equal(await fact("IIIF").getByRole("link", { name }).getAttribute("href"), `${service.origin}/iiif/${id}/${name}`);
  }
  const [width, height] = [dzi.width, dzi.height].map((side) => side.toLocaleString("en"));
  const megapixels = (dzi.width * dzi.height) / 1e6;
  assert.equal(await fact("Size").textContent(), `${width} × ${height} pixels, ${megapixels < 10 ? megapixels.toFixed(1) : Math.round(megapixels)} megapixels`);
  await assertEventually(async () => /^\d+ \w+ 20\d\d$/.test(await fact("Converted").textContent()), "the day is told");
  if (!service.real) {
    const download = fact("Download").getByRole("link", { name: "The whole pyramid as one file, 12.3 MB" });
    assert.equal(await download.getAttribute("href"), `${service.origin}/${id}/download`);
  }
  if (!service.real) assert.equal(await button.getAttribute("aria-label"), "About this picture: part of it is missing");
  if (!service.real) assert.equal(await dialog.getByRole("note").textContent(), warning);
  await assertAccessible(page);
  await page.keyboard.press("Escape");
  assert.ok(await button.evaluate(isFocused));
  assert.deepEqual(page.wrongs, []);
});

test("a failed content is not shared", async () => {
  await open(await service.failed());
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByRole("button", { name: "Share" }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "About this picture" }).count(), 0);
});

test("a device's own sharing gets the link to the view", ofTheViewer, async () => {
  page = await newPage(browser);
  await page.addInitScript(() => {
    navigator.share = async (shared) => void (window.shared = shared);
  });
  await page.goto(`${service.origin}/${ready}#500,400,3`);
  await painted(page);
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("button", { name: "Send with an app" }).click();
  assert.equal(await page.evaluate(() => window.shared.url), `${service.origin}/${ready}#500,400,3`);
});

test("on a phone every control is large enough for a finger, and nothing sticks out", ofTheViewer, async () => {
  await open(ready, { viewport: { width: 320, height: 600 }, hasTouch: true, isMobile: true });
  await painted(page);
  for (const button of await page.locator("button:visible, a:visible:not(p a)").all()) {
    const { width, height, x } = await button.boundingBox();
    assert.ok(width >= 44 && height >= 44, `${await button.getAttribute("aria-label")} is ${width} × ${height}`);
    assert.ok(x >= 0 && x + width <= 320);
  }
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
});

test("without JavaScript there is still something to see", async () => {
  await open(ready, { javaScriptEnabled: false });
  assert.ok(await page.locator("noscript p").isVisible());
  if (service.real) assert.ok(await page.locator("noscript img").isVisible());
});
