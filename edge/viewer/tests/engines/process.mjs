// A browser's process, and what tests ask of any browser beside Chromium: `open`, `evaluate`, `act`, `resize`,
// `screenshot`, `close`. Playwright's Firefox and WebKit are builds of its own, which no distribution packages.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PATIENCE_MS } from "../../../tests/patience.mjs";

/**
 * Starts a program in a group of its own and waits until it has written what matches `ready`, to a stream by its
 * number: 2 is standard error. Without `ready` it does not wait. Returns `{ match, stop() }`.
 */
export async function startProcess(program, args, { ready, stream = 2, env = {} }) {
  const stdio = ["ignore", "ignore", "ignore", "ignore"];
  stdio[stream] = "pipe";
  const child = spawn(program, args, { stdio, env: { ...process.env, ...env }, detached: true });
  const ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  const kill = () => {
    try {
      process.kill(-child.pid, "SIGKILL"); // its children, too
    } catch {
      // it has ended
    }
  };
  process.once("exit", kill);
  const match = await new Promise((resolve, reject) => {
    let said = "";
    const late = setTimeout(() => reject(new Error(`${program} does not start: ${said.slice(-2000)}`)), PATIENCE_MS);
    child.once("error", reject);
    if (!ready) child.once("spawn", () => resolve(null));
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code}: ${said.slice(-2000)}`)));
    child.stdio[stream].on("data", (bytes) => {
      said += bytes;
      const match = ready?.exec(said);
      if (match) resolve(match);
    });
    late.unref();
  }).catch((error) => {
    kill();
    throw error;
  });
  const stop = () => {
    kill();
    return ended;
  };
  return { match, stop };
}

/** Makes a folder for a browser's profile. Returns `{ path, remove() }`. */
export async function profile() {
  const path = await mkdtemp(join(tmpdir(), "edgezoom-browser-"));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Returns an expression that calls a function with arguments in a page and gives its result as JSON. */
export const expressionOf = (call, args) => `(async () => JSON.stringify((await (${call})(...${JSON.stringify(args)})) ?? null))()`;
