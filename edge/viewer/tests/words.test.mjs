// What is said, and what keys mean.

import assert from "node:assert/strict";
import { test } from "node:test";

import { nameOf, problemWords, stageWords } from "../live/words.js";
import { keyAction } from "../zoom/keyboard.js";

test("trying again is offered wherever it can help", () => {
  const failed = (code) => problemWords({ kind: "failed", content: { failure: { code, message: "why", retryAfter: 600 } } });
  for (const code of ["source-not-found", "source-unreachable", "corrupt-source", "too-many-pixels", "too-complex", "internal"]) {
    assert.equal(failed(code).canRetry, true, code);
    assert.equal(failed(code).text, "why");
    assert.equal(failed(code).advice !== "", code !== "internal", code);
  }
  assert.equal(problemWords({ kind: "unreachable" }).canRetry, true);
  assert.equal(problemWords({ kind: "missing" }).canRetry, false);
  const { title, text, canRetry } = problemWords({ kind: "taken-down", text: "This content was taken down: why" });
  assert.deepEqual([title, text, canRetry], ["Taken down", "This content was taken down: why", false]);
});

test("a file that was sent has its name, and is sent again rather than tried again", () => {
  const uri = "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk";
  assert.deepEqual([`${uri}?name=old%20town.jpg`, uri].map(nameOf), ["old town.jpg", "A file that was sent"]);
  const failed = problemWords({ kind: "failed", content: { url: uri, failure: { code: "corrupt-source", message: "why", retryAfter: 600 } } });
  assert.deepEqual([failed.canRetry, failed.text], [false, "why"]);
  assert.match(failed.when, /Send it again/);
});

test("a failure says in words when it is tried again, never too early", () => {
  const failed = (retryAfter, more) => problemWords({ kind: "failed", content: { failure: { code: "internal", message: "", retryAfter } }, ...more });
  const words = [1, 60, 61, 599, 600, 3600, 7200, 7201, 86_399, 86_400, 172_801].map((seconds) => {
    const [, time] = failed(seconds).when.match(/^It is tried again when it is opened in (.+) or later\.$/);
    return time;
  });
  const minutes = ["a minute", "a minute", "2 minutes", "10 minutes", "10 minutes", "60 minutes"];
  assert.deepEqual(words, [...minutes, "2 hours", "3 hours", "24 hours", "24 hours", "3 days"]);
  assert.match(failed(500, { refused: true }).when, /^It was tried less than a minute ago\. It is tried again/);
  assert.equal(failed(undefined).when, "", "of an older service");
});

test("codes and stages of a newer service are not shown raw", () => {
  assert.equal(stageWords("polishing"), "Working on it");
  const { title } = problemWords({ kind: "failed", content: { failure: { code: "no-mood", message: "" } } });
  assert.equal(title, "Something went wrong on our side");
});

test("a source is called by its file or its host, and never by what turns text around", () => {
  assert.equal(nameOf("https://example.com/maps/old%20town.jpg?x"), "old town.jpg");
  assert.equal(nameOf("https://example.com/"), "example.com");
  assert.equal(nameOf("https://example.com/%ff.png"), "%ff.png");
  assert.equal(nameOf("https://example.com/gpj%E2%80%AE.exe"), "gpj%E2%80%AE.exe");
});

test("keys go by what they write, and leave combinations to the browser", () => {
  const key = (key, held = {}) => keyAction({ key, ctrlKey: false, metaKey: false, altKey: false, ...held }, true);
  assert.deepEqual(key("+"), { press: "zoomIn" });
  assert.deepEqual(key("F"), { press: "fullscreen" });
  assert.deepEqual(key("ArrowLeft"), { pan: [-1, 0] });
  assert.equal(key("+", { ctrlKey: true }), null);
  assert.equal(key("0", { metaKey: true }), null);
  assert.equal(key("toString"), null);
  assert.equal(keyAction({ key: "ArrowLeft" }, false), null);
});
