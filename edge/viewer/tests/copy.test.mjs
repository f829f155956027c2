// The texts for contents without a picture.

import assert from "node:assert/strict";
import { test } from "node:test";

import { nameOf, nextTryWords, problemWords, stageWords, waitingWords } from "../live/copy.js";

test("a retry is offered if it can help", () => {
  const failed = (code) => problemWords({ kind: "failed", content: { failure: { code, message: "why", retryAfter: 600 } } });
  for (const code of ["source-not-found", "source-unreachable", "corrupt-source", "too-many-pixels", "too-complex", "internal"]) {
    assert.equal(failed(code).canRetry, true, code);
    assert.equal(failed(code).text, "why");
    assert.equal(failed(code).advice !== "", code !== "internal", code);
  }
  assert.equal(problemWords({ kind: "unreachable" }).canRetry, true);
  assert.equal(problemWords({ kind: "missing" }).canRetry, false);
  const { title, text, canRetry } = problemWords({ kind: "removed", text: "This content was taken down: why" });
  assert.deepEqual([title, text, canRetry], ["Removed", "This content was taken down: why", false]);
});

test("an uploaded file has its name, and must be uploaded again", () => {
  const uri = "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk";
  assert.deepEqual([`${uri}?name=old%20town.jpg`, `${uri}?vectors=off&name=a.pdf`, uri].map(nameOf), ["old town.jpg", "a.pdf", "Uploaded file"]);
  const failed = problemWords({ kind: "failed", content: { url: uri, failure: { code: "corrupt-source", message: "why", retryAfter: 600 } } });
  assert.deepEqual([failed.canRetry, failed.text], [false, "why"]);
  assert.match(failed.when, /Upload it again/);
});

test("a failure says when reloading retries, rounded up", () => {
  const failed = (retryAfter, more) => problemWords({ kind: "failed", content: { failure: { code: "internal", message: "", retryAfter } }, ...more });
  const words = [1, 60, 61, 599, 600, 3600, 7200, 7201, 86_399, 86_400, 172_801].map((seconds) => {
    const [, time] = failed(seconds).when.match(/^You can retry now\. In (.+), reloading this page retries too\.$/);
    return time;
  });
  const minutes = ["a minute", "a minute", "2 minutes", "10 minutes", "10 minutes", "60 minutes"];
  assert.deepEqual(words, [...minutes, "2 hours", "3 hours", "24 hours", "24 hours", "3 days"]);
  assert.equal(failed(500, { refused: true }).when, "You can retry in a minute.");
  assert.equal(failed(undefined).when, "", "from an older service");
});

test("a waiting content counts down to its next try, and names the last one", () => {
  const words = (...of) => nextTryWords(...of).replaceAll("\u00a0", " ");
  assert.equal(words(10, 4), "Next try in 10 s, then up to 3 more.");
  assert.equal(words(300, 2), "Next try in 5 min 0 s, then up to 1 more.");
  assert.equal(words(1799, 1), "Last try in 29 min 59 s.");
  assert.equal(words(7), "Next try in 7 s.", "from another version");
  assert.deepEqual([0, -5].map((seconds) => words(seconds, 1)), ["Trying …", "Trying …"]);
  assert.deepEqual(waitingWords({ code: "timed-out", message: "why" }), { title: "The conversion took too long", text: "why" });
});

test("unknown codes and stages of a newer service have generic texts", () => {
  assert.equal(stageWords("polishing"), "Working on it");
  const { title } = problemWords({ kind: "failed", content: { failure: { code: "no-mood", message: "" } } });
  assert.equal(title, "Something went wrong on our side");
});

test("a source is named after its file or host, never with characters that reverse text", () => {
  assert.equal(nameOf("https://example.com/maps/old%20town.jpg?x"), "old town.jpg");
  assert.equal(nameOf("https://example.com/"), "example.com");
  assert.equal(nameOf("https://example.com/%ff.png"), "%ff.png");
  assert.equal(nameOf("https://example.com/gpj%E2%80%AE.exe"), "gpj%E2%80%AE.exe");
});
