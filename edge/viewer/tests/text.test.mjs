// The words of a picture: read, selected, copied, found, followed, turned and heard.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { addressed } from "../text/address.js";
import { around, partsBetween, readDocument, textOf } from "../../text/document.js";
import { MAX_HITS, fold, searcher } from "../../text/search.js";
import { withParameter } from "../zoom/place.js";
import { assertAccessible, assertEventually, assertNoFrames, countFrames, isFocused, painted, parts, placed, resize, restingScale } from "./browser.mjs";
import { line, manual } from "./manual.mjs";
import { host, open, openEmpty, page, ready, service, setUp } from "./site.mjs";

setUp();

/** Returns a document of one page with a paragraph of lines. */
const documentOf = (...lines) => readDocument({ pages: [{ at: [0, 0, 1000, 1000], blocks: [{ role: "p", lines }] }] });

test("members of a wrong kind are left out", () => {
  const lines = [line("Right", 0, 0), { at: [0, 0, -1, 4], text: "Wrong" }, { at: "here", text: "Wrong" }, { at: [0, 0, 9, 9], text: 7 }, null];
  const { pages, total, outline, language } = readDocument({
    language: 7,
    total: "many",
    pages: [{ at: [10, 20, 30, 40], label: {}, blocks: [{ role: "script", lines }, null, { role: "p", lines: "none" }], links: "none" }, 5],
    outline: [{ title: "Here", page: 0 }, { title: "Nowhere", page: 1 }, { title: ["x"], page: 0 }, { page: 0 }],
  });
  assert.deepEqual([total, language, pages.length, pages[0].label], [1, "", 1, ""]);
  assert.deepEqual(pages[0].blocks.map(({ role, lines }) => [role, lines.map(({ text }) => text)]), [["p", ["Right"]], ["p", []]]);
  assert.deepEqual([pages[0].lines[0].box.x, pages[0].lines[0].box.y], [10, 20]);
  assert.deepEqual(outline, [{ title: "Here", page: 0, depth: 0, y: 0 }]);
  assert.deepEqual(readDocument({}).pages, []);
});

test("links lead to web pages, mail and pages of the document alone", () => {
  const targets = ["https://example.com/a", "mailto:a@example.com", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "file:///etc", "/relative", "", 0, 1, -1, 0.5, null];
  const { pages } = readDocument({ pages: [{ at: [0, 0, 9, 9], links: targets.map((to) => ({ at: [0, 0, 1, 1], to })) }] });
  assert.deepEqual(pages[0].links.map(({ url, page }) => url ?? page), ["https://example.com/a", "mailto:a@example.com", 0]);
});

test("words are placed along their line at every angle, and from the right in Arabic", () => {
  const placed = (given) => {
    const [read] = documentOf(given).lines;
    const { x, y, width, height } = around([read.part(4, 7)]);
    return [x, y, width, height].map((side) => Math.round(side) || 0);
  };
  const spans = [0, 30, 10, 60];
  const text = "one two";
  assert.deepEqual(placed({ at: [100, 50, 100, 20], text, spans }), [140, 50, 60, 20]);
  assert.deepEqual(placed({ at: [100, 50, 20, 100], text, spans, angle: 90 }), [100, 90, 20, 60]);
  assert.deepEqual(placed({ at: [100, 50, 20, 100], text, spans, angle: 270 }), [100, 50, 20, 60]);
  assert.deepEqual(placed({ at: [100, 50, 100, 20], text, spans, angle: 180 }), [100, 50, 60, 20]);
  assert.deepEqual(placed({ at: [100, 50, 100, 20], text, spans, rtl: true }), [100, 50, 60, 20]);
  assert.deepEqual(placed({ at: [100, 50, 100, 20], text, spans: [0, 30] }), [157, 50, 43, 20], "without places of words, letters share the line");
  for (const angle of [30, 45, 60, 135]) {
    const turn = (angle * Math.PI) / 180;
    const [across, down] = [Math.abs(Math.cos(turn)), Math.abs(Math.sin(turn))];
    const [read] = documentOf({ at: [0, 0, 100 * across + 20 * down, 100 * down + 20 * across], text, spans, angle }).lines;
    assert.ok(Math.abs(read.length - 100) < 0.01 && Math.abs(read.thickness - 20) < 0.01, `${read.length} × ${read.thickness} at ${angle}°`);
  }
});

test("a place of a line has the nearest letter, never half of one", () => {
  const [read] = documentOf({ at: [0, 0, 100, 20], text: "ab 🌊🌊", spans: [0, 20, 40, 40] }).lines;
  assert.deepEqual([-5, 9, 19, 25, 55, 61, 79, 200].map((place) => read.offsetAt(place)), [0, 1, 2, 2, 3, 3, 5, 7]);
  const [rtl] = documentOf({ at: [0, 0, 100, 20], text: "ab cd", spans: [0, 40, 20, 40], rtl: true }).lines;
  assert.equal(rtl.offsetAt(rtl.locate({ x: 99, y: 10 }).place), 0);
});

test("copied text has a line for each block, and no hyphens of line ends", () => {
  const document = readDocument({ pages: [{ at: [0, 0, 9, 9], blocks: [{ role: "p", lines: [line("one exam\u00ad", 0, 0), line("ple and", 0, 0), line("more", 0, 0)] }, { role: "p", lines: [line("Next", 0, 0)] }] }] });
  const copied = (first, from, last, to) => textOf(partsBetween(document, { line: document.lines[first], offset: from }, { line: document.lines[last], offset: to }));
  assert.equal(copied(0, 4, 3, 2), "example and more\nNe");
  assert.equal(copied(0, 0, 0, 3), "one");
  assert.equal(copied(0, 0, 0, 9), "one exam");
});

test("lines are joined as in the plain text that a tiler stores", async () => {
  const cases = JSON.parse(await readFile(new URL("../../../engine/text/src/joins.json", import.meta.url), "utf8"));
  for (const [before, after, expected] of cases) {
    const { lines } = documentOf(line(before, 0, 0), line(after, 0, 30));
    assert.equal(textOf(partsBetween({ lines }, { line: lines[0], offset: 0 }, { line: lines[1], offset: after.length })), expected);
  }
});

/** Returns what a query finds in lines of a page: the parts of each hit. */
const finds = (query, ...texts) => {
  const hits = searcher(documentOf(...texts.map((text, index) => line(text, 0, 30 * index))))(query);
  return hits.map(({ parts }) => parts.map(({ line, from, to }) => line.text.slice(from, to)).join("|"));
};

