// What runs before and after the tests of a file.

import { after, before } from "node:test";

/**
 * Runs `start` before the tests of a file, and `stop` after them. If no test matches a pattern, Node.js runs `after`
 * while `before` still runs, and what that starts later would keep the process running for ever.
 */
export function aroundTests(start, stop) {
  let started;
  before(() => (started = start()));
  after(async () => {
    await Promise.allSettled([started]); // `before` has reported its error
    await stop();
  });
}
