// The embed script in pages of other sites, however it is inserted, and the page for frames.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { decodePng } from "../png.mjs";
import { assertAccessible, assertEventually, globalsLeft, painted, parts, restingScale } from "./browser.mjs";
import { lean } from "./engines/vector.mjs";
import { manual } from "./manual.mjs";
import { browser, host, openEmpty, page, ready, service, setUp } from "./site.mjs";

setUp();

/** Number of requests for the viewer's module. */
let viewerLoads;
/** Opens a page of another site with this body. */
async function openElsewhere(body, settings = {}, options = {}) {
  await openEmpty(options);
  viewerLoads = 0;
  page.on("request", (request) => {
    if (/\/assets\/viewer\.js/.test(request.url())) viewerLoads += 1;
  });
  await page.goto(host.put(body, settings), { waitUntil: settings.never ? "commit" : "load" });
}
const script = (query = "", id = ready) => `<script src="${service.origin}/${id}.js${query}"></script>`;
/** Returns the elements that embeds have made. */
const embeds = (scope = page) => scope.locator("div[style*=aspect-ratio]");

test("a script shows the picture in its place", async () => {
  await openElsewhere(`<p>before</p>${script("?width=auto&height=400px")}<p>after</p>`);
  await painted(page);
  const order = [embeds(), page.getByText("before"), page.getByText("after")];
  const [box, above, below] = await Promise.all(order.map((element) => element.boundingBox()));
  assert.equal(box.height, 400);
  assert.equal(box.width, above.width);
  assert.ok(above.y < box.y && box.y + box.height <= below.y);
  assert.deepEqual(await globalsLeft(page), []);
  assert.deepEqual(page.wrongs, []);
  await assertAccessible(page);
});

test("a script on another site and a frame that isolates itself show vectors", async () => {
  const at = { x: 0, y: 0, width: 6000, height: 4000 };
  const id = service.create({ kind: "ready", vector: [{ ...at, svg: lean(at.width, at.height, [[0, 0, 6000, 4000]]) }] });
  const isBlack = async () => {
    const { pixels, channels, width, height } = decodePng(await page.screenshot());
    return pixels[(200 * width + width / 2) * channels] < 9 && height > 200;
  };
  const place = "at=3000,2000,60";
  for (const body of [script(`?height=400px&${place}`, id), `<iframe src="${service.origin}/${id}/embed?${place}" width="800" height="400"></iframe>`]) {
    await openElsewhere(body);
    await assertEventually(isBlack, `no vectors: ${body}`);
    assert.deepEqual(page.wrongs, []);
  }
});

test("an async script shows it in the element of its `id`, even a later one", async () => {
  await openElsewhere(`${script("?id=here").replace("<script", "<script async")}<div id="other"></div><div id="here"></div>`);
  await painted(page);
  assert.equal(await page.locator("#here > div").count(), 1);
  assert.deepEqual(page.wrongs, []);
});

test("an element of the `id` that a script makes later gets the picture", async () => {
  await openElsewhere(script("?id=late"));
  assert.equal(await embeds().count(), 0);
  await page.evaluate(() => document.body.append(Object.assign(document.createElement("div"), { id: "late" })));
  await painted(page);
  assert.equal(await page.locator("#late > div").count(), 1);
  assert.deepEqual(page.wrongs, []);
});

/** Returns the number of canvases in memory. */
async function canvases(devtools) {
  await devtools.send("HeapProfiler.collectGarbage");
  const { result } = await devtools.send("Runtime.evaluate", { expression: "HTMLCanvasElement.prototype", objectGroup: "count" });
  const { objects } = await devtools.send("Runtime.queryObjects", { prototypeObjectId: result.objectId, objectGroup: "count" });
  const count = { objectId: objects.objectId, functionDeclaration: "function () { return this.length; }", returnByValue: true };
  const { result: counted } = await devtools.send("Runtime.callFunctionOn", count);
  await devtools.send("Runtime.releaseObjectGroup", { objectGroup: "count" });
  return counted.value;
}