test("what keyboards do not have is found as it is typed", () => {
  assert.deepEqual(finds("l'été", "Voici l’Été et lʼete"), ["l’Été", "lʼete"]);
  assert.deepEqual(finds("м'ята", "запашна м’ята"), ["м’ята"]);
  assert.deepEqual(finds('"no"', "“No”, «no» and „no“"), ["“No”", "«no»", "„no“"]);
  assert.deepEqual(finds("-5 - 7", "at −5 – 7 °C"), ["−5 – 7"]);
  assert.deepEqual(finds("e-mail", "an e‑mail, an e‐mail, an email"), ["e‑mail", "e‐mail"]);
  assert.deepEqual(finds("don’t", "I don't"), ["don't"]);
  assert.deepEqual(finds("strasse", "Große STRAẞE, Straßenbahn"), ["STRAẞE", "Straße"]);
  assert.deepEqual(finds("gdansk slask", "Gdańsk Śląsk"), ["Gdańsk Śląsk"]);
  assert.deepEqual(finds("lodz", "Łódź i łódzki"), ["Łódź", "łódz"]);
  assert.deepEqual(finds("oeuvre", "l’œuvre"), ["œuvre"]);
  assert.deepEqual(finds("aero", "Ærø"), ["Ærø"]);
  assert.deepEqual(finds("dakovic", "Đaković"), ["Đaković"]);
  assert.deepEqual(finds("ss", "ßẞ"), ["ß", "ẞ"]);
  assert.deepEqual(finds("superlong", "super\u200blong, su\u00adper\u2060lo\ufeffng"), ["super\u200blong", "su\u00adper\u2060lo\ufeffng"]);
});

test("marks that people leave out do not count, and those that are letters do", () => {
  assert.deepEqual(finds("εφημεριδα", "Η ἐφημερίδα"), ["ἐφημερίδα"]);
  assert.deepEqual(finds("елка", "Ёлка, елка"), ["Ёлка", "елка"]);
  assert.deepEqual(finds("שלום", "שָׁלוֹם"), ["שָׁלוֹם"]);
  assert.deepEqual(finds("محمد", "مُحَمَّد، محـمـد"), ["مُحَمَّد", "محـمـد"]);
  assert.deepEqual(finds("नदी", "नदी नदि नद"), ["नदी"]);
  assert.deepEqual(finds("क़लम", "कलम \u0958लम"), ["\u0958लम"]);
  assert.deepEqual(finds("மலை", "மாலை மலை"), ["மலை"]);
  assert.deepEqual(finds("ปลา", "ปลา ปล่า ปลี"), ["ปลา"]);
  assert.deepEqual(finds("น้ำ", "นำ น้ำ"), ["น้ำ"]);
  assert.deepEqual(finds("かき", "がき かぎ かき"), ["かき"]);
  assert.deepEqual(finds("ガス", "カス ガス \u30ab\u3099ス ｶﾞｽ"), ["ガス", "\u30ab\u3099ス", "ｶﾞｽ"]);
  assert.deepEqual(finds("나", "난로 나무"), ["나"]);
  assert.deepEqual(finds("강", "강산 가산 \u1100\u1161\u11bc"), ["강", "\u1100\u1161\u11bc"]);
  assert.deepEqual(finds("\u1100\u1161\u11bc", "강산 가산"), ["강"]);
  assert.deepEqual(finds("ㅋㅋ", "ㅋㅋㅋ 크크"), ["ㅋㅋ"]);
  // Places after letters that are composed, dropped or made two stay right.
  assert.deepEqual(finds("끝", "\u1112\u1161\u11abßｶﾞ\u200bñ नदी 끝"), ["끝"]);
});

test("words over two lines are found with and without a hyphen, and ideographs without a space", () => {
  assert.deepEqual(finds("well-known", "a well-", "known fact"), ["well-|known"]);
  assert.deepEqual(finds("a wellknown fact", "a well-", "known fact"), ["a well-|known fact"]);
  assert.deepEqual(finds("north-west", "in the north\u00ad", "west, north-west"), ["north\u00ad|west", "north-west"]);
  assert.deepEqual(finds("northwest", "in the north\u00ad", "west, north-west"), ["north\u00ad|west"]);
  for (const query of ["https://example.org/a-b", "https://example.org/ab"]) assert.deepEqual(finds(query, "see https://example.org/a-", "b now"), ["https://example.org/a-|b"]);
  assert.deepEqual(finds("1939-1945", "von 1939–", "1945"), ["1939–|1945"]);
  assert.deepEqual(finds("haupt- und", "Haupt-", "und Nebensatz"), ["Haupt-|und"]);
  assert.deepEqual(finds("图书馆", "数字图书", "馆检索"), ["图书|馆"]);
  assert.deepEqual(finds("ガイドブック", "港のガイドブ", "ック"), ["ガイドブ|ック"]);
  assert.deepEqual(finds("조수간만", "조수", "간만"), []);
  assert.deepEqual(finds("조수 간만", "조수", "간만"), ["조수|간만"]);
});

test("a search ignores case, accents and ligatures, and crosses lines and hyphens but not pages", () => {
  const lines = [line("Le Café de la GARE, offi\u00ad", 0, 0), line("cine ΟΔΟΣ Ångström", 0, 0), line("ﬁn e\u0301te\u0301", 0, 0)];
  const page = { at: [0, 0, 9, 9], blocks: [{ role: "p", lines }] };
  const find = searcher(readDocument({ pages: [page, page] }));
  const found = (query) => {
    const { length, 0: hit } = find(query);
    return length === 2 ? hit.parts.map(({ line, from, to }) => line.text.slice(from, to)).join("|") : length;
  };
  assert.equal(found("cafe"), "Café");
  assert.equal(found("  CAFÉ   de "), "Café de");
  assert.equal(found("officine"), "offi\u00ad|cine");
  assert.equal(found("οδος angstrom fin"), "ΟΔΟΣ Ångström|ﬁn");
  assert.equal(found("f"), 8);
  assert.equal(found("fi"), 4);
  assert.equal(found("ete"), "e\u0301te\u0301");
  assert.equal(found("ete le"), 0);
  assert.equal(found("."), 0);
  assert.equal(found(" \u0301"), 0);
  for (const text of ["ΟΔΟΣ ΣΑΣ", "İstanbul", "ﬃ ½ Å 한글 नदी น้ำ"]) assert.equal([...text].map(fold).join(""), fold(text));
});

