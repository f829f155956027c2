// The core of the viewer's tests, for engines beside Chromium: home page, progress, wheel, drag, keys, pinch, embed,
// words, share page, dark colours, a narrow window, and screenshots compared with Chromium's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodePng } from "../../png.mjs";
import { assertEventually, coloursIn, newPage, startBrowser } from "../browser.mjs";
import { manual } from "../manual.mjs";
import { startHost } from "../servers.mjs";
import { startFakeService } from "../fake_service.mjs";
import { aroundTests } from "../../../tests/around.mjs";
import { assertTilesDecode } from "./tiles.mjs";
import { assertVectors } from "./vector.mjs";

const WIDE = [1440, 900];
/** The narrowest window that all engines have. */
const NARROW = [448, 844];
/** Largest share of cells in which a screenshot may differ from Chromium's. */
const DIFFERENT = 0.02;

/** Registers the tests for an engine; `start({ dark })` starts it. */
export function testsOf(name, start) {
  let engine;
  let service;
  let host;
  let ready;
  let chromium;

  aroundTests(async () => {
    [engine, service, host] = await Promise.all([start(), startFakeService(), startHost()]);
    ready = service.ready();
    await engine.resize(...WIDE);
  }, () => Promise.all([engine, service, host, chromium].map((one) => one?.close())));

  const it = (behaviour, body) =>
    test(`${name}: ${behaviour}`, async () => {
      engine.wrongs.length = 0;
      await body();
      assert.deepEqual(engine.wrongs, []);
    });
  const seen = (selector) => boxOf(engine, selector);
  const text = (selector) => engine.evaluate(inPage, selector, "text");
  const percent = async () => parseInt(await text(".scale"), 10);
  const share = async (fragment = "") => {
    await engine.open("about:blank"); // a fragment alone would load nothing
    await engine.open(`${service.origin}/${ready}${fragment}`);
    await painted(engine);
  };
  /** Waits until the view rests, and returns its percentage. */
  async function resting() {
    await until("the view rests", () => seen("[data-at-rest]"));
    return percent();
  }

  it("the home page takes a URL and leads to the picture", async () => {
    await engine.open(service.origin);
    // A window that has just appeared ignores clicks until it is active.
    await until("the field has the focus", async () => {
      await click(engine, "#url");
      return engine.evaluate(() => document.activeElement.id === "url");
    });
    await type(engine, "https://example.com/a.jpg");
    await click(engine, "#ask button[type=submit]");
    await until("the share page is open", () => engine.evaluate(() => location.pathname.length === 12));
    await painted(engine);
  });

  it("a collection of 20,000 pictures shows its first and its last ones", async () => {
    service.collection.size = 20_000;
    await engine.open(`${service.origin}/c/drawings`);
    await until("the first are shown", () => seen(".entries img"));
    await until("all are counted", async () => (await text("#counts")) === "19,600 pictures");
    await engine.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    const isLast = () => engine.evaluate(() => [...document.querySelectorAll(".entries b")].some((name) => name.textContent === "sheet 20000.tif"));
    await until("the last are shown", isLast);
    assert.ok((await engine.evaluate(() => document.querySelectorAll(".entries li").length)) <= 2000);
    await engine.evaluate(() => document.getElementById("q").focus());
    await type(engine, "drawing 1999");
    await until("six are found", async () => (await text("#counts")) === "6 found");
    assert.equal(await engine.evaluate(() => document.querySelectorAll("#results a").length), 6);
  });

  it("progress is shown, then the picture", async () => {
    const { id, report, finish } = service.slow();
    await engine.open(`${service.origin}/${id}`);
    await until("there is progress", () => seen("progress"));
    report({ stage: "rendering", progress: 0.42 });
    await until("the progress is 42 %", async () => (await text(".figure"))?.startsWith("42"));
    finish();
    await painted(engine);
    assert.equal(await seen("progress"), null);
  });

  it("the wheel zooms about the pointer, and dragging moves the picture", async () => {
    await share("#3000,2000,4");
    const before = await resting();
    await move(engine, 720, 450);
    await engine.act({ type: "wheel", id: "wheel", actions: [{ type: "scroll", x: 720, y: 450, deltaX: 0, deltaY: -240 }] });
    await until("it is nearer", async () => (await percent()) > before);
    await resting();
    const placed = await until("the place is in the address", () => placeOf(engine));
    assert.ok(Math.abs(placed.x - 3000) < 60 && Math.abs(placed.y - 2000) < 60, JSON.stringify(placed));
    await drag(engine, [720, 450], [520, 450]);
    await until("it has moved", async () => (await placeOf(engine))?.x > placed.x + 20);
  });

  for (const zoom of [1.5, 0.8]) {
    it(`with a CSS zoom of ${zoom} of the page the point below the pointer stays`, async () => {
      const id = service.create({ kind: "ready", ...manual(1) });
      await engine.open(host.put(`<style>body { zoom: ${zoom} }</style><script src="${service.origin}/${id}.js?height=600"></script>`));
      await painted(engine);
      const heading = () => seen(".words > :first-child");
      const start = await until("the heading is there", heading);
      const at = [start.right + start.height, start.bottom];
      const isAt = ([x, y], by, what) =>
        until(what, async () => {
          const box = await heading();
          const expected = [x - start.height * by, y, start.height * by];
          return box && [box.right, box.bottom, box.height].every((value, index) => Math.abs(value - expected[index]) < 2);
        });
      await engine.act(mouse(to(at), DOWN, UP, DOWN, UP));
      await isAt(at, 2, "a double click zooms about the pointer");
      await drag(engine, at, [at[0] + 60, at[1] + 40]);
      await isAt([at[0] + 60, at[1] + 40], 2, "the picture follows the pointer");
    });
  }

  it("keys zoom, move, rotate and go home", async () => {
    await share();
    const home = await resting();
    await engine.evaluate(inPage, ".openseadragon-canvas", "focus");
    await type(engine, "+");
    await until("plus zooms in", async () => (await percent()) > home);
    await resting();
    const placed = await until("the place is in the address", () => placeOf(engine));
    await type(engine, "\uE014");
    await until("the arrow moves it", async () => (await placeOf(engine))?.x > placed.x + 10);
    await type(engine, "0");
    await until("0 shows it whole", async () => (await percent()) === home);
    await type(engine, "r");
    // Turned, its longer side has to fit into the height.
    await until("r turns it", async () => Math.abs((await percent()) / home - 2 / 3) < 0.1);
  });

  it("keys work at once, and a click leaves no focus ring", async () => {
    await share();
    const home = await resting();
    await type(engine, "+");
    await until("plus zooms in", async () => (await percent()) > home);
    await resting();
    await engine.act(mouse(to([720, 450]), DOWN, UP));
    await until("the picture has the focus", () => engine.evaluate(inPage, ".openseadragon-canvas", "focused"));
    assert.equal(await engine.evaluate(inPage, ".openseadragon-canvas", "ring"), false);
    await type(engine, "r");
    await until("the rotation is in the address", () => engine.evaluate(() => location.search.endsWith(",90")));
    await type(engine, TAB);
    await type(engine, SHIFT + TAB, { held: 1 });
    // Firefox without a screen has no active window, and without one no rings.
    if (await engine.evaluate(() => document.hasFocus())) await until("the Tab key makes a ring", () => engine.evaluate(inPage, ".openseadragon-canvas", "ring"));
  });

  it("a line separates the zoom from the other controls", async () => {
    await share();
    const [before, after] = [await seen(".zoomIn"), await seen(".home")];
    const { pixels, channels, width } = decodePng(await engine.screenshot());
    const level = (x) => pixels[(Math.round((after.top + after.bottom) / 2) * width + x) * channels];
    const gap = Array.from({ length: Math.floor(after.left - before.right) }, (_, x) => Math.ceil(before.right) + x);
    const dark = gap.filter((x) => level(x) < Math.max(...gap.map(level)) - 10);
    assert.equal(dark.length, 1, `${gap.map(level)}`);
  });

  it("an embed shows the picture in a page of another site", async () => {
    await engine.open(host.put(`<script src="${service.origin}/${ready}.js?height=400px"></script><p>after</p>`));
    await painted(engine);
    const { height, width } = await seen(".viewer");
    assert.equal(height, 400);
    assert.ok(width > 1000, `${width}`);
    assert.ok(await seen(".attribution"));
  });

  it("the share page offers links, and the details of the picture", async () => {
    await share("#3000,2000,4");
    await click(engine, "#open-share");
    const link = await until("the dialog is open", () => engine.evaluate(() => document.querySelector("dialog[open] .line input")?.value));
    assert.equal(link, `${service.origin}/${ready}`);
    await click(engine, "dialog[open] .plain");
    await click(engine, "#open-details");
    await until("the details are open", () => engine.evaluate(() => /6,000 × 4,000 pixels/.test(document.querySelector("dialog[open]")?.textContent)));
  });

  it("in a narrow window the controls are in view and nothing overflows", async () => {
    await engine.resize(...NARROW);
    try {
      for (const path of ["", ready]) {
        await engine.open(`${service.origin}/${path}`);
        if (path) await painted(engine);
        const width = await engine.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= NARROW[0], `the page is ${width} pixels wide`);
      }
      const { left, right, bottom } = await seen(".controls");
      assert.ok(left >= 0 && right <= NARROW[0] && bottom <= NARROW[1]);
      assert.ok((await seen("#open-share")).right <= NARROW[0]);
      // A frame of 390 pixels in a wider page.
      await engine.open(host.put(`<iframe src="${service.origin}/${ready}/embed" width="390" height="600" style="border:0"></iframe>`));
      await until("the frame is painted", async () => coloursIn(await engine.screenshot()) > 20);
    } finally {
      await engine.resize(...WIDE);
    }
  });

  it("a ruler measures the same length as in Chromium", async () => {
    const scale = { value: 2.5e-7, unit: "metre", basis: "MPP of the Aperio slide" };
    const slide = service.create({ kind: "ready", scale });
    await engine.open(`${service.origin}/${slide}#3000,2000,4`);
    await painted(engine);
    await engine.evaluate(inPage, ".openseadragon-canvas", "focus");
    await type(engine, "m");
    // 0.36 of the view, which is a quarter of 1.5 mm wide.
    await until("the ruler says 135 µm", async () => (await text(".length")) === "135\u202fµm");
    const { width } = await seen(".bar i");
    assert.equal(await text(".bar span"), "20\u202fµm");
    assert.ok(Math.abs(width / 1440 - 20 / 375) < 0.001, `${width}`);
  });

  /** Opens a manual in a page or in an embed, with a search, at an angle. Returns the place of a letter of its first line. */
  async function openManual(place, turn = 0) {
    const id = service.create({ kind: "ready", ...manual(6) });
    const embed = `<script src="${service.origin}/${id}.js?height=700&q=cafe"></script>`;
    await engine.open(place === "embed" ? host.put(embed) : `${service.origin}/${id}?q=cafe`);
    await until("the search of the URL is open", async () => (await text(".count")) === "1 of 6");
    await engine.evaluate(inPage, ".openseadragon-canvas", "focus");
    if (turn) await type(engine, "r");
    await until("the words are turned", async () => {
      const box = await seen(".words > :nth-child(2)"); // The tide of day 1 …
      return box && (turn ? box.height > box.width : box.width > box.height);
    });
    await resting();
    const { left, top, right, bottom } = await seen(".words > :nth-child(2)");
    const share = (offset) => offset / "The tide of day 1 rises in the harbour, as the exam\u00ad".length;
    return (offset) => (turn ? [(left + right) / 2, top + share(offset) * (bottom - top)] : [left + share(offset) * (right - left), (top + bottom) / 2]);
  }
  const shows = (words) => until(`"${words}" is in view`, async () => (await text(".words"))?.includes(words));
  const isMarked = (kind, child) =>
    until(`${kind} words are marked`, async () => {
      const [mark, line] = [await seen(`.${kind} i`), await seen(`.words > :nth-child(${child})`)];
      return mark && mark.left > line.left - 2 && mark.right < line.right + 2 && mark.top > line.top - 2 && mark.bottom < line.bottom + 2;
    });

  for (const place of ["page", "embed"]) {
    for (const turn of [0, 90]) {
      it(`words are found, selected, copied and followed in ${place} at ${turn}°`, async () => {
        const at = await openManual(place, turn);
        await isMarked("current", 3);
        await engine.evaluate(() => addEventListener("copy", ({ clipboardData }) => (window.copied = clipboardData.getData("text/plain"))));
        await drag(engine, at(4.2), at(15));
        await isMarked("selected", 2);
        await type(engine, CONTROL + "c", { held: 1 });
        await until("they are copied", async () => (await engine.evaluate(() => window.copied)) === "tide of day");
        const { left, top, right, bottom } = await seen(".links [href$='page=2']");
        await engine.act(mouse(to([(left + right) / 2, (top + bottom) / 2]), DOWN, UP));
        await until("the link is followed", () => engine.evaluate(inPage, ".pages input", "2"));
        await engine.evaluate(inPage, ".pages input", "focus");
        await type(engine, CONTROL + "a", { held: 1 }); // Firefox without a screen has no events of focus
        await type(engine, "5\uE007");
        await shows("Chapter 5");
        await engine.evaluate(inPage, ".openseadragon-canvas", "focus");
        await type(engine, "/");
        await until("the field has the focus", () => engine.evaluate(inPage, ".find input", "focused"));
        await type(engine, "day 3");
        await until("they are found", async () => (await text(".count")) === "1 of 1");
        await shows("Chapter 3");
      });
    }
  }

  it("tiles decode as in libjpeg-turbo", () => assertTilesDecode(engine));

  it("vectors are sharp, and where the pixels are", () => assertVectors(engine));

  it("dark colours are used where the reader prefers them", async () => {
    const dark = await start({ dark: true });
    try {
      await dark.resize(...WIDE);
      await dark.open(service.origin);
      assert.equal(await dark.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches), true);
      chromium ??= await startBrowser();
      await sameAs(chromium, dark, service.origin, { colorScheme: "dark" });
      await dark.open(`${service.origin}/${ready}`);
      await painted(dark);
      const ground = await dark.evaluate(() => getComputedStyle(document.querySelector(".share")).backgroundColor);
      assert.equal(ground, "rgb(18, 19, 21)");
    } finally {
      await dark.close();
    }
  });

  it("screenshots have the structure of Chromium's", async () => {
    await engine.open(service.origin);
    await engine.evaluate(() => localStorage.clear()); // the pictures seen recently
    chromium ??= await startBrowser();
    for (const path of ["/", `/${ready}`, `/${ready}/embed`]) {
      await engine.open(service.origin + path);
      if (path !== "/") await painted(engine);
      await sameAs(chromium, engine, service.origin + path);
    }
  });
  return { it, engine: () => engine, share, resting, openManual, isMarked };
}

