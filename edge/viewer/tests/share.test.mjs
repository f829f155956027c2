// The share page in a browser: every state of a content, the keyboard, phones, reduced motion, and the dialogs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodePng } from "../png.mjs";
import { assertAccessible, assertEventually, globalsLeft, isFocused, painted, parts, placed, resize, restingScale } from "./browser.mjs";
import { edgeAt, lean } from "./engines/vector.mjs";
import { host, open, openEmpty, page, ready, service, setUp } from "./site.mjs";

setUp();

test("a ready picture is painted without errors", async () => {
  await open(`/${ready}`);
  await painted(page);
  assert.deepEqual(await globalsLeft(page), []);
  assert.equal(await page.locator("style").count(), 0);
  assert.deepEqual(page.wrongs, []);
});

test("a coarse picture is shown during the conversion, becomes sharper, and stays until the picture is drawn", async () => {
  const { id, report, finish } = service.slow();
  await openEmpty();
  await page.clock.install();
  await page.goto(`${service.origin}/${id}`);
  const { region } = parts(page);
  await page.getByRole("progressbar").waitFor();
  const coarse = page.locator("img.coarse");
  assert.equal(await coarse.count(), 0);
  for (const number of [1, 3]) {
    report({ stage: "rendering", progress: 0.1 + number / 10, coarse: number });
    await page.locator(`img.coarse[src$="_coarse/${number}.jpg"]`).waitFor();
    assert.equal(await coarse.count(), 1);
  }
  await assertAccessible(page);

  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/cache/*/*_files/**", async (route) => {
    await released;
    await route.continue();
  });
  await page.clock.pauseAt(Date.now() + 60_000); // it waits eight seconds for tiles
  finish();
  await region.waitFor();
  const box = await region.boundingBox();
  const over = await coarse.boundingBox();
  assert.ok(over.width > 0 && over.x >= box.x && over.x + over.width <= box.x + box.width, JSON.stringify({ box, over }));
  await assertEventually(async () => {
    await page.clock.runFor(10);
    const { width, height } = await coarse.boundingBox();
    return Math.abs(width / height - 3 / 2) < 0.01;
  }, "it is not where the picture will be");
  await page.clock.resume();
  release();
  await painted(page);
  await assertEventually(async () => (await coarse.count()) === 0, "it stays over the viewer");
  assert.deepEqual(page.wrongs, []);
});

/** Creates a document whose second page is vectors: a black bar, as its corner and its size. */
function plan() {
  const at = { x: 3000, y: 0, width: 3000, height: 4000 };
  return service.create({ kind: "ready", vector: [null, { ...at, svg: lean(at.width, at.height, [[1000, 1000, 2000, 2000]]) }] });
}

test("the vectors of a document take over where it is enlarged, are requested no earlier, and have exact places", async () => {
  const id = plan();
  const zoom = (scale) => ((scale * 6000) / 1200).toFixed(3);
  await openEmpty();
  const asked = [];
  page.on("request", (request) => /vector/.test(request.url()) && asked.push(new URL(request.url()).pathname));
  await page.goto(`${service.origin}/${id}?at=4000.25,1000.25,${zoom(1.45)}`);
  await painted(page);
  assert.deepEqual(asked, []);
  await page.goto("about:blank");
  await page.goto(`${service.origin}/${id}?at=4000.25,1000.25,${zoom(64)}`);
  const corner = async () => {
    const { width, height } = page.viewportSize();
    const shot = decodePng(await page.screenshot());
    // A quarter of a pixel left of and above the middle: 16 pixels of the screen.
    const [x, y] = [width / 2 - 16, height / 2 - 16];
    return [edgeAt(shot, [x, y + 150], [1, 0]), edgeAt(shot, [x + 300, y], [0, 1])];
  };
  await assertEventually(async () => (await corner()).every(({ off, blur }) => Math.abs(off) <= 1 && blur <= 2), "the vectors are not sharp and in place");
  assert.deepEqual(asked.sort(), ["/assets/vector.js", `/cache/${id}/1_files/vector/1.svg`, `/cache/${id}/1_files/vector/pages.json`]);
  await page.keyboard.press("Shift");
  await page.keyboard.press("ArrowRight");
  await assertEventually(() => page.evaluate(() => /\?at=\d+\.\d{2},1000\.25,/.test(location.search)), "the place is not exact");
  assert.deepEqual(page.wrongs, []);
});

test("a warning is shown next to the name when a damaged picture is ready", async () => {
  const warning = "The file is <b>damaged</b>.";
  const { id, finish } = service.slow({ warning });
  await open(`/${id}`);
  await page.getByRole("progressbar").waitFor();
  assert.equal(await page.locator("#warning").isVisible(), false);
  finish();
  await painted(page);
  assert.equal(await page.locator("#warning").textContent(), warning);
  await assertAccessible(page);
});

for (const colorScheme of ["light", "dark"]) {
  test(`every state passes axe in ${colorScheme} colours`, async () => {
    const { id: slow, finish } = service.slow();
    for (const [id, seen] of [[ready, ".controls"], [service.failed(), ".problem"], [slow, "progress"]]) {
      await open(`/${id}`, { colorScheme });
      await page.locator(seen).waitFor();
      await assertAccessible(page);
    }
    finish();
  });
}

test("progress is shown as words and a percentage, then replaced by the picture", async () => {
  const { id, finish } = service.slow();
  await open(`/${id}`);
  const bar = page.getByRole("progressbar");
  await bar.waitFor();
  assert.match(await page.getByRole("status").first().textContent(), /Downloading the source|Waiting in the queue/);
  finish();
  await painted(page);
  assert.equal(await bar.count(), 0);
  assert.deepEqual(page.wrongs, []);
});

test("without events the page polls", async () => {
  const { id, finish } = service.slow();
  await openEmpty();
  await page.route("**/events", (route) => route.abort());
  await page.goto(`${service.origin}/${id}`);
  await page.getByRole("progressbar").waitFor();
  finish();
  await painted(page);
});

test("a stream that ends after an event, because the content waits, is opened again", async () => {
  const { id, finish } = service.slow();
  await openEmpty();
  let ended = 0;
  await page.route("**/events", async (route) => {
    if (ended === 2) return route.continue();
    const content = await (await fetch(`${service.origin}/v1/content/${id}`)).text();
    await route.fulfill({ contentType: "text/event-stream", body: `data: ${content}\nretry: 50\n\n` });
    ended += 1;
  });
  const third = page.waitForRequest((request) => request.url().endsWith("/events") && ended === 2);
  await page.goto(`${service.origin}/${id}`);
  await third;
  finish();
  await painted(page);
});

test("a failure shows its reason, advice and retry, and a link to the home page", async () => {
  await open(`/${service.failed()}`);
  await page.getByRole("heading", { name: "The source does not exist" }).waitFor();
  assert.notEqual(await page.getByRole("alert").textContent(), "");
  await page.getByText("Open the URL in a browser to check it.").waitFor();
  await page.getByText(/^You can retry now\. In (9|10) minutes, reloading this page retries too\.$/).waitFor();
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 1);
  await page.getByRole("link", { name: "Another picture" }).click();
  await page.waitForURL(`${service.origin}/`);
  assert.deepEqual(page.wrongs, []);
});

test("the panel covers no part of a failure in a small window", async () => {
  await open(`/${service.failed()}`, { viewport: { width: 320, height: 420 } });
  const title = page.getByRole("heading", { level: 2 });
  await title.waitFor();
  const [panel, icon] = [await page.locator(".about").boundingBox(), await page.locator(".problem svg").boundingBox()];
  assert.ok(icon.y >= panel.y + panel.height, `${icon.y}, under ${panel.y + panel.height}`);
});

test("a retry that comes too soon is refused, and the button keeps the focus", async () => {
  await open(`/${service.failed()}`);
  const button = page.getByRole("button", { name: "Try again" });
  await button.press("Enter");
  await page.getByText("You can retry in a minute.").waitFor();
  assert.ok(await button.evaluate(isFocused));
  await assertAccessible(page);
});

const DOWN = { code: "source-unreachable", message: "The source's server could not be reached." };
const waiting = (retryAfter, attemptsLeft, more) => ({ kind: "processing", stage: "waiting", retry: { ...DOWN, retryAfter, attemptsLeft }, ...more });

test("a content that waits for its next attempt shows its reason, whole URL and time", async () => {
  const url = `https://example.com/${"folder/".repeat(20)}picture.jpg`;
  const id = service.create(waiting(65, 3, { url }));
  await openEmpty({ viewport: { width: 320, height: 640 } });
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.goto(`${service.origin}/${id}`);
  await page.getByRole("heading", { name: "The source cannot be reached" }).waitFor();
  await page.getByText(DOWN.message).waitFor();
  const source = page.getByRole("link", { name: url });
  assert.ok(await source.evaluate((link) => link.parentElement.scrollWidth <= link.parentElement.clientWidth), "the URL is not cut");
  const says = (words) => page.getByText(words, { exact: true }).waitFor();
  await says("Next try in 1\u00a0min 5\u00a0s, then up to 2 more.");
  await page.clock.runFor(6000);
  await says("Next try in 59\u00a0s, then up to 2 more.");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
  service.set(id, waiting(1800, 1));
  await says("Last try in 30\u00a0min 0\u00a0s.");
  await page.clock.runFor(1_800_000);
  await says("Trying …");
  await page.clock.resume();
  await assertAccessible(page);
  service.set(id, { retry: undefined, stage: "downloading" });
  await page.getByRole("progressbar").waitFor();
  service.set(id, { kind: "ready" });
  await painted(page);
  assert.deepEqual(page.wrongs, []);
});

test("a waiting content can be tried now, and leads to another picture", async () => {
  const id = service.create(waiting(300, 2, { again: { kind: "processing", stage: "queued" } }));
  const asked = [];
  await openEmpty();
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${service.origin}/${id}`);
  await page.getByRole("button", { name: "Try now" }).press("Enter");
  await page.getByText("Waiting in the queue").waitFor();
  assert.ok(await page.evaluate(() => document.activeElement.shadowRoot?.activeElement?.matches(".card")), "the focus stays");
  assert.equal(asked.filter((url) => url.endsWith("/events")).length, 2, "the page follows the content once");
  service.set(id, waiting(1000, 4, { again: undefined }));
  await page.getByRole("link", { name: "Another picture" }).waitFor();
  await page.getByRole("button", { name: "Try now" }).click();
  await page.getByText("You can retry in a minute.").waitFor();
  await page.getByText(/^Next try in 1\d\u00a0min \d+\u00a0s, then up to 3 more\.$/).waitFor();
  service.set(id, { kind: "ready", retry: undefined });
  await painted(page);
  assert.deepEqual(page.wrongs, []);
});

test("the progress and its percentage have one line each on a phone", async () => {
  for (const stage of ["queued", "publishing"]) {
    await open(`/${service.create({ kind: "processing", stage, progress: 0.004 })}`, { viewport: { width: 320, height: 640 } });
    const figure = page.locator(".figure");
    await figure.waitFor();
    assert.equal(await figure.evaluate((element) => element.getClientRects().length && element.offsetHeight), 23, stage);
  }
});

test("the scheme that was assumed is shown and leaves the URL", async () => {
  await open(`/${ready}?assumed=https`);
  await page.getByText("https:// was assumed.").waitFor();
  await painted(page);
  assert.equal(page.url(), `${service.origin}/${ready}`);
  await page.reload();
  await painted(page);
  assert.equal(await page.locator("#assumed").count(), 0);
});

for (const [name, state] of [
  ["has failed", { kind: "failed", failure: { ...DOWN, retryAfter: 600 } }],
  ["waits for its next attempt", waiting(10, 4)],
]) {
  test(`if the assumed https ${name}, http is tried`, async () => {
    const path = `example.com/${name.replaceAll(" ", "-")}.jpg`;
    const id = service.create({ kind: "processing", stage: "downloading", url: `https://${path}` });
    const other = service.create({ kind: "ready", url: `http://${path}` });
    await open(`/${id}?assumed=https`);
    await page.getByRole("progressbar").waitFor();
    service.set(id, state);
    await page.waitForURL(`${service.origin}/${other}`);
    await page.getByText("https:// did not work, so http:// is used.").waitFor();
    await painted(page);
    await assertAccessible(page);
  });
}

