// How far a picture can be zoomed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isCrisp, scaleOf, wheelFactor, zoomRange } from "../zoom/geometry.js";

const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test("a picture is whole at home, whatever its shape and the view's", () => {
  const wide = { width: 4000, height: 1000 };
  near(zoomRange(wide, { width: 800, height: 800 }, false, "contain").home, 1);
  near(zoomRange({ width: 1000, height: 4000 }, { width: 800, height: 400 }, false, "contain").home, 1 / 8);
});

test("a picture that covers its view can still be zoomed out until it is whole", () => {
  const range = zoomRange({ width: 4000, height: 1000 }, { width: 800, height: 800 }, false, "cover");
  near(range.home, 4);
  near(range.least, 1);
});

test("a picture that lies on its side is measured by its other side", () => {
  const range = zoomRange({ width: 4000, height: 1000 }, { width: 400, height: 800 }, true, "contain");
  near(scaleOf(range.home, { width: 4000 }, { width: 400 }), 0.2);
});

test("large pictures can be magnified eightfold, small ones until they fill the view", () => {
  const view = { width: 1000, height: 1000 };
  const most = (side) => scaleOf(zoomRange({ width: side, height: side }, view, false, "contain").most, { width: side }, view);
  near(most(20_000), 8);
  near(most(100), 10);
});

test("a small picture opens at its own size, a large one beside what covers the view", () => {
  const view = { width: 1000, height: 800 };
  const home = (picture, covered) => scaleOf(zoomRange(picture, view, false, "contain", covered).home, picture, view);
  near(home({ width: 100, height: 50 }), 1);
  near(home({ width: 2000, height: 8000 }, { top: 70, bottom: 80 }), 650 / 8000);
  near(home({ width: 8000, height: 2000 }, { top: 70, bottom: 80 }), 1 / 8);
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

test("the wheel zooms by as much as it turns, and one notch by no more than a third", () => {
  const turned = (deltaY, more) => wheelFactor({ deltaY, deltaMode: 0, ctrlKey: false, ...more });
  near(turned(-50) * turned(-50), turned(-100));
  near(turned(100) * turned(-100), 1);
  assert.ok(turned(-3000) < 4 / 3);
  near(turned(-3, { deltaMode: 1 }), turned(-99));
  assert.ok(turned(-10, { ctrlKey: true }) > turned(-10));
});

test("pixels are squares only where they are large", () => {
  assert.equal(isCrisp(1), false);
  assert.equal(isCrisp(3.9), false);
  assert.equal(isCrisp(4), true);
});