/** Compares what an engine shows with Chromium's picture of the page, until both are complete. */
async function sameAs(chromium, engine, url, options = {}) {
  const [width, height] = WIDE;
  const page = await newPage(chromium, { viewport: { width, height }, ...options });
  await page.goto(url);
  let share;
  await until(`${url} looks as in Chromium`, async () => {
    share = difference(await engine.screenshot(), await page.screenshot());
    return share <= DIFFERENT;
  }).catch((error) => assert.fail(`${error.message}: ${(share * 100).toFixed(1)} % of the cells differ`));
  await page.context().close();
}

/** Waits until `holds()` returns something true, and returns that. */
export const until = (what, holds) => assertEventually(holds, `not true in time: ${what}`);

export const painted = (engine) =>
  until("the picture is painted", async () => (await boxOf(engine, "[data-at-rest]")) && coloursIn(await engine.screenshot()) > 20);

export const boxOf = (engine, selector) => engine.evaluate(inPage, selector, "box");

const mouse = (...actions) => ({ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions });
const to = ([x, y], duration = 0) => ({ type: "pointerMove", x: Math.round(x), y: Math.round(y), duration });
const [DOWN, UP] = ["pointerDown", "pointerUp"].map((type) => ({ type, button: 0 }));

const move = (engine, x, y) => engine.act(mouse(to([x, y])));