test("if http cannot be tried, or would not help, the failure of https is shown", async () => {
  const url = "https://example.com/only.jpg";
  for (const failure of [{ ...DOWN, retryAfter: 600 }, { code: "corrupt-source", message: "The file is empty.", retryAfter: 600 }]) {
    await open(`/${service.create({ kind: "failed", url, failure })}?assumed=https`);
    await page.getByText(failure.message).waitFor();
    await page.getByText("https:// was assumed.").waitFor();
  }
});

test("a failed content can be retried", async () => {
  const failure = { code: "source-unreachable", message: "The host does not answer.", retryAfter: 540 };
  const id = service.create({ kind: "failed", failure, again: { kind: "processing" } });
  await open(`/${id}`);
  await page.getByRole("button", { name: "Try again" }).press("Enter");
  await page.getByRole("progressbar").waitFor();
  service.set(id, { kind: "ready" });
  await painted(page);
});

test("if the service does not respond, the page says so and can retry", async () => {
  const { id, finish } = service.slow();
  await open(`/${id}`);
  await page.getByRole("progressbar").waitFor();
  service.takeDown(true);
  await page.getByRole("heading", { name: "No connection" }).waitFor();
  service.takeDown(false);
  finish();
  await page.getByRole("button", { name: "Try again" }).click();
  await painted(page);
});

