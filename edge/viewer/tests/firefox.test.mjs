// The core of the viewer's tests in Firefox, and gestures of fingers: it can make touches.

import { hold, pinch, testsOf, until } from "./engines/core.mjs";
import { startFirefox } from "./engines/firefox.mjs";

const firefox = testsOf("Firefox", startFirefox);

firefox.it("two fingers zoom", async () => {
  await firefox.share("#3000,2000,2");
  const before = await firefox.resting();
  await pinch(firefox.engine(), [720, 450]);
  await until(`it is more than twice ${before} %`, async () => (await firefox.resting()) > before * 2);
});

for (const place of ["page", "embed"]) {
  for (const turn of [0, 90]) {
    firefox.it(`a finger that rests selects a word in ${place} at ${turn}°`, async () => {
      const at = await firefox.openManual(place, turn);
      await hold(firefox.engine(), at(6), at(14));
      await firefox.isMarked("selected", 2);
    });
  }
}