/**
 * Clicks an element, once it is under the pointer: a page that has just been laid out may still get events at old
 * places.
 */
async function click(engine, selector) {
  await until(`${selector} is under the pointer`, async () => {
    const box = await boxOf(engine, selector);
    if (!box) return false;
    await move(engine, (box.left + box.right) / 2, (box.top + box.bottom) / 2);
    return engine.evaluate((name) => document.querySelector(name).matches(":hover"), selector);
  });
  await engine.act(mouse(DOWN, UP));
}

const drag = (engine, from, target) => engine.act(mouse(to(from), DOWN, to(target, 200), UP));

/** Keys without a character are in WebDriver's private range. */
export const [TAB, SHIFT, CONTROL] = ["\uE004", "\uE008", "\uE009"];

/** Presses keys, of which the first `held` are held down. */
export async function type(engine, keys, { held = 0 } = {}) {
  const [down, up] = ["keyDown", "keyUp"].map((kind) => (value) => ({ type: kind, value }));
  const modifiers = [...keys].slice(0, held);
  const actions = [...modifiers.map(down), ...[...keys].slice(held).flatMap((key) => [down(key), up(key)]), ...modifiers.map(up)];
  await engine.act({ type: "key", id: "keyboard", actions });
}

/**
 * Moves two fingers apart, from a point. They take turns: Firefox makes a pointer event of only the first of several
 * touches that change at once, if that one is prevented.
 */