test("embeds that are removed free their memory; one that is put back shows its picture", async () => {
  const ids = [ready, service.create({ kind: "ready", ...manual(1) })];
  const policy = "require-trusted-types-for 'script'; trusted-types 'none'";
  await openElsewhere(`<div id="box">${ids.map((id) => script("?width=300&height=250px", id)).join("").repeat(3)}</div><div id="other"></div>`, { policy });
  await assertEventually(async () => (await parts(page).atRest.count()) === 6, "not all are shown");
  await painted(page);
  const devtools = await page.context().newCDPSession(page);
  assert.ok((await canvases(devtools)) >= 6);
  // A host that is moved stays as it is.
  const isMoved = page.evaluate(() => {
    const [moved] = document.querySelectorAll("#box > div");
    const canvas = moved.shadowRoot.querySelector("canvas");
    document.getElementById("other").append(moved);
    return new Promise((resolve) => setTimeout(() => resolve(moved.shadowRoot.contains(canvas)), 1500));
  });
  assert.ok(await isMoved);
  await page.evaluate(() => {
    window.kept = document.querySelector("#box > div");
    for (const id of ["box", "other"]) document.getElementById(id).replaceChildren();
  });
  await assertEventually(async () => (await canvases(devtools)) === 0, "canvases stay in memory");
  await page.evaluate(() => document.getElementById("box").append(window.kept));
  await painted(page);
  assert.deepEqual(page.wrongs, []);
});

/** Returns the memory of the browser's renderers in MiB, without garbage. */
async function renderersMemory() {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.collectGarbage");
  await devtools.detach();
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const renderers = processInfo.filter(({ type }) => type === "renderer");
  const of = ({ id }) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "latin1"))[1]);
  return renderers.reduce((sum, renderer) => sum + of(renderer), 0) / 1024;
}

test("ten embeds that are removed give their memory back", async () => {
  const show = async (count) => {
    await page.evaluate(([src, number]) => {
      for (let index = 0; index < number; index += 1) document.getElementById("box").append(Object.assign(document.createElement("script"), { src }));
    }, [`${service.origin}/${ready}.js?width=1100&height=700&id=box`, count]);
    for (let index = 0; index < count; index += 1) await painted(page, embeds().nth(index));
  };
  const remove = () => page.evaluate(() => document.getElementById("box").replaceChildren());
  await openElsewhere(`<div id="box"></div>`);
  await show(1);
  await remove();
  await assertEventually(async () => (await canvases(await page.context().newCDPSession(page))) === 0, "a canvas stays");
  const before = await renderersMemory();
  await show(10);
  const shown = await renderersMemory();
  await remove();
  let after;
  await assertEventually(async () => {
    after = await renderersMemory();
    return after - before < (shown - before) / 5;
  }, "it stays").catch(() => assert.fail(`${before} MiB, ${shown} with ten embeds, ${after} without`));
});

test("another density of the screen, without another size, makes the picture sharp again", async () => {
  await openElsewhere(script());
  await painted(page);
  const width = () => embeds().evaluate((host) => host.shadowRoot.querySelector("canvas").width);
  const before = await width();
  const devtools = await page.context().newCDPSession(page);
  for (const density of [2, 1.5]) {
    await devtools.send("Emulation.setDeviceMetricsOverride", { width: 1200, height: 800, deviceScaleFactor: density, mobile: false });
    await assertEventually(async () => (await width()) === before * density, `not drawn for ${density}`);
  }
  assert.deepEqual(page.wrongs, []);
});

test("on paper the picture keeps its shape, and has its name and address instead of controls", async () => {
  await openElsewhere(script("?height=400px"));
  await painted(page);
  await restingScale(parts(page));
  await page.emulateMedia({ media: "print" });
  const paper = await embeds().evaluate((host) => {
    const canvas = host.shadowRoot.querySelector("canvas");
    return { fit: getComputedStyle(canvas).objectFit, caption: getComputedStyle(host.shadowRoot.querySelector(".viewer"), "::after").content };
  });
  assert.equal(paper.fit, "contain");
  assert.match(paper.caption, new RegExp(`${service.origin}/${ready}`));
  assert.equal(await parts(page).zoomIn.isVisible(), false);
});

