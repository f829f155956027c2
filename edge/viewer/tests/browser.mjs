// A headless Chromium, pages that collect errors, the accessibility check, and what tests read from a viewer.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import assert from "node:assert/strict";

import { decodePng } from "../png.mjs";

/** Maximum time to wait for something that should happen at once, on a busy machine. */
const PATIENCE_MS = 20_000;

/** Debian's paths of Chromium. */
const BROWSERS = ["/usr/bin/chromium", "/usr/lib/chromium/chromium-headless-shell"];

export const executablePath = process.env.EDGEZOOM_CHROMIUM ?? BROWSERS.find(existsSync) ?? BROWSERS[0];

const require = createRequire(import.meta.url);
// Not imported: Node.js would parse its seven megabytes a second time, for the names of its exports.
const { chromium } = require("playwright-core");
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

export async function startBrowser() {
  const root = process.getuid?.() === 0;
  return chromium.launch({ executablePath, args: root ? ["--no-sandbox"] : [] });
}

/**
 * Opens a page in a context of its own. `page.wrongs` collects errors and warnings of scripts, policies and the
 * network.
 */
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
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
});

/** Returns the scale that a viewer shows, in percent, once it is stable. */
export async function restingScale(viewer) {
  let before;
  for (;;) {
    const now = parseInt(await viewer.scale.textContent(), 10);
    if (now === before) return now;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/**
 * Waits until the middle of a viewer has many colours. Uses a screenshot, because a canvas with tiles of another origin
 * cannot be read.
 */
export async function painted(page, scope = page) {
  const { region } = parts(scope);
  await region.first().waitFor();
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    if (coloursIn(await region.first().screenshot()) > 20) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the viewer painted nothing");
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

/** Waits until `holds()` returns true. */
export async function assertEventually(holds, message) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(message);
}
