// The opening view of a picture: between panel and controls, at its own size, at the start of an elongated one. Moves
// by the overview, the wheel and one finger.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertAccessible, assertEventually, assertNoFrames, countFrames, isFocused, painted, parts, placed, resize, restingScale } from "./browser.mjs";
import { open, openEmpty, page, ready, service, setUp } from "./site.mjs";

setUp();

test("the overview appears when part of the picture is out of view, and moves the view by pointer and keys", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  const overview = page.getByRole("application", { name: "Overview" });
  assert.equal(await overview.count(), 0, "the whole picture is in view");
  await viewer.zoomIn.click();
  await viewer.zoomIn.click();
  await overview.waitFor();
  const before = await placed(page);
  await assertAccessible(page);

  const box = await overview.boundingBox();
  await page.mouse.click(box.x + box.width * 0.8, box.y + box.height * 0.25);
  const clicked = await placed(page, ({ x }) => x > before.x);
  assert.ok(clicked.y < before.y);

  for (let tabs = 0; tabs < 15 && !(await overview.evaluate(isFocused)); tabs += 1) await page.keyboard.press("Tab");
  assert.ok(await overview.evaluate(isFocused), "Tab reaches it");
  await page.keyboard.press("ArrowLeft");
  await placed(page, ({ x }) => x < clicked.x);
  await page.keyboard.press("0");
  await page.waitForURL((url) => url.search === "");
  await viewer.picture.focus();
  await assertEventually(async () => (await overview.count()) === 0, "it did not fade out");
  assert.deepEqual(page.wrongs, []);
});

test("the overview rotates with the picture", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  await viewer.rotate.click();
  await viewer.zoomIn.click();
  await viewer.zoomIn.click();
  const overview = page.getByRole("application", { name: "Overview" });
  await overview.waitFor();
  const box = await overview.boundingBox();
  assert.ok(box.height > box.width, "a rotated wide picture is high");
  const before = await placed(page);
  assert.equal(before.turn, 90);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height * 0.85); // the right side is below
  await placed(page, ({ x }) => x > before.x);
});

/** Returns the box of the drawn picture in CSS pixels of the page. */
const drawn = () => page.evaluate(() => {
  const { shadowRoot } = document.getElementById("stage");
  const [canvas] = shadowRoot.querySelectorAll("canvas");
  const { width, height } = canvas;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const box = { left: width, top: height, right: 0, bottom: 0 };
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if (data[(y * width + x) * 4 + 3] < 200) continue;
      box.left = Math.min(box.left, x);
      box.right = Math.max(box.right, x + 1);
      box.top = Math.min(box.top, y);
      box.bottom = Math.max(box.bottom, y + 1);
    }
  }
  const ratio = canvas.clientWidth / width;
  return Object.fromEntries(Object.entries(box).map(([side, at]) => [side, at * ratio]));
});

test("the picture opens between the panel and the controls, whatever the window", async () => {
  for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }, { width: 1000, height: 500 }]) {
    await open(`/${service.create({ kind: "ready", size: { width: 4000, height: 4200 } })}`, { viewport });
    await painted(page);
    const panel = await page.locator(".top").boundingBox();
    const controls = await page.locator(".controls").boundingBox();
    const box = await drawn();
    assert.ok(box.top >= panel.y + panel.height - 1, `${box.top} is below the panel`);
    assert.ok(box.bottom <= controls.y + 1, `${box.bottom} is above the controls`);
    assert.ok(box.right - box.left > 0.9 * Math.min(viewport.width, (controls.y - panel.y - panel.height) * (4000 / 4200)) - 30);
  }
});

test("a small picture opens at its own size", async () => {
  const viewer = await open(`/${service.create({ kind: "ready", size: { width: 300, height: 200 } })}`);
  await page.locator(".controls").waitFor();
  assert.equal(await restingScale(viewer), 100);
});

