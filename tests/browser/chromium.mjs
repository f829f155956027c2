// Shared by the scripts of this folder. A script gets its arguments as JSON, drives Chromium, and prints its
// observations as JSON; the test that runs it checks them.

import { createRequire } from "node:module";

// Not imported: Node.js would parse its seven megabytes a second time, for the names of its exports.
const { chromium } = createRequire(import.meta.url)("playwright-core");

/** Runs `visit(browser, arguments)` and prints its result. */
export async function run(visit) {
  const { browser: executablePath, ...given } = JSON.parse(process.argv[2]);
  const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : []; // Chromium's own sandbox does not work for root
  const browser = await chromium.launch({ executablePath, args: [...sandbox, "--disable-quic"] });
  try {
    console.log(JSON.stringify(await visit(browser, given)));
  } finally {
    await browser.close();
  }
}