test("a printed article has the picture, seen or not, in its shape", async () => {
  const breaks = "@media print { p { height: auto !important; break-after: page } }";
  await openElsewhere(`<style>${breaks}</style><p style="height: 5000px">Long text</p>${script("?width=600&height=300")}`);
  const previews = [];
  page.on("request", (request) => /preview\.jpg$/.test(request.url()) && previews.push(request.url()));
  // An observer that was created later is called later.
  await embeds().evaluate((host) => new Promise((resolve) => new IntersectionObserver(resolve).observe(host)));
  assert.deepEqual([viewerLoads, previews.length], [0, 0]);
  assert.deepEqual(printedBox(await page.pdf()), [450, 300]);
  await embeds().scrollIntoViewIfNeeded();
  await painted(page);
  const [width, height] = printedBox(await page.pdf());
  assert.ok(Math.abs(width / height - 1.5) < 0.05 && height > 200, `${width} × ${height}`);
  assert.equal(previews.length, 1);
  assert.deepEqual(page.wrongs, []);
});

/** Returns the size of what is coloured on the second page of a PDF, in CSS pixels. */
function printedBox(pdf) {
  const printed = execFileSync("pdftoppm", ["-r", "96", "-f", "2", "-l", "2", "-png", "-"], { input: pdf, maxBuffer: 1e8 });
  const { width, height, channels, pixels } = decodePng(printed);
  const isColoured = (at) => Math.max(...pixels.subarray(at, at + 3)) - Math.min(...pixels.subarray(at, at + 3)) > 20;
  const places = Array.from({ length: width * height }, (_, at) => at).filter((at) => isColoured(at * channels));
  const span = (values) => values.reduce((most, value) => Math.max(most, value), 0) - values.reduce((least, value) => Math.min(least, value), Infinity) + 1;
  return [span(places.map((at) => at % width)), span(places.map((at) => Math.floor(at / width)))];
}

test("embedHtml that is written into a frame shows the picture there", async () => {
  const { embedHtml } = await (await fetch(`${service.origin}/v1/content/${ready}`)).json();
  await openElsewhere(`<iframe id="written" title="Picture" width="700" height="450"></iframe>
    <script>
      const { contentDocument } = document.getElementById("written");
      contentDocument.open();
      contentDocument.write(${JSON.stringify(embedHtml).replaceAll("</", "<\\/")});
      contentDocument.close();
    </script>`);
  const frame = page.frameLocator("#written");
  await painted(page, frame);
  assert.equal((await embeds(frame).boundingBox()).height, 400);
  assert.deepEqual(page.wrongs, []);
});

test("a script that is inserted later shows it in its place, or in the element of its `id`", async () => {
  await openElsewhere(`<div id="here"></div><div id="there"></div>`);
  for (const [parent, query] of [["here", ""], ["there", "?id=here"]]) {
    await page.evaluate(([id, src]) => {
      document.getElementById(id).append(Object.assign(document.createElement("script"), { src }));
    }, [parent, `${service.origin}/${ready}.js${query}`]);
    await painted(page);
  }
  await page.waitForFunction(() => document.querySelectorAll("#here > div").length === 2);
  assert.deepEqual(page.wrongs, []);
});

for (const [closed, ending] of [[true, "doc.close()"], [false, ""]]) {
  test(`a script that is written into a frame fills it, ${closed ? "closed" : "though the document is never closed"}`, async () => {
    const written = JSON.stringify(script("?width=100%25&height=100%25")).replaceAll("</", "<\\/");
    await openElsewhere(`<iframe title="Picture" width="700" height="500"></iframe>
      <script>const doc = document.querySelector("iframe").contentDocument;
      doc.open(); doc.write(${written}); ${ending}</script>`, { never: !closed });
    const frame = page.frameLocator("iframe");
    await painted(page, frame);
    assert.ok((await embeds(frame).boundingBox()).width > 650);
    assert.deepEqual(page.wrongs, []);
  });
}