export async function pinch(engine, [x, y]) {
  const steps = [80, 120, 160, 200, 240];
  const finger = (id, side, turn) => {
    const inTurn = (action) => (turn === 0 ? [action, { type: "pause", duration: 20 }] : [{ type: "pause", duration: 20 }, action]);
    const actions = [to([x + side * 60, y]), DOWN, ...steps.map((distance) => to([x + side * distance, y])), UP];
    return { type: "pointer", id, parameters: { pointerType: "touch" }, actions: actions.flatMap(inTurn) };
  };
  await engine.act(finger("left", -1, 0), finger("right", 1, 1));
}

/** Rests a finger on a place until a word is selected, moves it and lifts it. */
export async function hold(engine, from, target) {
  const finger = (...actions) => engine.act({ type: "pointer", id: "finger", parameters: { pointerType: "touch" }, actions });
  await finger(to(from), DOWN);
  await until("a word is selected", () => boxOf(engine, ".selected i"));
  await finger(to(target, 100), UP);
}

async function placeOf(engine) {
  const at = await engine.evaluate(() => new URLSearchParams(location.search).get("at"));
  const [x, y, zoom] = at?.split(",").map(Number) ?? [];
  return at ? { x, y, zoom } : null;
}

/** Runs in the page: finds an element in any shadow root. Returns what is wanted of it, or gives it the focus. */
export function inPage(selector, wanted) {
  const find = (root) => root.querySelector(selector) ?? [...root.querySelectorAll("*")].map((host) => host.shadowRoot && find(host.shadowRoot)).find(Boolean);
  const found = find(document);
  if (wanted === "text") return found?.textContent;
  if (wanted === "focus") return found.focus();
  if (wanted === "2") return found?.value === wanted;
  if (wanted === "focused") return found.getRootNode().activeElement === found;
  if (wanted === "ring") return getComputedStyle(found, "::after").content !== "none";
  if (!found?.checkVisibility()) return null;
  const { left, top, right, bottom, width, height } = found.getBoundingClientRect();
  return { left, top, right, bottom, width, height };
}

