// The pure parts of the viewer: limits of zooming, places in URLs, and keys.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { keyAction } from "../zoom/controls.js";
import { freeHeight, isCrisp, scaleOf, wheelFactor, zoomRange } from "../zoom/geometry.js";
import { formatPlace, parsePlace, placeText, withPlace } from "../zoom/place.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test("the home view shows the whole picture, whatever the shapes of picture and view", () => {
  const wide = { width: 4000, height: 1000 };
  near(zoomRange(wide, { width: 800, height: 800 }, false, "contain").home, 1);
  near(zoomRange({ width: 1000, height: 4000 }, { width: 800, height: 400 }, false, "contain").home, 1 / 8);
});

test("a picture that covers its view can be zoomed out until it is whole", () => {
  const range = zoomRange({ width: 4000, height: 1000 }, { width: 800, height: 800 }, false, "cover");
  near(range.home, 4);
  near(range.least, 1);
});

test("a rotated picture is measured by its other side", () => {
  const range = zoomRange({ width: 4000, height: 1000 }, { width: 400, height: 800 }, true, "contain");
  near(scaleOf(range.home, { width: 4000 }, { width: 400 }), 0.2);
});

test("large pictures can be magnified eightfold, small ones until they fill the view, vectors 64 times", () => {
  const view = { width: 1000, height: 1000 };
  const most = (side, vectors) => scaleOf(zoomRange({ width: side, height: side, vectors }, view, false, "contain").most, { width: side }, view);
  near(most(20_000), 8);
  near(most(100), 10);
  near(most(20_000, true), 64);
});

test("a small picture opens at its own size, a large one in the uncovered view", () => {
  const view = { width: 1000, height: 800 };
  const home = (picture, covered) => scaleOf(zoomRange(picture, view, false, "contain", covered).home, picture, view);
  near(home({ width: 100, height: 50 }), 1);
  near(home({ width: 2000, height: 8000 }, { top: 70, bottom: 80 }), 650 / 8000);
  near(home({ width: 8000, height: 2000 }, { top: 70, bottom: 80 }), 1 / 8);
});

test("a whole picture leaves the rest of the view's height free", () => {
  const view = { width: 800, height: 260 };
  near(freeHeight({ width: 8000, height: 2000 }, view, false), 60);
  near(freeHeight({ width: 8000, height: 2000 }, view, true), 0);
  near(freeHeight({ width: 80, height: 20 }, view, false), 240);
});

test("an elongated picture opens with its shorter side filling the view, others whole", () => {
  const opened = (width, height, view) => {
    const range = zoomRange({ width, height }, view, false, "contain");
    return scaleOf(range.opening, { width }, view);
  };
  const screen = { width: 1280, height: 800 };
  near(opened(40_000, 4_000, screen), 0.2);
  near(opened(2_560, 30_000, screen), 0.5);
  near(opened(6_000, 4_000, { width: 390, height: 844 }), 390 / 6_000);
  near(opened(1_000, 100, screen), 1);
});

test("the wheel zooms in proportion to its turn, at most by a third per event", () => {
  const turned = (deltaY, more) => wheelFactor({ deltaY, deltaMode: 0, ctrlKey: false, ...more });
  near(turned(-50) * turned(-50), turned(-100));
  near(turned(100) * turned(-100), 1);
  assert.ok(turned(-3000) < 4 / 3);
  near(turned(-3, { deltaMode: 1 }), turned(-99));
  assert.ok(turned(-10, { ctrlKey: true }) > turned(-10));
});

test("only large pixels are drawn as squares", () => {
  assert.equal(isCrisp(1), false);
  assert.equal(isCrisp(3.9), false);
  assert.equal(isCrisp(4), true);
});

const PICTURE = { width: 6000, height: 4000 };

test("a place survives formatting and parsing", () => {
  for (const [turn, text] of [[0, "1234.5,0,7.125"], [270, "1234.5,0,7.125,270"]]) {
    const place = { x: 1234.5, y: 0, zoom: 7.125, turn };
    assert.equal(formatPlace(place), text);
    assert.deepEqual(parsePlace(text, PICTURE), place);
  }
});

test("places have the grammar of the server, which is tested with the same texts", async () => {
  const { places, others } = JSON.parse(await readFile(new URL("places.json", import.meta.url)));
  for (const text of places) assert.ok(parsePlace(text, PICTURE), text);
  for (const text of others) assert.equal(parsePlace(text, PICTURE), null, text);
});

test("a place has as many digits as its scale needs, three at most", () => {
  const text = (scale) => formatPlace({ x: 12.345678, y: 2, zoom: 3, turn: 0, scale });
  assert.deepEqual([0.1, 1, 10, 11, 64, 101, 1e6].map(text), ["12.3,2,3", "12.3,2,3", "12.3,2,3", "12.35,2,3", "12.35,2,3", "12.346,2,3", "12.346,2,3"]);
});

test("a place beyond the picture's edge is clamped", () => {
  assert.equal(formatPlace({ x: -20.04, y: 3.14159, zoom: 2, turn: 0 }), "0,3.1,2");
  assert.deepEqual(parsePlace("6001,4001,1", PICTURE), { x: 6000, y: 4000, zoom: 1, turn: 0 });
});

test("a URL has one place, and keeps its other parameters", () => {
  const named = (url) => placeText(new URL(url));
  assert.equal(named("https://a.example/b?at=1,2,3,90#top"), "1,2,3,90");
  assert.equal(named("https://a.example/b?at=1%2C2%2C3#4,5,6"), "4,5,6");
  assert.equal(named("https://a.example/b?at=x"), "");
  assert.equal(withPlace("https://a.example/b?c=%20&at=1,2,3&d#4,5,6", "7,8,9"), "https://a.example/b?c=%20&d&at=7,8,9");
  assert.equal(withPlace("https://a.example/b?at=1,2,3", ""), "https://a.example/b");
});

test("keys are identified by their character, and combinations are left to the browser", () => {
  const key = (key, held = {}) => keyAction({ key, ctrlKey: false, metaKey: false, altKey: false, ...held }, true);
  assert.deepEqual(key("+"), { press: "zoomIn" });
  assert.deepEqual(key("F"), { press: "fullscreen" });
  assert.deepEqual(key("ArrowLeft"), { pan: [-1, 0] });
  assert.equal(key("+", { ctrlKey: true }), null);
  assert.equal(key("0", { metaKey: true }), null);
  assert.equal(key("toString"), null);
  assert.equal(keyAction({ key: "ArrowLeft" }, false), null);
});