test("several embeds load the viewer once", async () => {
  await openElsewhere(script() + script() + script("?height=300", service.ready()));
  await page.waitForFunction(() => document.querySelectorAll("div[style*=aspect-ratio]").length === 3);
  for (let index = 0; index < 3; index += 1) await painted(page, embeds().nth(index));
  assert.equal(viewerLoads, 1);
  assert.deepEqual(await globalsLeft(page), []);
  assert.deepEqual(page.wrongs, []);
  // The same picture twice has the same name.
  await assertAccessible(page, { rules: { "landmark-unique": { enabled: false } } });
});

test("the viewer is loaded when the reader scrolls near", async () => {
  await openElsewhere(`<p style="height: 4000px">Long text</p>${script()}`);
  // An observer that was created later is called later.
  await embeds().evaluate((host) => new Promise((resolve) => new IntersectionObserver(resolve).observe(host)));
  assert.equal(viewerLoads, 0);
  assert.equal((await embeds().boundingBox()).height, 400, "its space is reserved");
  await embeds().scrollIntoViewIfNeeded();
  await painted(page);
  assert.equal(viewerLoads, 1);
});

test("an embed of an unfinished content shows the picture when it is ready", async () => {
  const { id, finish } = service.slow();
  await openElsewhere(script("?height=300", id));
  await page.getByRole("progressbar").waitFor();
  await assertAccessible(page);
  finish();
  await painted(page);
  assert.deepEqual(page.wrongs, []);
});

test("an embed of a failed content shows the reason", async () => {
  await openElsewhere(script("", service.failed()));
  await page.getByRole("heading", { name: "The source does not exist" }).waitFor();
  await assertAccessible(page);
  assert.deepEqual(page.wrongs, []);
});

test("an embed of an unknown content says so", async () => {
  await openElsewhere(script("", `${ready.slice(0, 10)}${ready.endsWith("z") ? "y" : "z"}`));
  await page.getByRole("heading", { name: "There is no picture here" }).waitFor();
});

test("an embed with a malformed id says so in its place", async () => {
  await openElsewhere(`<p>before</p>${script("?height=300", "nope")}<p>after</p>`);
  await page.getByRole("heading", { name: "There is no picture here" }).waitFor();
  assert.equal((await embeds().boundingBox()).height, 300);
  await assertAccessible(page);
});

test("a mark links to the share page, unless it is turned off", async () => {
  const mark = (scope) => scope.getByRole("link", { name: "Open in Edgezoom" });
  await openElsewhere(script());
  await painted(page);
  assert.equal(await mark(page).getAttribute("href"), `${service.origin}/${ready}`);
  const [opened] = await Promise.all([page.waitForEvent("popup"), mark(page).click()]);
  await opened.waitForURL(`${service.origin}/${ready}`);
  await assertAccessible(page);
  await openElsewhere(script("?attribution=0"));
  await painted(page);
  assert.equal(await mark(page).count(), 0);
  for (const [query, count] of [["", 1], ["?attribution=0", 0]]) {
      await openElsewhere(`<iframe title="Picture" src="${service.origin}/${ready}/embed${query}" width="800" height="400"></iframe>`);
    const frame = page.frameLocator("iframe");
    await painted(page, frame);
    assert.equal(await mark(frame).count(), count, query);
  }
});