test("the viewer works with the keyboard alone", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  const start = await restingScale(viewer);

  for (let tabs = 0; tabs < 10 && !(await viewer.picture.evaluate(isFocused)); tabs += 1) await page.keyboard.press("Tab");
  assert.ok(await viewer.picture.evaluate(isFocused), "Tab reaches the picture");
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  const zoomed = await restingScale(viewer);
  assert.ok(zoomed > start * 2, `${zoomed} is not twice ${start}`);

  const before = await placed(page);
  await page.keyboard.press("ArrowRight");
  await placed(page, ({ x }) => x > before.x);

  await page.keyboard.press("0");
  await page.waitForURL((url) => url.search === "");
  assert.equal(await restingScale(viewer), start);

  await page.keyboard.press("Tab"); // zoom out
  await page.keyboard.press("Tab");
  assert.ok(await viewer.zoomIn.evaluate(isFocused));
  await page.keyboard.press("Enter");
  assert.ok((await restingScale(viewer)) > start);
});

test("controls are disabled when they have no effect", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  const disabled = (control) => control.getAttribute("aria-disabled");
  assert.deepEqual([await disabled(viewer.zoomOut), await disabled(viewer.home)], ["true", "true"]);
  await viewer.zoomIn.click();
  assert.deepEqual([await disabled(viewer.zoomOut), await disabled(viewer.home)], ["false", "false"]);
  for (let clicks = 0; (await disabled(viewer.zoomIn)) === "false" && clicks < 30; clicks += 1) await viewer.zoomIn.click();
  assert.equal(await restingScale(viewer), 800);
});

