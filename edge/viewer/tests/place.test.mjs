// Places in addresses.

import assert from "node:assert/strict";
import { test } from "node:test";

import { formatPlace, parsePlace } from "../zoom/place.js";

const PICTURE = { width: 6000, height: 4000 };

test("a place is read back as it was written", () => {
  const place = { x: 1234.5, y: 0, zoom: 7.125 };
  assert.equal(formatPlace(place), "#1234.5,0,7.125");
  assert.deepEqual(parsePlace(formatPlace(place), PICTURE), place);
});

test("what is no place in the picture is none", () => {
  const malformed = ["", "#", "#top", "#1,2", "#1,2,3,4", "#1e3,1,1", "#NaN,1,1", "#1,2,3;"];
  for (const fragment of [...malformed, "#1,2,0", "#-1,2,3", "#6001,1,1", "#1,4001,1"]) {
    assert.equal(parsePlace(fragment, PICTURE), null, fragment);
  }
});

test("a view beyond the picture's edge is written as the edge", () => {
  assert.equal(formatPlace({ x: -20.04, y: 3.14159, zoom: 2 }), "#0,3.1,2");
});