/** Side of a cell in pixels. */
const CELL = 24;
/** Lightness, of 255, by which a cell may differ before it counts as different. */
const TOLERANCE = 28;

/**
 * Compares screenshots of two engines by structure: what is where, and how light. Glyphs and antialiasing differ
 * between engines, so both are reduced to cells that are larger than a letter. Returns the share of cells that differ:
 * neither like the same cell of the other screenshot, nor like one beside it.
 */
function difference(one, other) {
  const [a, b] = [cellsOf(one), cellsOf(other)];
  if (a.columns !== b.columns || a.rows !== b.rows) return 1;
  let different = 0;
  for (let row = 0; row < a.rows; row += 1) {
    for (let column = 0; column < a.columns; column += 1) {
      const isLike = (right, down) => {
        const [x, y] = [column + right, row + down];
        if (x < 0 || y < 0 || x >= b.columns || y >= b.rows) return false;
        return Math.abs(a.light[row * a.columns + column] - b.light[y * b.columns + x]) <= TOLERANCE;
      };
      const around = [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]];
      if (!around.some(([right, down]) => isLike(right, down))) different += 1;
    }
  }
  return different / (a.columns * a.rows);
}

/** Returns the mean lightness of each cell. */
function cellsOf(png) {
  const { width, height, channels, pixels } = decodePng(png);
  const [columns, rows] = [Math.floor(width / CELL), Math.floor(height / CELL)];
  const light = new Float64Array(columns * rows);
  for (let y = 0; y < rows * CELL; y += 1) {
    for (let x = 0; x < columns * CELL; x += 1) {
      const at = (y * width + x) * channels;
      const value = 0.299 * pixels[at] + 0.587 * pixels[at + 1] + 0.114 * pixels[at + 2];
      light[Math.floor(y / CELL) * columns + Math.floor(x / CELL)] += value / (CELL * CELL);
    }
  }
  return { columns, rows, light };
}