test("in a resized window the picture is still whole", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  await restingScale(viewer);
  await resize(page, { width: 600, height: 900 });
  assert.equal(await restingScale(viewer), 10, "6,000 pixels fill the width of 600");
  assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
});

test("a rotated picture is shown whole", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  const upright = await restingScale(viewer);
  await viewer.rotate.click();
  await painted(page);
  const onItsSide = await restingScale(viewer);
  assert.ok(onItsSide < upright, `${onItsSide} < ${upright}`);
  assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
});

test("a rotation is part of the place's address, at the opening view too", async () => {
  for (const reducedMotion of ["reduce", "no-preference"]) {
    const viewer = await open(`/${ready}`, { reducedMotion });
    await painted(page);
    await page.keyboard.press("r");
    await page.waitForURL(/\?at=3000,2000,0,90$/);
    const onItsSide = await restingScale(viewer);
    await page.reload();
    await painted(page);
    assert.equal(await restingScale(viewer), onItsSide);
    assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
    await resize(page, { width: 500, height: 900 }); // whole in every window
    await restingScale(viewer);
    assert.equal(await viewer.home.getAttribute("aria-disabled"), "true");
    await page.keyboard.press("+");
    await placed(page, ({ zoom, turn }) => zoom > 0 && turn === 90);
    const [zoomed, url] = [await restingScale(viewer), page.url()];
    await page.reload();
    await painted(page);
    assert.ok(Math.abs((await restingScale(viewer)) - zoomed) <= 1);
    assert.equal(page.url(), url);
    for (let turns = 0; turns < 3; turns += 1) await page.keyboard.press("r");
    await page.keyboard.press("0");
    await page.waitForURL((address) => address.search === "");
    await page.evaluate(() => (location.hash = "#3000,2000,0,180"));
    await placed(page, ({ turn }) => turn === 180);
    await page.evaluate(() => (location.hash = "#top"));
    await restingScale(viewer);
    await page.evaluate(() => (location.hash = "#3000,2000,0"));
    await page.waitForURL((address) => address.search === "" && address.hash === "");
    await page.keyboard.press("+");
    await placed(page, ({ zoom, turn }) => zoom > 0 && turn === 0);
  }
});