test("credits are a line of text with a link, which no parameter hides", async () => {
  const license = "http://creativecommons.org/licenses/by-sa/4.0/";
  const statement = "http://rightsstatements.org/vocab/InC/1.0/";
  const credits = { creator: "<b>Ann</b>", credit: "<b>Ann</b>, City Museum", copyright: "© 2024", rights: license };
  const credited = service.create({ kind: "ready", credits });
  const named = service.create({ kind: "ready", credits: { creator: "Ann ".repeat(70), rights: statement } });
  for (const [id, words, name, rights] of [[credited, "<b>Ann</b>, City Museum · © 2024", "CC BY-SA 4.0", license], [named, "Ann ".repeat(70), "Rights statement", statement]]) {
    const frame = `<iframe title="Picture" src="${service.origin}/${id}/embed?attribution=0" width="320" height="300"></iframe>`;
    for (const body of [script("?attribution=0", id), frame]) {
      await openElsewhere(body);
      const inside = body === frame ? page.frameLocator("iframe") : page;
      await painted(page, inside);
      const line = inside.locator(".credits");
      assert.equal(await line.locator("span").textContent(), words);
      const link = line.getByRole("link", { name });
      const attributes = await link.evaluate(({ rel, target }) => [rel, target]);
      assert.deepEqual([await link.getAttribute("href"), ...attributes], [rights, "license noopener nofollow", "_blank"]);
      const boxes = await Promise.all([inside.locator(".viewer"), inside.locator(".controls"), line, link].map((part) => part.boundingBox()));
      const [viewer, controls, whole, end] = boxes;
      assert.ok(controls.y + controls.height <= whole.y && whole.y + whole.height <= viewer.y + viewer.height, JSON.stringify(boxes));
      assert.ok(end.x + end.width <= viewer.x + viewer.width, JSON.stringify(boxes));
      await assertAccessible(page);
      assert.deepEqual(page.wrongs, []);
    }
  }
  await openElsewhere(script("", credited));
  await painted(page);
  await page.emulateMedia({ media: "print" });
  const caption = await embeds().evaluate((host) => getComputedStyle(host.shadowRoot.querySelector(".viewer"), "::after").content);
  assert.match(caption, /<b>Ann<\/b>, City Museum · © 2024 · CC BY-SA 4\.0 · http/);
  await openElsewhere(script());
  await painted(page);
  assert.equal(await page.locator(".credits").count(), 0);
});

test("all forms of width and height are supported", async () => {
  await openElsewhere(`<div id="box" style="width: 800px; height: 600px"></div>`);
  const cases = [
    ["", 800, 400],
    ["&width=auto&height=auto", 800, 533],
    ["&width=0&height=300px", 800, 300],
    ["&width=320&height=240", 320, 240],
    ["&width=50%25&height=25%25", 400, 150],
    ["&width=-5&height=1e9", 800, 533],
    ["&width=100px;color:red&height=</script>", 800, 533],
    ["&width=5000px", 800, 400],
  ];
  for (const [query, width, height] of cases) {
    await page.evaluate((src) => {
      document.getElementById("box").replaceChildren();
      document.body.append(Object.assign(document.createElement("script"), { src }));
    }, `${service.origin}/${ready}.js?id=box${query}`);
    await painted(page);
    const box = await embeds().boundingBox();
    assert.deepEqual([Math.round(box.width), Math.round(box.height)], [width, height], query);
  }
});

test("the picture is centred above the controls, in a low embed as far as there is room", async () => {
  for (const [width, height, size] of [
    [800, 600, { width: 6000, height: 4000 }],
    [800, 400, { width: 6000, height: 4000 }],
    [800, 300, { width: 2000, height: 4000 }],
    [360, 500, { width: 6000, height: 4000 }],
    [800, 260, { width: 8000, height: 2400 }],
    [800, 260, { width: 6000, height: 4000 }],
    [300, 200, { width: 6000, height: 4000 }],
  ]) {
    const id = service.create({ kind: "ready", size });
    await openElsewhere(script(`?width=${width}&height=${height}`, id), {}, { reducedMotion: "reduce" });
    await painted(page);
    const viewer = parts(page);
    const [around, controls] = [await viewer.region.boundingBox(), await page.locator(".controls").boundingBox()];
    await restingScale(viewer);
    const { top, bottom } = edges(await page.screenshot({ clip: around }));
    const [above, below] = [top, controls.y - around.y - bottom];
    const what = JSON.stringify({ width, height, size, above, below });
    // The margin of the controls is free above them too.
    if (height >= 300) assert.ok(below >= 0 && Math.abs(above - (below - 12)) <= 2, what);
    else assert.ok(above <= 2 || Math.abs(above - (below - 12)) <= 2, what);
  }
});

