// A reporter for Node.js's test runner that writes a line of JSON for each test that starts or ends, in the words of
// Rust's `--format json`, so that `events.rs` reads both.

import { inspect } from "node:util";

export default async function* events(source) {
  for await (const { type, data } of source) {
    // An error after the end of a test fails the program, and no event says so.
    if (type === "test:diagnostic" && /^(Warning|Error):/.test(data.message)) process.stderr.write(`${data.message}\n`);
    if (type === "test:summary") yield `{"type":"suite"}\n`;
    if (data.nesting !== 0) continue;
    if (type === "test:dequeue") yield line({ event: "started", name: data.name });
    if (type !== "test:complete") continue;
    const { error, duration_ms, passed } = data.details;
    const event = data.skip !== undefined ? "ignored" : passed ? "ok" : "failed";
    const stdout = error && inspect(error.cause ?? error);
    yield line({ event, name: data.name, exec_time: duration_ms / 1000, stdout });
  }
}

const line = (event) => `${JSON.stringify({ type: "test", ...event })}\n`;
