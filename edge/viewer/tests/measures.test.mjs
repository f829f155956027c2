// The scale bar and the ruler of a picture whose pixels have a known size.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodePng } from "../png.mjs";
import { barOf, lengthWords, scaleWords } from "../zoom/lengths.js";
import { assertAccessible, assertEventually, isFocused, painted } from "./browser.mjs";
import { open, page, ready, service, setUp } from "./site.mjs";

setUp();

/** A picture of 6,000 × 4,000 pixels: 1.5 mm wide. */
const scale = { value: 2.5e-7, unit: "metre", basis: "MPP of the Aperio slide" };
const METRES = { nm: 1e-9, µm: 1e-6, mm: 1e-3, m: 1 };
const metres = (words) => {
  const [, figure, unit] = /([\d.,]+)\u202f(\S+)$/.exec(words);
  return Number(figure.replace(",", "")) * METRES[unit];
};
const ruler = () => page.getByRole("group", { name: "Ruler" });
const length = () => ruler().locator("output").textContent();

/** Opens a slide and returns the viewer. */
async function openSlide(more, fragment = "") {
  const viewer = await open(`/${service.create({ kind: "ready", scale })}${fragment}`, more);
  await painted(page);
  return viewer;
}

/** Returns the longest run of pixels in a row of a part of the page of which `holds([red, green, blue])`. */
async function longestRun(clip, holds) {
  const { width, height, channels, pixels } = decodePng(await page.screenshot({ clip }));
  let longest = 0;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0, run = 0; x < width; x += 1) {
      const at = (y * width + x) * channels;
      run = holds(pixels.subarray(at, at + 3)) ? run + 1 : 0;
      longest = Math.max(longest, run);
    }
  }
  return longest;
}

test("lengths are words in the largest unit of which there is one", () => {
  const metre = (length) => lengthWords(length, "metre").replace("\u202f", " ");
  assert.equal(metre(2.5e-7), "250 nm");
  assert.equal(metre(0.001_234_5), "1.23 mm");
  assert.equal(metre(1e-3), "1 mm");
  assert.equal(metre(12_345), "12.3 km");
  assert.equal(lengthWords(1 / 3600, "degree"), "1″");
  assert.equal(lengthWords(0.5, "degree"), "30′");
  assert.equal(lengthWords(12.5, "degree"), "12.5°");
  assert.equal(scaleWords(scale), "250\u202fnm per pixel (MPP of the Aperio slide)");
});

test("the bar is the longest of 1, 2 and 5 that has room", () => {
  for (const unit of ["metre", "degree"]) {
    for (let exponent = -11; exponent < 8; exponent += 1) {
      for (const value of [1, 1.9, 2.1, 4.9, 7]) {
        const { pixels, words } = barOf({ value: value * 10 ** exponent, unit }, 0.37, 140);
        assert.ok(pixels <= 140.001 && pixels > 140 / 2.51, `${pixels} for ${value}e${exponent} ${unit}`);
        assert.match(words, /^0?[.,0]*[125][0,]*\D+$/, words);
      }
    }
  }
  const { pixels, words } = barOf(scale, 0.5, 140);
  assert.deepEqual([Math.round(pixels), words], [100, "50\u202fµm"]);
});

test("the bar measures the picture within 1 % in a screenshot, at every zoom", async () => {
  const viewer = await openSlide({ viewport: { width: 1440, height: 900 } });
  const bar = page.getByRole("img", { name: /^Scale bar/ });
  const ground = [0xec, 0xeb, 0xe8];
  const isPicture = (colour) => colour.some((value, index) => Math.abs(value - ground[index]) > 4);
  const isDark = (colour) => colour.every((value) => value < 70);
  const measured = async () => {
    const row = { x: 0, y: 300, width: 1440, height: 1 };
    const perPixel = metres(await bar.getAttribute("aria-label")) / (await longestRun(await bar.boundingBox(), isDark));
    return (await longestRun(row, isPicture)) * perPixel;
  };
  for (const out of [0, 1, 1]) {
    // A picture that is smaller than the view is seen as a whole.
    if (out) await page.setViewportSize({ width: 1440, height: 900 - 200 * out });
    await assertEventually(async () => Math.abs((await measured()) / 1.5e-3 - 1) < 0.01, "it does not measure 1.5 mm within 1 %");
  }
  const before = await bar.getAttribute("aria-label");
  for (let times = 0; times < 4; times += 1) await viewer.zoomIn.click();
  await assertEventually(async () => metres(await bar.getAttribute("aria-label")) < metres(before) / 3, "it does not follow the zoom");
  assert.deepEqual(page.wrongs, []);
});