/** Returns the first row of a picture and the row after its last, in the column at its left edge. */
function edges(screenshot) {
  const { pixels, channels, width, height } = decodePng(screenshot);
  const isGround = (x, y) => [236, 235, 232].every((level, channel) => Math.abs(pixels[(y * width + x) * channels + channel] - level) < 3);
  const rows = Array.from({ length: height }, (_, y) => y);
  const left = Array.from({ length: width }, (_, x) => x).find((x) => !isGround(x, Math.floor(height / 2)));
  const top = rows.find((y) => !isGround(left + 4, y));
  return { top, bottom: rows.find((y) => y > top && isGround(left + 4, y)) ?? height };
}

test("fit and background apply, and a background must be a colour", async () => {
  const ground = () => page.getByRole("region").evaluate((region) => getComputedStyle(region).backgroundColor);
  await openElsewhere(script("?height=300px&width=900px&background=204060&fit=cover"));
  await painted(page);
  assert.equal(await ground(), "rgb(32, 64, 96)");
  assert.equal(await parts(page).zoomOut.getAttribute("aria-disabled"), "false"); // zooming out shows more
  await openElsewhere(script("?background=url(//evil.example/x)"));
  await painted(page);
  assert.equal(await ground(), "rgb(236, 235, 232)");
});

test("the wheel scrolls the page and shows a hint; with Ctrl it zooms", async () => {
  await openElsewhere(`${script()}<p style="height: 3000px">Long text</p>`);
  await painted(page);
  const viewer = parts(page);
  const before = await restingScale(viewer);
  await viewer.picture.hover();
  await page.mouse.wheel(0, 200);
  await page.locator(".hint.shown").waitFor();
  assert.match(await page.locator(".hint").textContent(), /Hold (Ctrl|⌘) and scroll to zoom/);
  await page.waitForFunction(() => scrollY === 200);
  assert.equal(await restingScale(viewer), before);

  await page.evaluate(() => scrollTo(0, 0));
  await viewer.picture.hover();
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await assertEventually(async () => (await restingScale(viewer)) > before, "it does not zoom");
  await page.keyboard.up("Control");
  assert.equal(await page.evaluate(() => scrollY), 0);
});

test("in fullscreen the wheel zooms", async () => {
  await openElsewhere(script());
  await painted(page);
  const viewer = parts(page);
  await viewer.fullscreen.click();
  await page.waitForFunction(() => document.fullscreenElement !== null);
  const before = await restingScale(viewer);
  await viewer.picture.hover();
  await page.mouse.wheel(0, -100);
  await assertEventually(async () => (await restingScale(viewer)) > before, "it does not zoom");
});

test("one finger scrolls the page, two fingers zoom", async () => {
  const phone = { viewport: { width: 400, height: 700 }, hasTouch: true, isMobile: true };
  await openElsewhere(`${script()}<p style="height: 3000px">Long text</p>`, {}, phone);
  await painted(page);
  const viewer = parts(page);
  const before = await restingScale(viewer);
  const { x, y } = await viewer.picture.boundingBox();
  await touch((step) => [{ x: x + 100, y: y + 300 - step * 15 }]);
  await page.waitForFunction(() => scrollY > 50);
  assert.equal(await restingScale(viewer), before);
  assert.match(await page.locator(".hint").textContent(), /two fingers/);

  await page.evaluate(() => scrollTo(0, 0));
  await touch((step) => [{ x: x + 150, y: y + 180 - step * 8 }, { x: x + 150, y: y + 220 + step * 8 }]);
  await assertEventually(async () => (await restingScale(viewer)) > before * 2, "it does not zoom");
  assert.deepEqual(await page.evaluate(() => [scrollY, visualViewport.scale]), [0, 1]);
});

