// How far a picture can be zoomed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isCrisp, scaleOf, zoomRange } from "../zoom/geometry.js";

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

test("large pictures can be magnified eightfold, small ones four times beyond their first view", () => {
  const view = { width: 1000, height: 1000 };
  const most = (side) => scaleOf(zoomRange({ width: side, height: side }, view, false, "contain").most, { width: side }, view);
  near(most(20_000), 8);
  near(most(100), 40);
});

test("pixels are squares only where they are large", () => {
  assert.equal(isCrisp(1), false);
  assert.equal(isCrisp(3.9), false);
  assert.equal(isCrisp(4), true);
});