test("keys work at once, but not in a dialog", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  const whole = await restingScale(viewer);
  assert.ok(await page.evaluate(() => document.activeElement === document.body));
  await page.keyboard.press("+");
  assert.ok((await restingScale(viewer)) > whole);
  const before = await placed(page);
  await page.keyboard.press("ArrowRight");
  await placed(page, ({ x }) => x > before.x);
  await page.keyboard.press("0");
  await page.waitForURL((url) => url.search === "");
  await page.keyboard.press("f");
  await page.waitForFunction(() => document.fullscreenElement !== null);
  await page.keyboard.press("f");
  await page.waitForFunction(() => document.fullscreenElement === null);
  await page.getByRole("button", { name: "Share" }).click();
  await page.keyboard.press("+");
  await page.getByLabel("Link", { exact: true }).press("+");
  await page.keyboard.press("Escape");
  assert.equal(await restingScale(viewer), whole);
});

test("a click leaves no focus ring, the Tab key makes one", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  const ring = () => viewer.picture.evaluate((canvas) => getComputedStyle(canvas, "::after").content !== "none");
  await viewer.picture.click();
  assert.ok(await viewer.picture.evaluate(isFocused));
  assert.equal(await ring(), false);
  await page.keyboard.press("+");
  assert.equal(await ring(), false);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+Tab");
  assert.ok(await viewer.picture.evaluate(isFocused));
  assert.equal(await ring(), true);
});

test("a title that becomes known is shown in tab, heading and Recent", async () => {
  const title = 'Maps & <b>"more"</b>';
  const { id, finish } = service.slow({ title });
  await open(`/${id}`);
  await page.getByRole("progressbar").waitFor();
  finish();
  await painted(page);
  assert.equal(await page.title(), `${title} – Edgezoom`);
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
  await page.getByRole("region", { name: `Zoomable picture: ${title}` }).waitFor();
  await page.getByRole("button", { name: "Share" }).click();
  const frame = await page.getByLabel("Embed as a frame", { exact: true }).inputValue();
  const parsed = await page.evaluate((html) => new DOMParser().parseFromString(html, "text/html").body.firstElementChild.title, frame);
  assert.equal(parsed, title);
  assert.ok(frame.endsWith("></iframe>"));
  await page.goto(service.origin);
  await page.getByRole("link", { name: title }).waitFor();
  await page.goto(`${service.origin}/${id}/embed`);
  await painted(page);
  assert.equal(await page.title(), title);
});