test("the ruler is moved by the pointer and the arrow keys, and stays at its place in the picture", async () => {
  const viewer = await openSlide();
  await viewer.picture.focus();
  await page.keyboard.press("m");
  assert.equal(await page.getByRole("button", { name: "Ruler", exact: true }).getAttribute("aria-pressed"), "true");
  await assertAccessible(page);
  const percent = parseInt(await viewer.scale.textContent(), 10) / 100;
  for (const [name, side] of [["Start", -1], ["End", 1]]) {
    const { x, y, width, height } = await page.getByRole("button", { name: `${name} of the ruler` }).boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(600 + side * 200, y + height / 2, { steps: 3 });
    await page.mouse.up();
  }
  // 400 CSS pixels; the percentage is rounded.
  const dragged = metres(await length());
  assert.ok(Math.abs(dragged / ((400 / percent) * scale.value) - 1) < 0.06, `${dragged} m`);
  const end = page.getByRole("button", { name: "End of the ruler" });
  assert.ok(await end.evaluate(isFocused));
  for (let times = 0; times < 2; times += 1) await page.keyboard.press("Shift+ArrowRight");
  assert.ok(Math.abs(metres(await length()) / dragged / (440 / 400) - 1) < 0.01, await length());

  const still = await length();
  await viewer.zoomIn.click();
  await viewer.rotate.click();
  await assertEventually(async () => {
    const [start, stop] = await Promise.all(["Start", "End"].map((name) => page.getByRole("button", { name: `${name} of the ruler` }).boundingBox()));
    return Math.abs(start.x - stop.x) < 1 && stop.y - start.y > 200;
  }, "it does not turn with the picture");
  assert.equal(await length(), still);
  await page.keyboard.press("m");
  assert.equal(await ruler().count(), 0);
});

test("the details say how large a pixel is, and what that rests on", async () => {
  await openSlide();
  await page.getByRole("button", { name: "About this picture" }).click();
  const fact = page.locator("dt", { hasText: "Scale" }).locator("xpath=following-sibling::dd[1]");
  assert.equal(await fact.textContent(), "250\u202fnm per pixel (MPP of the Aperio slide)");
});

test("a picture without a scale has neither bar nor ruler", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  await viewer.picture.focus();
  await page.keyboard.press("m");
  assert.equal(await page.getByRole("img", { name: /^Scale bar/ }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "Ruler" }).count() + (await ruler().count()), 0);
});

test("the controls fit a phone, without covering the bar of a slide or the mark of an embed", async () => {
  const id = service.create({ kind: "ready", scale });
  const embeds = [`/${id}/embed`, `/${ready}/embed`].flatMap((path) => [320, 390, 471].map((width) => [path, width]));
  for (const [path, width] of [[`/${id}`, 320], [`/${id}`, 390], ...embeds]) {
    await open(path, { viewport: { width, height: 700 }, hasTouch: true, isMobile: true });
    await painted(page);
    const controls = await page.getByRole("group", { name: "Viewer controls" }).boundingBox();
    assert.ok(controls.x >= 0 && controls.x + controls.width <= width, `${path} at ${width}`);
    for (const other of [page.getByRole("link", { name: "Open in Edgezoom" }), page.getByRole("img", { name: /^Scale bar/ })]) {
      if ((await other.count()) === 0) continue;
      const box = await other.boundingBox();
      const apart = box.x + box.width <= controls.x || box.y + box.height <= controls.y;
      assert.ok(apart, `${path} at ${width}: ${JSON.stringify({ controls, box })}`);
    }
    await assertAccessible(page);
  }
});
