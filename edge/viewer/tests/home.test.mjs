// The home page: an address goes in, a share page comes out.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { assertAccessible, globalsLeft, newPage, painted, startBrowser } from "./browser.mjs";
import { ofTheViewer, startService } from "./service.mjs";

let browser;
let service;
let source;
before(async () => {
  [browser, service] = await Promise.all([startBrowser(), startService()]);
  const id = await service.ready();
  source = (await (await fetch(`${service.origin}/v1/content/${id}`)).json()).url;
});
after(async () => {
  await browser.close();
  await service.close();
});

let page;
afterEach(() => page.context().close());
async function open(options) {
  page = await newPage(browser, options);
  await page.goto(`${service.origin}/`);
  return page.getByLabel("Address of a picture");
}

for (const colorScheme of ["light", "dark"]) {
  test(`it passes axe in ${colorScheme} colours and leaves no globals`, colorScheme === "dark" ? ofTheViewer : {}, async () => {
    await open({ colorScheme });
    assert.deepEqual(await globalsLeft(page), []);
    await assertAccessible(page);
    assert.deepEqual(page.wrongs, []);
  });
}

test("by keyboard alone an address leads to its picture", async () => {
  const field = await open();
  const isFocused = () => field.evaluate((element) => element === document.activeElement);
  for (let tabs = 0; tabs < 5 && !(await isFocused()); tabs += 1) await page.keyboard.press("Tab");
  await page.keyboard.type(source);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  await painted(page);
  assert.deepEqual(page.wrongs, []);
});

test("an address may lack its scheme: it is sent as it is, and the service adds it", async () => {
  const field = await open();
  await field.fill("example.com/a.jpg");
  await field.press("Enter");
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  if (service.real) assert.equal(await page.locator(".about a").getAttribute("href"), "https://example.com/a.jpg");
});

test("the address of a link or a picture may be dropped anywhere", async () => {
  await open();
  const drop = (type, text) => page.evaluate(([kind, dropped]) => {
    const dataTransfer = new DataTransfer();
    if (dropped) dataTransfer.setData(kind, dropped);
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  }, [type, text]);
  await drop("text/plain", "no address");
  assert.match(await page.getByRole("alert").textContent(), /Drop the address/);
  await assertAccessible(page);
  await drop("text/uri-list", `# a comment\r\n${source}`);
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
});

/** Drops a picture of so many pixels as a file, or one of so many bytes. */
const dropFile = (name, { side = 64, bytes } = {}) => page.evaluate(async ([called, pixels, length]) => {
  const canvas = new OffscreenCanvas(pixels, pixels);
  const context = canvas.getContext("2d");
  context.fillStyle = "teal";
  context.fillRect(0, 0, pixels / 2, pixels);
  const picture = length === undefined ? await canvas.convertToBlob() : new Uint8Array(length);
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([picture], called, { type: "image/png", lastModified: 1 }));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}, [name, side, bytes]);

test("a file may be dropped: a bar covers sending and converting, then its page opens", async () => {
  await open();
  await page.evaluate(() => {
    const seen = [];
    const look = () => {
      const bar = document.querySelector(".sending progress");
      if (bar) sessionStorage.setItem("seen", JSON.stringify(seen.concat(bar.value)));
      if (bar && seen.at(-1) !== bar.value) seen.push(bar.value);
      requestAnimationFrame(look);
    };
    look();
  });
  await dropFile("kitchen sink.png", { side: 900 });
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  await page.locator("h1", { hasText: "kitchen sink.png" }).waitFor();
  const seen = JSON.parse(await page.evaluate(() => sessionStorage.getItem("seen")));
  assert.ok(seen.every((part, at) => at === 0 || part >= seen[at - 1]), `the bar fell: ${seen}`);
  assert.ok(seen.some((part) => part >= 0.5), `converting was not shown: ${seen}`);
  assert.deepEqual(page.wrongs, []);
});

