// The core of the viewer's tests in Firefox, and a pinch: it can make touches.

import assert from "node:assert/strict";

import { pinch, testsOf } from "./engines/core.mjs";
import { startFirefox } from "./engines/firefox.mjs";

const firefox = testsOf("Firefox", startFirefox);

firefox.it("two fingers zoom", async () => {
  await firefox.share("#3000,2000,2");
  const before = await firefox.resting();
  await pinch(firefox.engine(), [720, 450]);
  const pinched = await firefox.resting();
  assert.ok(pinched > before * 2, `${before} %, then ${pinched} %`);
});