test("a search has at most 500 hits", () => {
  const lines = Array.from({ length: 200 }, (_, index) => line("a a a a a", 0, 40 * index));
  assert.equal(searcher(documentOf(...lines))("a").length, MAX_HITS);
});

test("search and page are parameters beside others", () => {
  const named = (url) => addressed(new URL(url));
  assert.deepEqual(named("https://a.example/b?q=high%20tide&page=12"), { query: "high tide", page: 12 });
  for (const wrong of ["-1", "1e3", "x", "1234567", ""]) assert.equal(named(`https://a.example/b?page=${wrong}`).page, 0);
  assert.equal(withParameter("https://a.example/b?at=1,2,3&q=x#top", "q", "a%26b"), "https://a.example/b?at=1,2,3&q=a%26b#top");
  assert.equal(withParameter("https://a.example/b?q=x", "q", ""), "https://a.example/b");
});

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** Opens the share page of a manual, with a simulated clock or an initial script if wanted, and waits for its words and until its view is at rest. */
async function openManual(pages = 6, { path = "", total, clock = false, script, ...options } = {}) {
  const id = service.create({ kind: "ready", ...manual(pages, total) });
  await openEmpty({ reducedMotion: "reduce", ...options });
  if (clock) await page.clock.install();
  if (script) await page.addInitScript(script);
  await page.goto(`${service.origin}/${id}${path}`);
  const viewer = parts(page);
  await page.locator(".words > div").first().waitFor({ state: "attached" });
  await restingScale(viewer);
  return { ...viewer, id };
}
/** Returns the line of words with a text, on its first page in the layer. */
const lineWith = (text) => page.locator(".words > div", { hasText: text }).first();
const button = (name) => page.getByRole("button", { name, exact: true });
const field = () => page.getByRole("textbox", { name: "Find words" });
const pageField = () => page.getByRole("textbox", { name: "Page", exact: true });
const count = () => page.locator(".find .count").textContent();
const marks = (kind) => page.locator(`.${kind} i`);

/** Copies with the keyboard and returns the clipboard's text. */
async function copied() {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate(() => navigator.clipboard.writeText("nothing"));
  await page.keyboard.press("Control+c");
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Returns the places of words in a line in the window: the middle of the first letters after `from` and before `to`. */
async function placesOf(text, from, to) {
  const box = await lineWith(text).boundingBox();
  // Letters and spaces of the manual are equally wide.
  const [length, isUpright] = [(await lineWith(text).textContent()).length, box.height > box.width];
  const at = (offset) => (isUpright ? { x: box.x + box.width / 2, y: box.y + (box.height * offset) / length } : { x: box.x + (box.width * offset) / length, y: box.y + box.height / 2 });
  return [at(from), at(to)];
}
async function drag(from, to) {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2);
  await page.mouse.move(to.x, to.y);
  await page.mouse.up();
}

/** Rests a finger until it selects, and moves it. Returns a function that sends other events of touch. */
async function hold(from, to = from) {
  const fingers = await page.context().newCDPSession(page);
  const send = (type, ...touchPoints) => fingers.send("Input.dispatchTouchEvent", { type, touchPoints });
  await send("touchStart", from);
  await marks("selected").waitFor();
  await send("touchMove", to);
  await send("touchEnd");
  return send;
}

test("the module of words is loaded only for pictures that have some", async () => {
  const loaded = [];
  const watch = () => page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await openEmpty();
  watch();
  await page.goto(`${service.origin}/${ready}`);
  await painted(page);
  assert.equal(await page.getByRole("button", { name: "Find words" }).count(), 0);
  assert.equal(loaded.filter((path) => /text\.js(on)?$/.test(path)).length, 0);
  await openManual(2);
  await painted(page);
  assert.deepEqual(page.wrongs, []);
});

test("a picture whose text does not load is shown without it", async () => {
  await openEmpty();
  await page.route("**/text", (route) => route.fulfill({ status: 503 }));
  await page.goto(`${service.origin}/${service.create({ kind: "ready", ...manual(2) })}`);
  await painted(page);
  assert.equal(await page.getByRole("button", { name: "Find words" }).count(), 0);
});

test("dragging over words selects them, and elsewhere moves the picture", async () => {
  const viewer = await openManual(1);
  const before = await lineWith("The tide").boundingBox();
  const [from, to] = await placesOf("The tide of day 1", 4, 15);
  await drag(from, to);
  assert.equal(await copied(), "tide of day");
  assert.equal(await marks("selected").count(), 1);
  assert.deepEqual(await lineWith("The tide").boundingBox(), before, "the picture moved");
  assert.ok(await viewer.picture.evaluate(isFocused));

  const { x, y, height } = await lineWith("The tide").boundingBox();
  await drag({ x: x + 100, y: y + 20 * height }, { x: x + 180, y: y + 22 * height });
  await assertEventually(async () => (await lineWith("The tide").boundingBox()).x > before.x + 50, "the picture did not move");
  assert.equal(await marks("selected").count(), 0);
  assert.equal(await copied(), "nothing");
});

test("a selection crosses lines, blocks and columns' ends, and Escape ends it", async () => {
  await openManual(1);
  const [from] = await placesOf("The tide of day 1", 43, 43);
  const [to] = await placesOf("Read the notes", 8, 8);
  await drag(from, to);
  assert.equal(await copied(), "the examples of the Café below show. A short line.\nRead the");
  const short = await lineWith("Chapter 1").boundingBox();
  await drag(from, { x: short.x + short.width * 2.5, y: short.y + short.height / 2 });
  assert.equal(await copied(), "The tide of day 1 rises in the harbour, as", "beside a short line");
  await page.keyboard.press("Escape");
  assert.equal(await copied(), "nothing");
});

test("the view follows a selection beyond its edge, to the next page", async () => {
  // In a busy browser, they come after the view has moved several times.
  const lateIdleCallbacks = () => {
    window.requestIdleCallback = (callback) => setTimeout(callback, 120, { timeRemaining: () => 6 });
    window.cancelIdleCallback = (request) => clearTimeout(request);
  };
  const viewer = await openManual(6, { path: "?at=600,200,4", script: lateIdleCallbacks });
  const [from] = await placesOf("The tide of day 1", 4, 4);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x + 50, from.y);
  await page.mouse.move(from.x + 50, 799, { steps: 4 });
  await assertEventually(async () => (await page.locator(".words > div", { hasText: "Chapter 5" }).count()) > 0, "the view does not move");
  const heading = await lineWith("Chapter 5").boundingBox();
  await page.mouse.move(from.x, Math.min(heading.y, 700));
  await page.mouse.up();
  const text = await copied();
  assert.match(text, /^tide of day 1 [^]+A short line\.\nRead the notes/);
  assert.ok(text.includes("Chapter 2") && !text.includes("The tide of day 6"), text);
  const stays = await lineWith("Chapter 5").boundingBox();
  await restingScale(viewer);
  assert.deepEqual(await lineWith("Chapter 5").boundingBox(), stays);
});