test("a file may be chosen by keyboard", async () => {
  await open();
  const input = page.locator("input[type=file]");
  await input.focus();
  await input.setInputFiles({ name: "chosen.svg", mimeType: "image/svg+xml", buffer: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>') });
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  await page.locator("h1", { hasText: "chosen.svg" }).waitFor();
  assert.deepEqual(page.wrongs, []);
});

test("an empty file is not sent, and one that is being sent can be cancelled", ofTheViewer, async () => {
  await open();
  await dropFile("empty.png", { bytes: 0 });
  assert.match(await page.locator("#dropped").textContent(), /This file is empty/);
  await page.route("**/v1/content/**", () => {}); // never answered
  await dropFile("slow.png");
  await page.locator(".sending").waitFor();
  await assertAccessible(page);
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.locator(".sending").count(), 0);
  assert.ok(await page.locator("#dropped").isHidden());
});

test("what the service refuses is said", { skip: process.env.EDGEZOOM_BASE_URL && "needs a limit that the fake has" }, async () => {
  await open();
  await dropFile("large.png", { bytes: 40_000_001 });
  assert.match(await page.locator("#dropped").textContent(), /This file has 40 MB\. It may have 40 MB\./);
  await dropFile("a.refused", { bytes: 10 });
  await page.locator("#dropped", { hasText: "Send the file as multipart/form-data." }).waitFor();
  assert.equal(await page.locator(".sending").count(), 0);
});

test("a large file is sent in parts, and goes on where it was", { skip: process.env.EDGEZOOM_BASE_URL && "needs parts that break off" }, async () => {
  await open();
  service.breakParts(1);
  const sent = [];
  page.on("request", (request) => request.method() === "PUT" && sent.push(new URL(request.url()).pathname.split("/").at(-1)));
  await dropFile("large.tif", { bytes: 33_000_000 });
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  assert.deepEqual(sent, ["1", "2", "2", "3", "4"], "what did not arrive is sent again");
  assert.deepEqual([...service.parts.values()], [8 << 20, 8 << 20, 8 << 20, 33_000_000 - (24 << 20)]);

  await page.goto(`${service.origin}/`);
  service.breakParts(1000);
  sent.length = 0;
  await dropFile("broken.tif", { bytes: 33_000_000 });
  await page.waitForFunction(() => localStorage.getItem("edgezoom-sending"));
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.reload();
  service.breakParts(0);
  sent.length = 0;
  await dropFile("broken.tif", { bytes: 33_000_000 });
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  assert.deepEqual(sent, ["2", "3", "4"], "the first part had arrived");
});

test("what was seen in this browser is listed, until it is forgotten", async () => {
  await open();
  assert.ok(await page.locator("#recent").isHidden());
  const id = await service.ready();
  await page.goto(`${service.origin}/${id}`);
  await painted(page);
  const name = await page.locator("h1").textContent();
  await page.goto(`${service.origin}/`);
  const card = page.locator("#recent a");
  assert.match(await card.textContent(), new RegExp(`^${name}\\d,\\d{3} × \\d,\\d{3}$`));
  await page.waitForFunction(() => document.querySelector("#recent img").naturalWidth > 0);
  await assertAccessible(page);
  await card.click();
  await page.waitForURL(`${service.origin}/${id}`);
  await page.goBack();
  await page.getByRole("button", { name: "Forget them" }).click();
  assert.ok(await page.locator("#recent").isHidden());
  await page.reload();
  assert.ok(await page.locator("#recent").isHidden());
  assert.deepEqual(page.wrongs, []);
});

test("the picture to try can be zoomed into, where the operator has converted it", ofTheViewer, async () => {
  page = await newPage(browser);
  const dzi = { width: 1000, height: 625, tileSize: 510, tileOverlap: 1, tileFormat: "png" };
  const tile = `<svg xmlns="http://www.w3.org/2000/svg" width="511" height="511"><linearGradient id="g"><stop stop-color="red"/><stop offset="1" stop-color="blue"/></linearGradient><rect width="511" height="511" fill="url(#g)"/></svg>`;
  await page.route("**/assets/hero.json", (route) => route.fulfill({ json: dzi }));
  await page.route("**/assets/hero_files/**", (route) => route.fulfill({ contentType: "image/svg+xml", body: tile }));
  await page.goto(`${service.origin}/`);
  await painted(page);
  await assertAccessible(page);
  assert.deepEqual(page.wrongs, []);
});

test("where there is no picture to try, no empty frame stays", ofTheViewer, async () => {
  page = await newPage(browser);
  await page.route("**/assets/hero.json", (route) => route.fulfill({ json: {} }));
  await page.goto(`${service.origin}/`);
  await page.locator(".showpiece").waitFor({ state: "hidden" });
  assert.deepEqual(page.wrongs, []);
});

test("something else under the list's key does no harm", ofTheViewer, async () => {
  page = await newPage(browser);
  await page.addInitScript(() => localStorage.setItem("edgezoom-recent", '[null,{"id":"<b>"},7]'));
  await page.goto(`${service.origin}/`);
  await page.waitForLoadState("networkidle");
  assert.ok(await page.locator("#recent").isHidden());
  assert.deepEqual(page.wrongs, []);
});

test("an address may be pasted anywhere", ofTheViewer, async () => {
  const field = await open();
  await page.locator("h1").click();
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", " https://example.com/a.jpg\n");
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  assert.equal(await field.inputValue(), "https://example.com/a.jpg");
});

test("it works without JavaScript", async () => {
  const field = await open({ javaScriptEnabled: false });
  await field.fill(source);
  await page.getByRole("button", { name: "Zoom" }).click();
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
});

test("on a phone nothing sticks out", ofTheViewer, async () => {
  await open({ viewport: { width: 320, height: 600 }, hasTouch: true, isMobile: true });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
});
