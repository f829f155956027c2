// A headless Chromium, pages that collect errors, the accessibility check, and what tests read from a viewer.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import assert from "node:assert/strict";

import { PATIENCE_MS } from "../../tests/patience.mjs";
import { decodePng } from "../png.mjs";

/** Debian's paths of Chromium. */
const BROWSERS = ["/usr/bin/chromium", "/usr/lib/chromium/chromium-headless-shell"];

export const executablePath = process.env.EDGEZOOM_CHROMIUM ?? BROWSERS.find(existsSync) ?? BROWSERS[0];

const require = createRequire(import.meta.url);
// Not imported: Node.js would parse its seven megabytes a second time, for the names of its exports.
const { chromium } = require("playwright-core");
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

export async function startBrowser() {
  const root = process.getuid?.() === 0;
  return chromium.launch({ executablePath, args: root ? ["--no-sandbox"] : [], timeout: PATIENCE_MS });
}

/**
 * Opens a page in a context of its own. `page.wrongs` collects errors and warnings of scripts, policies and the
 * network.
 */
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.wrongs = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.wrongs.push(message.text());
  });
  page.on("pageerror", (error) => page.wrongs.push(String(error)));
  return page;
}

/** Fails if axe-core finds a violation in any frame or shadow root. */
export async function assertAccessible(page, options = {}) {
  for (const frame of page.frames()) {
    // This bypasses the page's policy, which forbids other scripts and eval.
    await frame.evaluate(axe);
    const { violations } = await frame.evaluate((settings) => globalThis.axe.run(document, { iframes: false, ...settings }), options);
    const found = violations.map(({ id, nodes }) => [id, ...nodes.map((node) => node.target), nodes[0].failureSummary].join(" | "));
    assert.deepEqual(found, [], frame.url());
    await frame.evaluate(() => delete globalThis.axe);
  }
}

/** Returns locators for the parts of a viewer. */
export const parts = (scope) => ({
  region: scope.getByRole("region", { name: /Zoomable picture/ }),
  picture: scope.getByRole("application", { name: "Picture" }),
  zoomIn: scope.getByRole("button", { name: "Zoom in" }),
  zoomOut: scope.getByRole("button", { name: "Zoom out" }),
  home: scope.getByRole("button", { name: /^Show the (whole picture|first page)$/ }),
  rotate: scope.getByRole("button", { name: "Rotate by 90°" }),
  fullscreen: scope.getByRole("button", { name: /ullscreen/ }),
  scale: scope.locator(".scale"),
  atRest: scope.locator("[data-at-rest]"),
});

/** Returns the scale that a viewer shows, in percent, when its view is at rest. Sees a new size after two frames. */
export async function restingScale(viewer) {
  await viewer.scale.evaluate(async () => {
    for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame);
  });
  await viewer.atRest.waitFor({ state: "attached" });
  return parseInt(await viewer.scale.textContent(), 10);
}

/** Changes the size of a page, and waits until the page has it. */
export async function resize(page, size) {
  await page.setViewportSize(size);
  await page.waitForFunction(({ width, height }) => innerWidth === width && innerHeight === height, size);
}

/** Counts the frames that a page requests, for `assertNoFrames`. Call it before the page is opened. */
export function countFrames(page) {
  return page.addInitScript(() => {
    const { requestAnimationFrame } = window;
    window.nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    window.requested = 0;
    window.requestAnimationFrame = (callback) => {
      window.requested += 1;
      return requestAnimationFrame(callback);
    };
  });
}

/** Waits until a view is at rest, and fails if it requests a frame in the time of 30. */
export async function assertNoFrames(page, viewer) {
  await restingScale(viewer);
  const requested = await page.evaluate(async () => {
    const before = window.requested;
    for (let frames = 0; frames < 30; frames += 1) await window.nextFrame();
    return window.requested - before;
  });
  assert.equal(requested, 0);
}

/**
 * Waits until the view is at rest and the middle of a viewer has many colours. Uses a screenshot, because a canvas with
 * tiles of another origin cannot be read.
 */
export async function painted(page, scope = page) {
  const { region, atRest } = parts(scope);
  await region.first().scrollIntoViewIfNeeded(); // a frame out of view is not painted
  await atRest.first().waitFor({ state: "attached" });
  await assertEventually(async () => coloursIn(await region.first().screenshot()) > 20, "the viewer painted nothing");
}

/** Returns the number of colours in the middle half of a picture. */
export function coloursIn(png) {
  const { width, height, channels, pixels } = decodePng(png);
  const colours = new Set();
  for (let y = Math.round(height / 4); y < Math.round((height * 3) / 4); y += 1) {
    for (let x = Math.round(width / 4); x < Math.round((width * 3) / 4); x += 1) {
      const at = (y * width + x) * channels;
      colours.add((pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2]);
    }
  }
  return colours.size;
}

/** Returns the globals that a page's scripts have left. */
export function globalsLeft(page) {
  return page.evaluate(() => {
    const frame = document.body.appendChild(document.createElement("iframe"));
    const usual = new Set(Object.getOwnPropertyNames(frame.contentWindow));
    frame.remove();
    return Object.getOwnPropertyNames(window).filter((name) => !usual.has(name) && Number.isNaN(Number(name)));
  });
}

/** Returns true if an element has the focus in its root; for `evaluate`. */
export const isFocused = (element) => element === element.getRootNode().activeElement;

/** Returns the place in a URL, or null if there is none. */
export function placeIn(url) {
  const at = new URL(url).searchParams.get("at");
  const [x, y, zoom, turn = 0] = at?.split(",").map(Number) ?? [];
  return at && { x, y, zoom, turn };
}

/** Waits until the page's URL has a place that passes `check`, and returns it. */
export async function placed(page, check = () => true) {
  await page.waitForURL((url) => placeIn(url) !== null && check(placeIn(url)));
  return placeIn(page.url());
}

/** Waits until `holds()` returns something true, and returns that. */
export async function assertEventually(holds, message) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const held = await holds();
    if (held) return held;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(message);
}