test("a double click selects a word, a third the line, and neither zooms", async () => {
  const viewer = await openManual(1);
  const before = await restingScale(viewer);
  const [at] = await placesOf("The tide of day 1", 6, 6);
  await page.mouse.dblclick(at.x, at.y);
  assert.equal(await copied(), "tide");
  await page.mouse.click(at.x, at.y, { clickCount: 3 });
  assert.equal(await copied(), "The tide of day 1 rises in the harbour, as the exam");
  assert.equal(await restingScale(viewer), before);
});

test("words are selected in a rotated view, and upright ones too", async () => {
  const viewer = await openManual(1);
  const select = async (text, from, to) => {
    await drag(...(await placesOf(text, from, to)));
    return copied();
  };
  assert.equal(await select("Upright margin", 0, 7), "Upright");
  await viewer.rotate.click();
  await assertEventually(async () => {
    const { width, height } = await lineWith("The tide").boundingBox();
    return height > width;
  }, "the words are not rotated");
  assert.equal(await select("The tide of day 1", 4, 8), "tide");
});

test("a long press selects a word, and a button copies it", async () => {
  await openManual(1, { ...PHONE, clock: true });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const [from, to] = await placesOf("The tide of day 1", 6, 14);
  const before = await lineWith("The tide").boundingBox();
  const send = await hold(from, to);
  await button("Copy").tap();
  await button("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "tide of day");
  assert.deepEqual(await lineWith("The tide").boundingBox(), before, "the picture moved");

  await send("touchStart", from);
  for (let step = 1; step <= 4; step += 1) await send("touchMove", { x: from.x, y: from.y + 15 * step });
  await page.clock.fastForward(10_000);
  await send("touchEnd");
  assert.equal(await marks("selected").count(), 0, "a finger that moves selects nothing");
});

test("links open in another tab, or move the picture to a page", async () => {
  await openManual(6, { path: "?page=1" });
  await page.context().route("https://example.com/**", (route) => route.fulfill({ body: "Notes" }));
  const notes = page.locator(".links a[href='https://example.com/notes']").first();
  assert.deepEqual(await notes.evaluate(({ target, rel, tabIndex }) => [target, rel, tabIndex]), ["_blank", "noopener noreferrer", -1]);
  const [other] = await Promise.all([page.context().waitForEvent("page"), notes.click()]);
  assert.equal(other.url(), "https://example.com/notes");
  await other.close();
  assert.equal(await page.locator("[href^=javascript]").count(), 0);
  await page.locator(".links a[href$='page=2']").first().click();
  await assertEventually(async () => (await pageField().inputValue()) === "2", "the page is not shown");
  assert.match(page.url(), new RegExp(service.origin));
});

test("a drag that begins on a link selects its words", async () => {
  await openManual(6, { path: "?page=1" });
  const [from, to] = await placesOf("Read the notes", 9, 14);
  await drag({ ...from, x: from.x + 1 }, { ...to, x: to.x - 1 });
  assert.equal(await copied(), "notes");
  assert.equal(page.context().pages().length, 1);
  const [turn, end] = await placesOf("Read the notes", 25, 31);
  await drag({ ...turn, x: turn.x + 1 }, { ...end, x: end.x - 1 });
  assert.equal(await copied(), "the pa");
  assert.equal(await pageField().inputValue(), "1", "the link was followed");
  await page.mouse.click(turn.x + 2, turn.y);
  await assertEventually(async () => (await pageField().inputValue()) === "2", "a click no longer follows it");
});

test("words are found by keys and button, marked, counted and shown one after another", async () => {
  const viewer = await openManual(6, { path: "?page=2" });
  await page.keyboard.press("Control+f");
  await field().fill("harbour exam");
  assert.equal(await count(), "No matches");
  await field().fill("THE CAFE");
  assert.equal(await count(), "2 of 6", "from the page in view");
  const isMarked = async () => {
    const [mark, words] = await Promise.all([marks("current").boundingBox(), page.locator(".find").boundingBox()]);
    return mark.x >= 0 && mark.x + mark.width < 1200 && mark.y > words.y && mark.y < 720;
  };
  assert.equal(await marks("hits").count(), 6);
  await assertEventually(isMarked, "the match is out of view");
  await field().press("Enter");
  assert.equal(await count(), "3 of 6");
  await assertEventually(isMarked, "the match is out of view");
  await button("Previous match").click();
  await button("Previous match").click();
  await button("Previous match").click();
  assert.equal(await count(), "6 of 6");
  await assertEventually(isMarked, "the match is out of view");
  await assertEventually(async () => (await pageField().inputValue()) === "6", "the page is not shown");
  await page.waitForURL(/[?&]q=THE%20CAFE/);
  await placed(page);
  await assertAccessible(page);
  await button("Share").click();
  assert.match(await page.getByLabel("Link to this view", { exact: true }).inputValue(), /\?at=[\d.,]+&q=THE%20CAFE$/);
  await button("Close").click();

  const before = await restingScale(viewer);
  await field().press("+");
  await field().press("r");
  assert.equal(await restingScale(viewer), before, "the viewer's keys are off in the field");
  await field().press("Escape");
  assert.equal(await marks("hits").count(), 0);
  assert.ok(await viewer.picture.evaluate(isFocused));
  await page.waitForURL((url) => !url.searchParams.has("q"));
  await page.keyboard.press("/");
  assert.ok(await field().evaluate(isFocused));
  await button("Close search").click();
  await button("Find words").click();
  assert.equal(await count(), "No matches");
  assert.deepEqual(page.wrongs, []);
});

test("a match is marked where its words are, in a rotated view too", async () => {
  const viewer = await openManual(1);
  await page.keyboard.press("/");
  await field().fill("examples");
  const areOver = async () => {
    const boxes = await Promise.all([0, 1].map((index) => marks("current").nth(index).boundingBox()));
    const lines = await Promise.all(["The tide of day 1", "ples of the"].map((text) => lineWith(text).boundingBox()));
    return boxes.every((box, index) => {
      const over = lines[index];
      return box.x >= over.x - 1 && box.y >= over.y - 1 && box.x + box.width <= over.x + over.width + 1 && box.y + box.height <= over.y + over.height + 1;
    });
  };
  assert.equal(await count(), "1 of 1");
  await assertEventually(areOver, "the marks are not over the words");
  await viewer.rotate.click();
  await assertEventually(areOver, "the marks did not turn with the picture");
});

test("a link with a search opens with it, and a place is more exact", async () => {
  await openManual(6, { path: "?q=day%205" });
  assert.equal(await count(), "1 of 1");
  await assertEventually(async () => (await pageField().inputValue()) === "5", "the match is not shown");
  await openManual(6, { path: "?page=3&at=550,300,6" });
  assert.equal(await pageField().inputValue(), "1");
  await openManual(6, { ...PHONE, path: "?q=chapter%201" });
  const [mark, bar] = await Promise.all([marks("current").boundingBox(), page.locator(".find").boundingBox()]);
  assert.ok(mark.y >= bar.y + bar.height, "the bar covers the match");
});

test("pages are turned by keys and buttons, and numbers and labels go to them", async () => {
  const viewer = await openManual(6, { path: "?page=3", total: 300 });
  const isAt = (number) => assertEventually(async () => (await pageField().inputValue()) === String(number), `page ${number} is not shown`);
  await isAt(3);
  await assertEventually(async () => !page.url().includes("page="), "the page stays in the URL");
  assert.match(await page.locator(".pages").textContent(), /of 300/);
  const heading = (number) => lineWith(`Chapter ${number}`);
  const isWhole = async (number) => {
    const { x, y, width } = await heading(number).boundingBox();
    return x > 0 && x + width < 1200 && y > 50 && y < 200;
  };
  assert.ok(await isWhole(3));
  const scale = await restingScale(viewer);
  await page.keyboard.press("PageDown");
  await isAt(4);
  await assertEventually(() => isWhole(4), "the page is not whole");
  assert.equal(await restingScale(viewer), scale);
  await page.keyboard.press("PageUp");
  await button("Previous page").click();
  await button("Previous page").click();
  await isAt(1);
  assert.match(await page.locator(".pages").textContent(), /of 300 \(i\)/);
  assert.equal(await button("Previous page").getAttribute("aria-disabled"), "true");
  await button("Previous page").click({ force: true });
  await isAt(1);
  await pageField().fill("6");
  await pageField().press("Enter");
  await assertEventually(() => isWhole(6), "the page is not shown");
  await pageField().fill("i");
  await pageField().press("Enter");
  await isAt(1);
  await pageField().fill("7");
  await pageField().press("Enter");
  assert.equal(await pageField().evaluate(({ validationMessage }) => validationMessage), "Enter a page from 1 to 6.");
  await pageField().press("Escape");
  await isAt(1);
  await page.keyboard.press("w");
  await isAt("");
  await page.keyboard.press("PageDown");
  await isAt(1);
  assert.deepEqual(page.wrongs, []);
});

/** Returns where the first page of a manual is in the view, in CSS pixels. */
const firstPage = (scope = page) => scope.locator(".text").evaluate((layer) => {
  const { a, b, e, f } = new DOMMatrix(layer.style.transform);
  const scale = Math.hypot(a, b);
  return { left: e, top: f, width: 1100 * scale, height: 1500 * scale };
});

for (const [name, options, most] of [["a phone", PHONE, 390], ["a large screen", { viewport: { width: 1440, height: 900 } }, 1440]]) {
  test(`a document opens at the width of its first page on ${name}, and W shows all pages`, async () => {
    for (const kind of ["share page", "embed"]) {
      const viewer = await openManual(6, { ...options, path: kind === "embed" ? "/embed" : "" });
      const covered = kind === "embed" ? 0 : await page.locator(".top").evaluate((panels) => panels.getBoundingClientRect().bottom);
      const isHome = async () => {
        const { left, top, width } = await firstPage();
        // On a large screen lines of 30 pixels are 24 pixels high.
        return Math.abs(width - Math.min(most, 1100 * 0.8)) < 1 && Math.abs(left - (most - width) / 2) < 1 && top >= covered && top < covered + 20;
      };
      const isAt = (number) => assertEventually(async () => (await pageField().inputValue()) === number, `page ${number} is not shown`);
      await assertEventually(isHome, JSON.stringify(await firstPage()));
      await isAt("1");
      assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
      assert.equal(new URL(page.url()).search, "");
      await viewer.picture.focus();
      await page.keyboard.press("w");
      await isAt("");
      await assertEventually(async () => (await firstPage()).width * 4 <= most, "not all pages are in view");
      assert.equal(await button("All pages").getAttribute("aria-pressed"), "true");
      await page.keyboard.press("PageDown");
      await isAt("1");
      await assertEventually(isHome, "a page is not turned to at its width");
      await page.keyboard.press("PageDown");
      await isAt("2");
      await assertEventually(async () => (await firstPage()).left < 0, "page 2 is not shown");
      const second = await firstPage();
      await button("All pages").click();
      await isAt("");
      await page.keyboard.press("W");
      await isAt("2");
      await assertEventually(async () => Math.abs((await firstPage()).left - second.left) < 1, "the same key does not return");
      await page.keyboard.press("0");
      await isAt("1");
      await assertEventually(isHome, "0 does not show the first page");
      await resize(page, { width: most, height: 700 });
      await assertEventually(isHome, "it does not stay after a change of size");
      assert.deepEqual(page.wrongs, []);
    }
  });
}

test("wide pages are shown whole, small ones at their own size, and a rotated one whole", async () => {
  for (const [width, height, shown] of [[1600, 900, [1200, 675]], [300, 400, [300, 400]]]) {
    const pages = [0, 1].map((index) => ({ at: [0, index * (height + 20), width, height], blocks: [{ role: "p", lines: [line("Words", 20, 20, 12)] }] }));
    const viewer = await open(`/${service.create({ kind: "ready", text: { version: 1, total: 2, pages }, size: { width, height: 2 * height + 20 } })}`);
    await pageField().waitFor();
    const scale = async () => parseInt(await viewer.scale.textContent(), 10);
    await assertEventually(async () => (await scale()) > 0 && Math.abs((await scale()) - (100 * shown[0]) / width) < 5, `${await scale()} %`);
    await assertEventually(async () => (await pageField().inputValue()) === "1", "it is not at page 1");
    await viewer.rotate.click();
    await assertEventually(async () => (await scale()) <= Math.min(100, 70_000 / width), `${await scale()} % in a view of 800 pixels`);
    assert.equal(await pageField().inputValue(), "1");
    assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
  }
});

test("a small move leaves home, in a document of any length", async () => {
  const pages = Array.from({ length: 60 }, (_, index) => ({ at: [1140 * index, 0, 1100, 1500], blocks: [{ role: "p", lines: [line("Words", 100, 100)] }] }));
  const viewer = await open(`/${service.create({ kind: "ready", text: { version: 1, total: 60, pages }, size: { width: 60 * 1140, height: 1500 } })}`, { reducedMotion: "reduce" });
  await pageField().waitFor();
  await restingScale(viewer);
  assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
  await drag({ x: 600, y: 400 }, { x: 570, y: 400 });
  await assertEventually(async () => (await viewer.home.getAttribute("aria-disabled")) === "false", "it counts as home");
});

test("the first view waits for the words, but not long, and does not jump", async () => {
  const id = service.create({ kind: "ready", ...manual(6) });
  /** Records the scales that are shown. */
  const record = () => {
    window.scales = new Set();
    const look = () => {
      const text = document.getElementById("stage")?.shadowRoot?.querySelector(".scale")?.textContent;
      if (text) window.scales.add(parseInt(text, 10));
      requestAnimationFrame(look);
    };
    look();
  };
  /**
   * Opens a page whose words come when the picture has waited for `wait` milliseconds by the page's clock, and returns
   * the scales that were shown before and after.
   */
  async function seen(path, wait) {
    await openEmpty();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.addInitScript(record);
    const words = Promise.withResolvers();
    const asked = Promise.withResolvers();
    await page.route("**/text", async (route) => {
      asked.resolve();
      await words.promise;
      await route.continue();
    });
    await page.goto(`${service.origin}/${id}${path}`);
    await asked.promise;
    await page.clock.runFor(wait);
    const before = await page.evaluate(() => [...window.scales]);
    assert.equal(await pageField().count(), 0, "there are no words yet");
    words.resolve();
    await assertEventually(async () => {
      await page.clock.runFor(1);
      return (await pageField().count()) > 0;
    }, "there are no words");
    await page.clock.resume();
    await restingScale(parts(page));
    return [before, await page.evaluate(() => [...window.scales])];
  }
  for (const [path, wait, before, after, number] of [
    ["", 500, [], [80], "1"],
    ["?page=3", 500, [], [80], "3"],
    ["?q=day%205", 500, [], [80], "5"],
    ["", 1500, [22], [22], ""],
    ["?at=500,500,2", 500, [53], [53], "1"],
  ]) {
    assert.deepEqual(await seen(path, wait), [before, after], `${wait} ms ${path}`);
    assert.equal(await pageField().inputValue(), number);
    if (wait < 1000) continue;
    await resize(page, { width: 1200, height: 700 });
    await restingScale(parts(page));
    assert.equal(await pageField().inputValue(), "", "a change of size left the view of all pages");
    await page.keyboard.press("0");
    await assertEventually(async () => (await pageField().inputValue()) === "1", "home is not the first page");
  }
});

test("in a narrow view the pages are above the controls, and cover neither the picture nor the mark of an embed", async () => {
  const viewer = await openManual(6, { path: "?page=2", viewport: { width: 600, height: 500 } });
  await button("All pages").click();
  const matrix = () => page.locator(".text").evaluate((layer) => new DOMMatrix(layer.style.transform));
  await assertEventually(async () => {
    const { a, f } = await matrix();
    return f + a * manual(6).size.height <= (await page.locator(".pages").boundingBox()).y;
  }, "the picture is covered");
  await viewer.home.click();
  assert.equal(await page.getByRole("application", { name: "Overview" }).isVisible(), false, "it covers the page");
  await resize(page, { width: 300, height: 500 });
  assert.equal(await page.locator(".pages").isVisible(), false);
  await button("Show the first page").press("w");
  await assertEventually(async () => Math.abs((await matrix()).a * manual(6).size.width - 300) < 1, "the picture does not fill the width");
  for (const width of [320, 390, 500, 900]) {
    await openManual(6, { ...PHONE, path: "/embed", viewport: { width, height: 600 }, total: 300 });
    const [mark, bar] = await Promise.all([".attribution", ".pages"].map((part) => page.locator(part).boundingBox()));
    assert.ok(bar.x >= 0 && bar.x + bar.width <= width, `at ${width} pixels`);
    assert.ok(mark.x + mark.width <= bar.x || mark.y + mark.height <= bar.y || mark.y >= bar.y + bar.height, `at ${width} pixels`);
  }
});

test("the outline is a menu that moves the picture", async () => {
  const viewer = await openManual(6);
  await button("Outline").click();
  const entry = page.getByRole("navigation", { name: "Outline" }).getByRole("button", { name: /Chapter 5/ });
  await assertAccessible(page);
  await entry.click();
  await assertEventually(async () => (await pageField().inputValue()) === "5", "the page is not shown");
  assert.equal(await entry.isVisible(), false);
  await button("Outline").press("Enter");
  await entry.press("Escape");
  assert.equal(await entry.isVisible(), false);
  assert.ok(await button("Outline").evaluate(isFocused));
  await button("Outline").press("Enter");
  assert.equal(await button("Outline").getAttribute("aria-expanded"), "true");
  await viewer.picture.click({ position: { x: 1000, y: 400 } });
  assert.equal(await entry.isVisible(), false);
  await openManual(1);
  assert.equal(await page.locator(".pages, nav").count(), 0, "one page needs no control");
});

test("screen readers get the words once, as a document with headings, lists, tables, alternatives and links", async () => {
  await openManual(2);
  const text = page.getByRole("region", { name: "Text of the picture" });
  await page.getByRole("heading", { name: "Chapter 2" }).waitFor({ state: "attached" });
  assert.equal(
    await text.ariaSnapshot(),
    `- region "Text of the picture":
  - link "Skip the text of the picture":
    - /url: "#"
  - group "Page i":
    - heading "Chapter 1" [level=2]
    - paragraph: The tide of day 1 rises in the harbour, as the examples of the Café below show. A short line.
    - paragraph:
      - text: Read
      - link "the notes,":
        - /url: https://example.com/notes
      - text: and turn
      - link "the page.":
        - /url: ${page.url().split("?")[0]}?page=2
    - list:
      - listitem: High water at noon
      - listitem: Low water at six
    - paragraph:
      - img "A chart of tides"
    - table:
      - row "Port High water":
        - cell "Port"
        - cell "High water"
      - row "Brest 12:10":
        - cell "Brest"
        - cell "12:10":
          - link "12:10":
            - /url: https://example.com/noon
    - paragraph: Upright margin
  - group "Page 2":
    - heading "Chapter 2" [level=2]
    - paragraph: The tide of day 2 rises in the harbour, as the examples of the Café below show. A short line.
    - paragraph:
      - text: Read
      - link "the notes,":
        - /url: https://example.com/notes
      - text: and turn the page.
    - list:
      - listitem: High water at noon
      - listitem: Low water at six
    - paragraph:
      - img "A chart of tides"
    - table:
      - row "Port High water":
        - cell "Port"
        - cell "High water"
      - row "Brest 12:10":
        - cell "Brest"
        - cell "12:10":
          - link "12:10":
            - /url: https://example.com/noon
    - paragraph: Upright margin`,
  );
  // Chromium's tree for assistive technology, of all elements of the page.
  const { nodes } = await (await page.context().newCDPSession(page)).send("Accessibility.getFullAXTree");
  const heard = nodes.filter(({ ignored }) => !ignored).map(({ role, name, properties = [] }) => {
    const level = properties.find((property) => property.name === "level")?.value.value;
    return [role.value + (role.value === "heading" ? level : ""), name?.value];
  });
  const named = (wanted) => heard.filter(([role]) => role === wanted).map(([, name]) => name);
  assert.deepEqual(named("heading2"), ["Chapter 1", "Chapter 2"]);
  assert.deepEqual(["listitem", "table", "row", "cell"].map((role) => named(role).length), [4, 2, 4, 8]);
  assert.deepEqual(named("image").filter(Boolean), ["A chart of tides", "A chart of tides"]);
  const words = named("StaticText").join("|");
  for (const once of ["Chapter 1", "The tide of day 1", "and turn the page."]) assert.equal(words.split(once).length, 2, once);
  assert.equal(await page.locator(".reading > div").getAttribute("lang"), "en");
  assert.equal(await text.evaluate((section) => section.closest("[role=application]")), null);

  await text.getByRole("link", { name: "Skip the text of the picture" }).focus();
  await page.keyboard.press("Enter");
  assert.ok(await text.locator("span[tabindex]").evaluate(isFocused));
  await assertAccessible(page);
});

for (const [name, options] of [["a phone", PHONE], ["a large screen", { viewport: { width: 1440, height: 900 } }]]) {
  test(`find bar and outline are accessible on ${name}, in light and dark colours, in a page and in embeds`, async () => {
    const id = service.create({ kind: "ready", ...manual(6) });
    const embeds = host.put(`<script src="${service.origin}/${id}.js?height=500&q=tide"></script><iframe title="A manual" width="100%" height="500" src="${service.origin}/${id}/embed?q=tide"></iframe>`);
    await openEmpty({ ...options, reducedMotion: "reduce" });
    for (const url of [`${service.origin}/${id}?q=tide`, embeds]) {
      await page.goto(url);
      for (const scope of url === embeds ? [page, page.frameLocator("iframe")] : [page]) {
        await scope.locator(".current i").waitFor({ state: "attached" });
        await scope.getByRole("button", { name: "Outline" }).press("Enter");
        await scope.locator(".reading h2").last().waitFor({ state: "attached" });
      }
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await assertAccessible(page);
      }
    }
    assert.deepEqual(page.wrongs, []);
  });
}