/**
 * Moves fingers over the page; `at(step)` returns their places. By the events' times each step is a frame, and the
 * fingers rest before they are lifted, so that the page does not go on to scroll.
 */
async function touch(at) {
  const fingers = await page.context().newCDPSession(page);
  let timestamp = Date.now() / 1000;
  const dispatch = (type, points, pause = 0.016) => {
    const touchPoints = points.map((point, id) => ({ ...point, id }));
    timestamp += pause;
    return fingers.send("Input.dispatchTouchEvent", { type, touchPoints, timestamp });
  };
  await dispatch("touchStart", at(0).slice(0, 1));
  if (at(0).length > 1) await dispatch("touchStart", at(0));
  for (let step = 1; step <= 12; step += 1) await dispatch("touchMove", at(step));
  await dispatch("touchEnd", [], 1);
}

/** Returns where the window has the picture of an embed whose words are placed on it: `{ left, top, scale }`. */
const placeOfPicture = () =>
  embeds().evaluate((host) => {
    const layer = host.shadowRoot.querySelector(".text");
    const { left, top } = layer.getBoundingClientRect();
    return { left, top, scale: new DOMMatrix(getComputedStyle(layer).transform).a * layer.currentCSSZoom };
  });

for (const zoom of [1, 1.5, 0.8]) {
  for (const place of ["body", "#box > div"]) {
    if (zoom === 1 && place !== "body") continue;
    test(`with a CSS zoom of ${zoom} of ${place} the point below the pointer stays`, async () => {
      const id = service.create({ kind: "ready", ...manual(1) });
      await openElsewhere(`<style>${place} { zoom: ${zoom} }</style><div id="box">${script("?width=500&height=500", id)}</div>`, {}, { hasTouch: true, reducedMotion: "reduce" });
      await painted(page);
      const viewer = parts(page);
      const { width } = await viewer.picture.boundingBox();
      assert.equal(Math.round(width), 500 * zoom);
      assert.equal(await embeds().evaluate((host) => host.shadowRoot.querySelector("canvas").width), 500 * zoom, "the picture is not sharp");
      const point = [600, 750]; // without words
      let { left, top, scale } = await placeOfPicture();
      const at = [left + point[0] * scale, top + point[1] * scale];
      const drop = [at[0] + 60, at[1] + 40];
      /** Waits until the picture is this much larger, and fails if the point is elsewhere. */
      async function isAt([x, y], least, what) {
        const before = scale;
        await assertEventually(async () => {
          ({ left, top, scale } = await placeOfPicture());
          return scale >= before * least;
        }, `${what}: it does not zoom`);
        const found = [left + point[0] * scale, top + point[1] * scale];
        assert.ok(Math.hypot(found[0] - x, found[1] - y) < 3, `${what}: ${found}, not ${[x, y]}`);
      }
      await page.mouse.move(...at);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -200);
      await isAt(at, 1.2, "wheel");
      await page.keyboard.up("Control");
      await page.mouse.dblclick(...at);
      await isAt(at, 1.2, "double click");
      await page.mouse.down();
      await page.mouse.move(...drop, { steps: 5 });
      await page.mouse.up();
      await isAt(drop, 1, "drag");
      await touch((step) => [-1, 1].map((side) => ({ x: drop[0], y: drop[1] + side * (20 + step * 5) })));
      await isAt(drop, 1.5, "pinch");
    });
  }
}

test("without fullscreen the viewer covers the page, and Escape ends that", async () => {
  await openElsewhere(script());
  await page.addInitScript(() => delete Element.prototype.requestFullscreen);
  await page.reload();
  await painted(page);
  const viewer = parts(page);
  await viewer.fullscreen.press("Enter");
  const { width, height } = page.viewportSize();
  assert.deepEqual(await viewer.region.boundingBox(), { x: 0, y: 0, width, height });
  await viewer.picture.focus();
  await page.keyboard.press("Escape");
  assert.equal((await viewer.region.boundingBox()).height, 400);
  assert.ok(await viewer.fullscreen.evaluate((button) => button === button.getRootNode().activeElement));
});