for (const width of [320, 390]) {
  test(`the size and the warning of a damaged picture fit ${width} pixels`, async () => {
    const warning = "The file is damaged: nothing after row 3,012 of 4,000 could be read.";
    const url = "https://collections.museum-of-natural-history.example.com/old-town.tif";
    const id = service.create({ kind: "ready", url, warning, size: { width: 120_000, height: 80_000 } });
    const viewer = await open(`/${id}`, { viewport: { width, height: 844 }, hasTouch: true, isMobile: true });
    await painted(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    const about = await page.locator(".about").boundingBox();
    for (const part of ["#size", "#warning"]) {
      const { x, width: wide, height } = await page.locator(part).boundingBox();
      assert.ok(x >= about.x && x + wide <= about.x + about.width, `${part} ends at ${x + wide}`);
      assert.ok(height <= 60, `${part} is ${height} high`);
      assert.ok(await page.locator(part).evaluate((element) => element.scrollWidth <= element.clientWidth || element.clientWidth === 0), part);
    }
    assert.match(await page.locator("#size").textContent(), /120,000 × 80,000$/);
    assert.ok(await viewer.zoomIn.isVisible());
  });
}

test("a link opens its place, and so does a fragment that is typed later", async () => {
  const viewer = await open(`/${ready}?at=500,400,6`);
  await painted(page);
  const deep = await restingScale(viewer);
  await page.evaluate(() => (location.hash = "#700,300,2"));
  assert.deepEqual(await placed(page, ({ x }) => x === 700), { x: 700, y: 300, zoom: 2, turn: 0 });
  const shallow = await restingScale(viewer);
  assert.ok(Math.abs(deep / shallow - 3) < 0.1, `${deep} is three times ${shallow}`);
  assert.equal(new URL(page.url()).hash, "");
});

test("with reduced motion a step is immediate", async () => {
  const viewer = await open(`/${ready}`, { reducedMotion: "reduce" });
  await painted(page);
  await viewer.zoomIn.click();
  await page.evaluate(async () => {
    for (let frames = 0; frames < 3; frames += 1) await new Promise(requestAnimationFrame);
  });
  const atOnce = parseInt(await viewer.scale.textContent(), 10);
  assert.equal(atOnce, await restingScale(viewer));
});

test("fullscreen restores the focus", async () => {
  const viewer = await open(`/${ready}`);
  await painted(page);
  for (const [key, from] of [["f", viewer.picture], ["Enter", viewer.fullscreen]]) {
    await from.focus();
    await page.keyboard.press(key);
    await page.getByRole("button", { name: "Exit fullscreen" }).waitFor();
    assert.ok(await page.evaluate(() => document.fullscreenElement !== null));
    await viewer.zoomIn.focus();
    await page.keyboard.press("f");
    await page.waitForFunction(() => document.fullscreenElement === null);
    await assertEventually(() => from.evaluate(isFocused), "the focus was not restored");
  }
});

test("F leaves fullscreen although the event of its beginning has not come", async () => {
  await open(`/${ready}`);
  await painted(page);
  await page.evaluate(() => addEventListener("fullscreenchange", (event) => event.stopImmediatePropagation(), true));
  await page.keyboard.press("f");
  await page.waitForFunction(() => document.fullscreenElement !== null);
  await page.keyboard.press("f");
  await page.waitForFunction(() => document.fullscreenElement === null);
});

test("failed tiles are requested again, then reported, then loaded on request", async () => {
  await openEmpty();
  let broken = true;
  let asked = 0;
  await page.route("**/*_files/**", (route) => {
    asked += 1;
    return broken ? route.fulfill({ status: 503 }) : route.continue();
  });
  await page.goto(`${service.origin}/${ready}`);
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  assert.ok(asked > 1, "requested more than once");
  await assertAccessible(page);
  broken = false;
  await again.press("Enter");
  await painted(page);
  if (await again.isVisible()) await again.press("Enter"); // the last request of a tile failed meanwhile
  await painted(page);
  assert.equal(await again.count(), 0);
  assert.ok(await parts(page).picture.evaluate(isFocused));
});

test("links and embeds can be copied, and the dialog restores the focus", async () => {
  const viewer = await open(`/${ready}`, { permissions: ["clipboard-read", "clipboard-write"] });
  await painted(page);
  await viewer.zoomIn.click();
  await placed(page);
  const share = page.getByRole("button", { name: "Share" });
  await share.press("Enter");
  assert.equal(await page.getByLabel("Link", { exact: true }).inputValue(), `${service.origin}/${ready}`);
  assert.equal(await page.getByLabel("Link to this view", { exact: true }).inputValue(), page.url());
  const card = page.getByRole("figure", { name: "How other sites show the link" });
  const place = new URL(page.url()).searchParams.get("at");
  assert.equal(await card.locator("img").getAttribute("src"), `${service.origin}/${ready}/at/${place}.jpg`);
  assert.ok(await card.locator("img").evaluate((picture) => picture.decode().then(() => picture.naturalWidth)));
  assert.ok((await card.textContent()).startsWith(await page.locator("h1").textContent()));
  const lines = await page.getByLabel("Embed", { exact: true }).inputValue();
  assert.match(lines, /^<script src=".+\.js\?width=auto&height=400px"><\/script>$/);
  await page.getByLabel("Open at this view").check();
  const embeds = [await page.getByLabel("Embed", { exact: true }).inputValue(), await page.getByLabel("Embed as a frame", { exact: true }).inputValue()];
  await page.getByLabel("Open at this view").uncheck();
  await assertAccessible(page);
  await page.getByRole("button", { name: "Copy link", exact: true }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${service.origin}/${ready}`);
  await page.keyboard.press("Escape");
  assert.ok(await share.evaluate(isFocused));
  await page.goto(host.put(embeds.join("")));
  const zoom = Number(place.split(",")[2]);
  for (const scope of [page, page.frameLocator("iframe")]) {
    await painted(page, scope);
    const width = await scope.locator(".canvas").evaluate((canvas) => canvas.clientWidth);
    assert.ok(Math.abs((await restingScale(parts(scope))) - (100 * zoom * width) / 6000) < 1, "an embed does not open at the view");
  }
});

test("the details have the source, credits, options, size, date, files and warning", async () => {
  const warning = "The file is damaged: from row 3,012 of 4,000 on nothing could be read.";
  const credits = { creator: "<b>Ann</b>", credit: "City Museum", copyright: "© 2024", rights: "http://creativecommons.org/publicdomain/zero/1.0/" };
  const id = service.create({ kind: "ready", warning, credits, options: "web-width=390&web-hide=%3Cb%3E%2C+.c&web-sealed=" });
  await open(`/${id}`);
  await painted(page);
  const button = page.getByRole("button", { name: "About this picture" });
  await button.press("Enter");
  const dialog = page.getByRole("dialog", { name: "About this picture" });
  const { url, dzi } = await (await fetch(`${service.origin}/v1/content/${id}`)).json();
  const fact = (name) => dialog.locator("dt", { hasText: name }).locator("xpath=following-sibling::dd[1]");
  assert.equal(await fact("Source").textContent(), url);
  for (const name of ["creator", "credit", "copyright"]) assert.equal(await fact(name).textContent(), credits[name]);
  assert.equal(await fact("rights").getByRole("link", { name: "CC0 1.0" }).getAttribute("href"), credits.rights);
  assert.equal(await fact("Captured with").textContent(), "width: 390; hide: <b>, .c; sealed headers");
  assert.equal(await fact("Deep Zoom Image").getByRole("link").getAttribute("href"), dzi.url);
  for (const name of ["info.json", "manifest.json"]) {
    assert.equal(await fact("IIIF").getByRole("link", { name }).getAttribute("href"), `${service.origin}/iiif/${id}/${name}`);
  }
  const [width, height] = [dzi.width, dzi.height].map((side) => side.toLocaleString("en"));
  const megapixels = (dzi.width * dzi.height) / 1e6;
  assert.equal(await fact("Size").textContent(), `${width} × ${height} pixels, ${megapixels < 10 ? megapixels.toFixed(1) : Math.round(megapixels)} megapixels`);
  await assertEventually(async () => /^\d+ \w+ 20\d\d$/.test(await fact("Converted").textContent()), "the day is missing");
  const download = fact("Download").getByRole("link", { name: "Whole pyramid as one file (12.3 MB)" });
  assert.equal(await download.getAttribute("href"), `${service.origin}/${id}/download`);
  assert.equal(await button.getAttribute("aria-label"), "About this picture (partly missing)");
  assert.equal(await dialog.getByRole("note").textContent(), warning);
  await assertAccessible(page);
  await page.keyboard.press("Escape");
  assert.ok(await button.evaluate(isFocused));
  assert.deepEqual(page.wrongs, []);
});

test("a failed content cannot be shared", async () => {
  await open(`/${service.failed()}`);
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByRole("button", { name: "Share" }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "About this picture" }).count(), 0);
});

test("the device's own sharing gets the link to the view", async () => {
  await openEmpty();
  await page.addInitScript(() => {
    navigator.share = async (shared) => void (window.shared = shared);
  });
  await page.goto(`${service.origin}/${ready}#500,400,3,90`);
  await painted(page);
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("button", { name: "Share with an app" }).click();
  assert.equal(await page.evaluate(() => window.shared.url), `${service.origin}/${ready}?at=500,400,3,90`);
});

test("on a phone every control is large enough for a finger, and nothing overflows", async () => {
  await open(`/${ready}`, { viewport: { width: 320, height: 600 }, hasTouch: true, isMobile: true });
  await painted(page);
  for (const button of await page.locator("button:visible, a:visible:not(p a)").all()) {
    const { width, height, x } = await button.boundingBox();
    assert.ok(width >= 44 && height >= 44, `${await button.getAttribute("aria-label")} is ${width} × ${height}`);
    assert.ok(x >= 0 && x + width <= 320);
  }
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
});

test("without JavaScript the page shows a preview", async () => {
  await open(`/${ready}`, { javaScriptEnabled: false });
  assert.ok(await page.locator("noscript p").isVisible());
});