test("pointers are told how to select words, once in a session and never while they act", async () => {
  const drags = () => page.getByText("Drag over words to select them");
  const presses = () => page.getByText("Press and hold to select words");
  const rests = 1000;
  const { id } = await openManual(1, { clock: true });
  const [on] = await placesOf("The tide of day 1", 6, 6);
  const margin = { x: on.x, y: on.y + 250 };
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.mouse.move(on.x, on.y);
  await page.mouse.move(margin.x, margin.y);
  await page.clock.runFor(rests);
  assert.equal(await drags().count(), 0, "the pointer does not rest over words");
  await page.mouse.move(on.x, on.y);
  await page.clock.runFor(rests);
  await page.mouse.move(on.x + 20, on.y);
  assert.ok(await drags().isVisible(), "it is gone before it can be read");
  await page.mouse.down();
  await drags().waitFor({ state: "hidden" });
  await page.mouse.up();
  await page.clock.resume();
  for (const path of [`/${id}`, `/${id}/embed`]) {
    await page.goto(service.origin + path);
    await restingScale(parts(page));
    const [again] = await placesOf("The tide of day 1", 6, 6);
    await page.mouse.move(again.x, again.y);
    await page.clock.fastForward(rests);
    assert.equal(await drags().count(), path.endsWith("embed") ? 1 : 0, path);
  }

  await openManual(1, { clock: true });
  const [from, to] = await placesOf("The tide of day 1", 4, 15);
  await drag(from, to);
  await page.mouse.move(from.x, from.y);
  await page.clock.fastForward(rests);
  assert.equal(await drags().count(), 0, "readers who select are not told");

  await openManual(1, { ...PHONE, clock: true });
  const [tap] = await placesOf("The tide of day 1", 6, 6);
  await page.clock.pauseAt(Date.now() + 60_000); // a slow touch is no tap
  await page.touchscreen.tap(tap.x, tap.y + 150);
  await page.clock.runFor(rests);
  assert.equal(await presses().count(), 0, "there are no words");
  await page.touchscreen.tap(tap.x, tap.y);
  await page.clock.runFor(rests);
  await presses().waitFor();
  await page.clock.resume();
  await assertAccessible(page);
  assert.deepEqual(page.wrongs, []);
});