test("a strict policy, an AMD loader and a hostile style sheet do no harm", async () => {
  const policy = [
    `default-src 'none'; script-src ${host.origin} ${service.origin}; style-src ${host.origin}`,
    `img-src ${service.origin} data:; connect-src ${service.origin}`,
  ].join("; ");
  host.file("/amd.js", "text/javascript", "window.define = () => { throw new Error('wrong loader'); }; define.amd = {};");
  const hostile = "* { color: red !important; display: none } html, body, main, div { display: block !important }";
  host.file("/hostile.css", "text/css", `${hostile} button { display: none !important }`);
  await openElsewhere(`<link rel="stylesheet" href="/hostile.css"><script src="/amd.js"></script>${script()}`, { policy });
  await painted(page);
  assert.ok(await parts(page).zoomIn.isVisible());
  assert.deepEqual(page.wrongs, []);
});

test("it works on a page that requires Trusted Types", async () => {
  const policy = "require-trusted-types-for 'script'; trusted-types 'none'";
  await openElsewhere(script(), { policy });
  await painted(page);
  await parts(page).zoomIn.click();
  assert.deepEqual(page.wrongs, []);
});

test("script and frame work on a page that isolates itself", async () => {
  const frame = `<iframe title="Picture" src="${service.origin}/${ready}/embed" width="800" height="400"></iframe>`;
  await openElsewhere(script() + frame, { isolated: true });
  assert.ok(await page.evaluate(() => globalThis.crossOriginIsolated));
  await painted(page);
  await painted(page, page.frameLocator("iframe"));
  assert.deepEqual(page.wrongs, []);
});

test("script and frame work in a sandbox that only permits scripts", async () => {
  const written = `<!doctype html><title>A frame</title><link rel="icon" href="data:,">${script("?height=250px")}`.replaceAll('"', "&quot;");
  await openElsewhere(`<iframe sandbox="allow-scripts" title="Script" srcdoc="${written}" width="800" height="300"></iframe>
    <iframe sandbox="allow-scripts" title="Frame" src="${service.origin}/${ready}/embed" width="800" height="300"></iframe>`);
  for (const title of ["Script", "Frame"]) {
    const frame = page.frameLocator(`iframe[title=${title}]`);
    await painted(page, frame);
    await parts(frame).zoomIn.click();
  }
  assert.deepEqual(page.wrongs, []);
});

test("if the viewer does not load, the reader can retry", async () => {
  await openEmpty();
  let broken = true;
  await page.route("**/assets/viewer.js*", (route) => (broken ? route.abort() : route.continue()));
  await page.goto(host.put(script()));
  const again = page.getByRole("button", { name: /Try again/ });
  await again.waitFor();
  broken = false;
  await again.click();
  await painted(page);
});

test("the page for frames can be framed, and lets the outer page scroll", async () => {
  const address = `${service.origin}/${ready}/embed`;
  await openElsewhere(`<iframe title="Picture" src="${address}" width="800" height="400" allow="fullscreen"></iframe>
    <p style="height: 3000px">Long text</p>`);
  const frame = page.frameLocator("iframe");
  await painted(page, frame);
  await assertAccessible(page);
  const viewer = parts(frame);
  const before = await restingScale(viewer);
  await viewer.picture.hover();
  await page.mouse.wheel(0, 200);
  await page.waitForFunction(() => scrollY > 0);
  assert.equal(await restingScale(viewer), before);
  assert.deepEqual(page.wrongs, []);
});

test("the share page cannot be framed", async () => {
  await openElsewhere(`<iframe title="Picture" src="${service.origin}/${ready}" width="800" height="400"></iframe>`);
  await assertEventually(() => /frame-ancestors/.test(page.wrongs.join()), "it is framed");
});