test("an elongated picture opens at its start, with a note on where it continues", async () => {
  for (const [size, words] of [[{ width: 40_000, height: 4_000 }, /Continues to the right/], [{ width: 3_000, height: 30_000 }, /Continues below/]]) {
    const viewer = await open(`/${service.create({ kind: "ready", size })}`);
    await painted(page);
    const note = page.getByText(words);
    await note.waitFor();
    await assertAccessible(page);
    const { left, top, right, bottom } = await drawn();
    const { width, height } = page.viewportSize();
    if (size.width > size.height) assert.ok(left < 2 && right >= width - 2 && bottom - top > height * 0.75);
    else assert.ok(top < 100 && left < 2 && right >= width - 2);
    assert.equal(new URL(page.url()).search, "");
    await viewer.picture.focus();
    await page.keyboard.press(size.width > size.height ? "ArrowRight" : "ArrowDown");
    await assertEventually(async () => !(await note.isVisible()), "the note stays after a move");
    await viewer.home.click();
    await restingScale(viewer);
    assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
  }
});

test("the wheel zooms about the pointer", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  const before = await restingScale(viewer);
  await page.mouse.move(300, 250);
  for (let turns = 0; turns < 6; turns += 1) await page.mouse.wheel(0, -100);
  await assertEventually(async () => (await restingScale(viewer)) > before * 2, `it does not become twice ${before}`);
  const { x, y } = await placed(page);
  const { dzi } = await (await fetch(`${service.origin}/v1/content/${ready}`)).json();
  assert.ok(x < dzi.width / 2 && y < dzi.height / 2, "it did not move towards the pointer, left of and above the centre");
});

test("a double tap and drag zooms with one finger, as in maps", async () => {
  await openEmpty({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.clock.install();
  await page.goto(`${service.origin}/${ready}`);
  const viewer = parts(page);
  await painted(page);
  const before = await restingScale(viewer);
  const finger = await page.context().newCDPSession(page);
  const touch = (type, y) => finger.send("Input.dispatchTouchEvent", { type, touchPoints: y === undefined ? [] : [{ x: 195, y }] });
  // The second tap follows within 0.3 s by the page's clock.
  await page.clock.pauseAt(Date.now() + 60_000);
  await touch("touchStart", 400);
  await touch("touchEnd");
  await touch("touchStart", 400);
  for (let step = 1; step <= 12; step += 1) await touch("touchMove", 400 + step * 12);
  await touch("touchEnd");
  await page.clock.resume();
  await assertEventually(async () => (await restingScale(viewer)) > before, "it does not zoom");
});

test("a step after a rest is animated", async () => {
  await openEmpty();
  await page.clock.install();
  await page.goto(`${service.origin}/${ready}`);
  const viewer = parts(page);
  await painted(page);
  const before = await restingScale(viewer);
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.keyboard.press("+");
  await page.clock.runFor(100);
  const soon = parseInt(await viewer.scale.textContent(), 10);
  await page.clock.resume();
  const after = await restingScale(viewer);
  assert.ok(before < soon && soon < after, `${before} %, ${soon} %, ${after} %`);
});

test("the end of a move is noticed although frames come late, as on a busy machine", async () => {
  await openEmpty();
  await page.clock.install();
  await page.addInitScript(() => {
    const { requestAnimationFrame, cancelAnimationFrame } = window;
    window.requestAnimationFrame = (callback) => (window.isSlow ? setTimeout(callback, 600) : requestAnimationFrame(callback));
    window.cancelAnimationFrame = (id) => (window.isSlow ? clearTimeout(id) : cancelAnimationFrame(id));
  });
  await page.goto(`${service.origin}/${ready}`);
  await painted(page);
  await page.keyboard.press("+");
  await placed(page);
  await page.evaluate(() => (window.isSlow = true));
  await page.keyboard.press("0"); // whose tiles are loaded
  await page.clock.runFor(30_000);
  await page.waitForURL((url) => url.search === "");
});

test("a view at rest requests no frames until something changes", async () => {
  await openEmpty();
  await countFrames(page);
  await page.goto(`${service.origin}/${ready}`);
  const viewer = parts(page);
  await painted(page);
  const requested = () => page.evaluate(() => window.requested);
  const { width, height } = page.viewportSize();
  const changes = [
    () => viewer.zoomIn.click(),
    () => viewer.picture.press("ArrowLeft"),
    () => viewer.picture.press("r"),
    () => resize(page, { width: width - 300, height }),
    () => page.mouse.wheel(0, -300),
  ];
  await viewer.picture.hover();
  for (const change of changes) {
    await assertNoFrames(page, viewer);
    const before = await requested();
    await change();
    await assertEventually(async () => (await requested()) > before + 3, `nothing is drawn after ${change}`);
  }
});