test("links and embeds may begin at the page in view, with the search", async () => {
  await openManual(6);
  const line = (label) => page.getByLabel(label, { exact: true });
  const choice = page.getByRole("checkbox");
  await button("Share").click();
  assert.equal(await choice.count(), 0, "the first page needs no choice");
  await button("Close").click();
  await page.keyboard.press("/");
  await field().fill("day 5");
  await page.waitForURL(/[?&]q=day%205/);
  await placed(page);
  await assertEventually(async () => (await pageField().inputValue()) === "5", "the match is not shown");
  await button("Share").click();
  const plain = await line("Link").inputValue();
  await page.getByLabel("Open at page 5 with the search “day 5”").check();
  assert.equal(await line("Link").inputValue(), `${plain}?page=5&q=day%205`);
  assert.match(await line("Link to this view").inputValue(), /\?at=[\d.,]+&q=day%205$/);
  const embeds = [await line("Embed").inputValue(), await line("Embed as a frame").inputValue()];
  await assertAccessible(page);
  await page.getByLabel("Open at page 5 with the search “day 5”").uncheck();
  assert.equal(await line("Link").inputValue(), plain);
  await page.goto(`${plain}?page=5&q=day%205`);
  await assertEventually(async () => (await pageField().inputValue()) === "5" && (await count()) === "1 of 1", "the link does not open the search");
  await page.goto(host.put(embeds.join("")));
  for (const scope of [page, page.frameLocator("iframe")]) {
    await assertEventually(async () => (await scope.locator(".pages input").inputValue()) === "5", "an embed does not begin at the page");
    assert.equal(await scope.locator(".find .count").textContent(), "1 of 1");
  }
  assert.deepEqual(page.wrongs, []);
});

/** Where and how words are used, beside a mouse at 0° in a page. */
const USES = ["page", "embed"].flatMap((place) => [0, 90].flatMap((turn) => ["mouse", "touch"].map((pointer) => ({ place, turn, pointer })))).slice(1);

for (const { place, turn, pointer } of USES) {
  test(`words are found, selected, copied and followed with ${pointer} in ${place} at ${turn}°`, async () => {
    await openEmpty({ reducedMotion: "reduce", viewport: { width: 800, height: 800 }, ...(pointer === "touch" && { hasTouch: true, isMobile: true }) });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    if (pointer === "touch") await page.clock.install();
    const id = service.create({ kind: "ready", ...manual(6) });
    const embed = `<script src="${service.origin}/${id}.js?height=700&q=day%201"></script>`;
    await page.goto(place === "embed" ? host.put(embed) : `${service.origin}/${id}?q=day%201`);
    const press = (locator) => (pointer === "touch" ? locator.tap() : locator.click());
    const pressAt = async ({ x, y }) => {
      if (pointer === "mouse") return page.mouse.click(x, y);
      await page.clock.pauseAt(Date.now() + 60_000); // a slow touch is no tap
      await page.touchscreen.tap(x, y);
      await page.clock.resume();
    };
    const isAt = (number) => assertEventually(async () => (await pageField().inputValue()) === number && (await lineWith(`Chapter ${number}`).count()) > 0, `page ${number} is not shown`);
    const isOver = async (kind, text) => {
      const [mark, line] = await Promise.all([marks(kind).first().boundingBox(), lineWith(text).boundingBox()]);
      return mark.x >= line.x - 1 && mark.y >= line.y - 1 && mark.x + mark.width <= line.x + line.width + 1 && mark.y + mark.height <= line.y + line.height + 1;
    };
    await isAt("1");
    assert.equal(await count(), "1 of 1");
    if (turn) await press(parts(page).rotate);
    await assertEventually(async () => {
      const { width, height } = await lineWith("The tide").boundingBox();
      return (turn ? height > width : width > height) && isOver("current", "The tide of day 1");
    }, "the match is not marked");

    const [from, to] = await placesOf("The tide of day 1", 4, 8);
    if (pointer === "mouse") await drag(from, to);
    else await hold({ x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 });
    await marks("selected").waitFor();
    assert.ok(await isOver("selected", "The tide of day 1"));
    await (pointer === "mouse" ? page.keyboard.press("Control+c") : button("Copy").tap());
    await assertEventually(async () => (await page.evaluate(() => navigator.clipboard.readText())) === "tide", "the word is not copied");

    await pressAt((await placesOf("Read the notes", 27, 27))[0]);
    await isAt("2");
    await pageField().fill("5");
    await pageField().press("Enter");
    await isAt("5");
    await field().fill("day 3");
    await isAt("3");
    assert.deepEqual(page.wrongs, []);
  });
}

test("words of a source are never markup", async () => {
  const markup = "<img src=x onerror=alert(1)>";
  const { text, size } = manual(2);
  text.language = text.pages[0].label = text.outline[0].title = markup;
  text.pages[0].blocks = ["h1", "p", "li", "td", "img"].map((role) => ({ role, lines: [line(markup, 100, 100)], alternative: markup }));
  await openEmpty();
  await page.goto(`${service.origin}/${service.create({ kind: "ready", text, size })}`);
  await page.locator(".reading h2").first().waitFor({ state: "attached" });
  await button("Outline").click();
  assert.equal(await page.locator(".reading img, .outline img, .words img, .pages img").count(), 0);
  assert.equal(await page.locator(".outline button").first().textContent(), `${markup}1`);
  assert.deepEqual(page.wrongs, []);
});

for (const [kind, at] of [["script", (id) => `<script src="${service.origin}/${id}.js?height=600"></script>`], ["frame", (id) => `<iframe title="A manual" width="800" height="600" src="${service.origin}/${id}/embed"></iframe>`]]) {
  test(`words work in a ${kind} on another site, whose own keys stay as they are`, async () => {
    await openEmpty({ reducedMotion: "reduce" });
    await page.goto(host.put(at(service.create({ kind: "ready", ...manual(6) })), kind === "script" ? { policy: `require-trusted-types-for 'script'` } : {}));
    const scope = kind === "frame" ? page.frameLocator("iframe") : page;
    await scope.locator(".words > div").first().waitFor({ state: "attached" });
    await page.keyboard.press("/");
    assert.equal(await scope.locator(".find").isVisible(), false, "the page has the focus");
    await parts(scope).picture.focus();
    await page.keyboard.press("/");
    await scope.getByRole("textbox", { name: "Find words" }).fill("day 5");
    await page.keyboard.press("0");
    await page.keyboard.press("Backspace");
    assert.equal(await scope.locator(".find .count").textContent(), "1 of 1");
    await page.keyboard.press("Escape");
    await page.keyboard.press("PageDown");
    await assertEventually(async () => (await scope.getByRole("textbox", { name: "Page", exact: true }).inputValue()) === "6", "the page was not turned");
    assert.doesNotMatch(page.url(), /[?&](q|at|page)=/);
    assert.deepEqual(page.wrongs, []);
  });
}

test("a view with words requests no frames at rest, and only lines in view exist", async () => {
  await openEmpty();
  await countFrames(page);
  await page.goto(`${service.origin}/${service.create({ kind: "ready", ...manual(40) })}?page=3`);
  await lineWith("Chapter 3").waitFor({ state: "attached" });
  await assertNoFrames(page, parts(page));
  assert.ok((await page.locator(".words > div").count()) < 40);
  await page.keyboard.press("w");
  await assertEventually(async () => (await page.locator(".words > div").count()) === 0, "lines too small to read stay");
});
