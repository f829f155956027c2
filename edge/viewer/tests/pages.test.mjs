// The pages without a content: the home page with its form and uploads, the documentation, the bot's page, and 404.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertAccessible, globalsLeft, isFocused, painted } from "./browser.mjs";
import { open, openEmpty, page, ready, service, setUp } from "./site.mjs";

/** URL of the ready content's source. */
let source;
setUp(async () => {
  source = (await (await fetch(`${service.origin}/v1/content/${ready}`)).json()).url;
});

/** Opens the home page and returns its field. */
async function openHome(options) {
  await open("/", options);
  return page.getByLabel("URL of a picture, document or web page");
}

for (const colorScheme of ["light", "dark"]) {
  test(`the home page passes axe in ${colorScheme} colours and leaves no globals`, async () => {
    await openHome({ colorScheme });
    assert.deepEqual(await globalsLeft(page), []);
    await assertAccessible(page);
    assert.deepEqual(page.wrongs, []);
  });
}

test("a URL leads to its picture by keyboard alone", async () => {
  const field = await openHome();
  const isFocused = () => field.evaluate((element) => element === document.activeElement);
  for (let tabs = 0; tabs < 5 && !(await isFocused()); tabs += 1) await page.keyboard.press("Tab");
  await page.keyboard.type(source);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  await painted(page);
  assert.deepEqual(page.wrongs, []);
});

test("a URL without a scheme is accepted", async () => {
  const field = await openHome();
  await field.fill("example.com/a.jpg");
  await field.press("Enter");
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  await page.getByText("https:// was assumed.").waitFor();
});

test("a link or a picture can be dropped anywhere", async () => {
  await openHome();
  const drop = (type, text) => page.evaluate(([kind, dropped]) => {
    const dataTransfer = new DataTransfer();
    if (dropped) dataTransfer.setData(kind, dropped);
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  }, [type, text]);
  await drop("text/plain", "no URL");
  assert.match(await page.getByRole("alert").textContent(), /Drop a link or a URL/);
  await assertAccessible(page);
  await drop("text/uri-list", `# a comment\r\n${source}`);
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
});

/** Drops files with these names: pictures with this side, or zeros. */
const dropFiles = (names, { side = 64, bytes } = {}) => page.evaluate(async ([called, pixels, length]) => {
  const canvas = new OffscreenCanvas(pixels, pixels);
  const context = canvas.getContext("2d");
  context.fillStyle = "teal";
  context.fillRect(0, 0, pixels / 2, pixels);
  const picture = length === undefined ? await canvas.convertToBlob() : new Uint8Array(length);
  const dataTransfer = new DataTransfer();
  for (const name of called) dataTransfer.items.add(new File([picture], name, { type: "image/png", lastModified: 1 }));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}, [names, side, bytes]);
const dropFile = (name, options) => dropFiles([name], options);

test("a file can be dropped: a bar shows upload and conversion, then its page opens", async () => {
  await openHome();
  await page.evaluate(() => {
    const seen = [];
    const note = (changes) => {
      seen.push(...changes.map(({ target }) => target.value));
      sessionStorage.setItem("seen", JSON.stringify(seen));
    };
    new MutationObserver(note).observe(document.body, { subtree: true, attributeFilter: ["value"] });
  });
  await dropFile("kitchen sink.png", { side: 900 });
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  await page.locator("h1", { hasText: /^kitchen sink$/ }).waitFor();
  const seen = JSON.parse(await page.evaluate(() => sessionStorage.getItem("seen")));
  assert.ok(seen.every((part, at) => at === 0 || part >= seen[at - 1]), `the bar moved back: ${seen}`);
  assert.ok(seen.some((part) => part >= 0.5 && part < 1), `the conversion was not shown: ${seen}`);
  assert.deepEqual(page.wrongs, []);
});

test("a file can be chosen by keyboard", async () => {
  await openHome();
  const input = page.locator("input[type=file]");
  await input.focus();
  await input.setInputFiles({ name: "chosen.svg", mimeType: "image/svg+xml", buffer: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>') });
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  await page.locator("h1", { hasText: /^chosen$/ }).waitFor();
  assert.deepEqual(page.wrongs, []);
});

test("what is in a picture can be said with its URL or its file", async () => {
  const text = "A kitchen & a sink";
  const asked = (method) => page.waitForRequest((request) => request.method() === method && /[?&](url|name)=/.test(request.url())).then((request) => new URL(request.url()).searchParams.get("alt"));
  const describe = async () => {
    await page.getByText("Say what is in the picture").click();
    await page.getByLabel("For people who do not see it").fill(text);
  };
  let field = await openHome();
  await describe();
  await assertAccessible(page);
  const [alt] = await Promise.all([asked("POST"), dropFile("described.png")]);
  assert.equal(alt, text);
  for (const expected of [text, null]) {
    field = await openHome();
    if (expected) await describe();
    await field.fill(source);
    const [alt] = await Promise.all([asked("GET"), field.press("Enter")]);
    assert.equal(alt, expected);
  }
});

test("the form says how a web page is captured, and sends only what was chosen", async () => {
  const field = await openHome();
  await page.getByText("Choose how a web page is captured").click();
  await page.getByLabel("Window").selectOption("Phone");
  await page.getByLabel("Begin at").fill("main");
  await page.getByLabel("Leave out").fill(".banner, #chat");
  await assertAccessible(page);
  await field.fill(source);
  const request = page.waitForRequest((asked) => asked.url().includes("?url="));
  await field.press("Enter");
  const { searchParams } = new URL((await request).url());
  assert.deepEqual([...searchParams], [["url", source], ["web-device", "phone"], ["web-from", "main"], ["web-hide", ".banner, #chat"]]);
});

test("an uploaded picture can be deleted in the browser that sent it, after a question", async () => {
  await openHome();
  await dropFile("my house.png", { side: 901 });
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  const link = page.url();
  const details = page.getByRole("button", { name: "About this picture" });
  const first = page.getByRole("button", { name: "Delete this picture" });
  await details.click();
  await first.click();
  await page.getByText("Delete it for good? Its links and embeds stop working for everyone.").waitFor();
  await assertAccessible(page);
  await page.getByRole("button", { name: "Keep it" }).press("Enter");
  assert.ok(await first.evaluate(isFocused));

  // Another browser has no key, and a wrong one is refused.
  const other = await page.context().browser().newContext();
  const elsewhere = await other.newPage();
  await elsewhere.goto(link);
  await elsewhere.getByRole("button", { name: "About this picture" }).click();
  await elsewhere.getByRole("dialog").getByText("uploaded file").waitFor();
  assert.equal(await elsewhere.getByRole("button", { name: "Delete this picture" }).count(), 0);
  await elsewhere.evaluate(() => localStorage.setItem("edgezoom-deletion-keys", JSON.stringify([[location.pathname.slice(1), "wrong"]])));
  await elsewhere.getByRole("button", { name: "Close" }).click();
  await elsewhere.getByRole("button", { name: "About this picture" }).click();
  await elsewhere.getByRole("button", { name: "Delete this picture" }).click();
  await elsewhere.getByRole("button", { name: "Delete for good" }).click();
  await elsewhere.getByText("The picture was not deleted. The deletion key is wrong.").waitFor();
  await other.close();

  await first.click();
  await page.getByRole("button", { name: "Delete for good" }).click();
  await page.getByText("This content was deleted by its owner.").waitFor();
  assert.equal(await page.locator("h1").textContent(), "Deleted");
  assert.equal(await page.evaluate(() => localStorage.getItem("edgezoom-deletion-keys")), "[]");
  await page.goto(`${service.origin}/`);
  assert.ok(await page.locator("#recent").isHidden());
});

test("an empty file is not uploaded, and an upload can be cancelled", async () => {
  await openHome();
  await dropFile("empty.png", { bytes: 0 });
  assert.equal(await page.locator("#dropped").textContent(), "The file is empty.");
  await page.route("**/v1/content/**", () => {}); // never answered
  await dropFile("slow.png");
  await page.locator(".sending").waitFor();
  await assertAccessible(page);
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.locator(".sending").count(), 0);
  assert.ok(await page.locator("#dropped").isHidden());
});

test("several files are uploaded one after another, and each gets a link", async () => {
  await openHome();
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(new URL(request.url()).searchParams.get("name")));
  await dropFiles(["one.png", "two.refused", "three.png"]);
  await page.locator("#dropped", { hasText: "two.refused: Upload rejected: Send the file as" }).waitFor();
  const links = page.getByRole("link", { name: /^Open / });
  await page.getByRole("link", { name: "Open three.png" }).waitFor();
  assert.deepEqual(await links.evaluateAll((all) => all.map(({ ariaLabel }) => ariaLabel)), ["Open one.png", "Open three.png"]);
  assert.deepEqual(sent, ["one.png", "two.refused", "three.png"]);
  await assertAccessible(page);
  const [opened] = await Promise.all([page.context().waitForEvent("page"), links.first().click()]);
  await opened.locator("h1", { hasText: /^one$/ }).waitFor();
  await opened.close();
  assert.equal(page.url(), `${service.origin}/`, "the list stays");
});

test("of several files, those that can be uploaded are, and cancelling one starts the next", async () => {
  await openHome();
  await page.locator("input[type=file]").setInputFiles(["empty.png", "large.png"].map((name) => ({ name, mimeType: "image/png", buffer: Buffer.alloc(name === "empty.png" ? 0 : 10) })));
  await page.getByRole("link", { name: "Open large.png" }).waitFor();
  assert.equal(await page.locator("#dropped").textContent(), "empty.png is empty.");
  let held = true;
  await page.route("**/v1/content/**", (route) => (held ? null : route.continue())); // never answered
  await dropFiles(["slow.png", "next.png"]);
  await page.getByRole("group", { name: "slow.png" }).getByText("Uploading").first().waitFor();
  held = false;
  await page.getByRole("group", { name: "slow.png" }).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Open next.png" }).waitFor();
});

test("refused uploads show the reason", async () => {
  await openHome();
  await dropFile("large.png", { bytes: 40_000_001 });
  assert.match(await page.locator("#dropped").textContent(), /The file is too large \(40 MB\)\. The limit is 40 MB\./);
  await dropFile("a.refused", { bytes: 10 });
  await page.locator("#dropped", { hasText: "Upload rejected: Send the file as multipart/form-data." }).waitFor();
  assert.equal(await page.locator(".sending").count(), 0);
});

test("a large file is uploaded in parts, and can be resumed", async () => {
  await openHome();
  service.breakParts(1);
  const sent = [];
  page.on("request", (request) => request.method() === "PUT" && sent.push(new URL(request.url()).pathname.split("/").at(-1)));
  await dropFile("large.tif", { bytes: 33_000_000 });
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
  assert.deepEqual(sent, ["1", "2", "2", "3", "4"], "the failed part is repeated");
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
  assert.deepEqual(sent, ["2", "3", "4"], "the first part is stored already");
});

test("recent contents are listed until they are cleared", async () => {
  await openHome();
  assert.ok(await page.locator("#recent").isHidden());
  await page.goto(`${service.origin}/${ready}`);
  await painted(page);
  const name = await page.locator("h1").textContent();
  await page.goto(`${service.origin}/`);
  const card = page.locator("#recent a");
  assert.match(await card.textContent(), new RegExp(`^${name}\\d,\\d{3} × \\d,\\d{3}$`));
  await page.waitForFunction(() => document.querySelector("#recent img").naturalWidth > 0);
  await assertAccessible(page);
  await card.click();
  await page.waitForURL(`${service.origin}/${ready}`);
  await page.goBack();
  await page.getByRole("button", { name: "Clear" }).click();
  assert.ok(await page.locator("#recent").isHidden());
  await page.reload();
  assert.ok(await page.locator("#recent").isHidden());
  assert.deepEqual(page.wrongs, []);
});

test("the picture to try can be zoomed into, if the operator has converted it", async () => {
  await openEmpty();
  const dzi = { width: 1000, height: 625, tileSize: 510, tileOverlap: 1, tileFormat: "png" };
  const tile = `<svg xmlns="http://www.w3.org/2000/svg" width="511" height="511"><linearGradient id="g"><stop stop-color="red"/><stop offset="1" stop-color="blue"/></linearGradient><rect width="511" height="511" fill="url(#g)"/></svg>`;
  await page.route("**/assets/hero.json", (route) => route.fulfill({ json: dzi }));
  await page.route("**/assets/hero_files/**", (route) => route.fulfill({ contentType: "image/svg+xml", body: tile }));
  await page.goto(`${service.origin}/`);
  await painted(page);
  await assertAccessible(page);
  assert.deepEqual(page.wrongs, []);
});

test("without a picture to try there is no empty frame", async () => {
  await openEmpty();
  await page.route("**/assets/hero.json", (route) => route.fulfill({ json: {} }));
  await page.goto(`${service.origin}/`);
  await page.locator(".showpiece").waitFor({ state: "hidden" });
  assert.deepEqual(page.wrongs, []);
});

test("malformed recent contents in the storage do no harm", async () => {
  await openEmpty();
  await page.addInitScript(() => localStorage.setItem("edgezoom-recent", '[null,{"id":"<b>"},7]'));
  await page.goto(`${service.origin}/`);
  assert.ok(await page.locator("#recent").isHidden());
  assert.deepEqual(page.wrongs, []);
});

test("a URL can be pasted anywhere", async () => {
  const field = await openHome();
  await page.locator("h1").click();
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", " “https://example.com/a.jpg”\n");
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  assert.equal(await field.inputValue(), "“https://example.com/a.jpg”", "the service removes the quotes");
});

test("the form works without JavaScript", async () => {
  const field = await openHome({ javaScriptEnabled: false });
  await field.fill(source);
  await page.getByRole("button", { name: "Zoom" }).click();
  await page.waitForURL(/\/[0-9A-Za-z]{11}$/);
});

test("on a phone the home page does not overflow", async () => {
  await openHome({ viewport: { width: 320, height: 600 }, hasTouch: true, isMobile: true });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
});

for (const colorScheme of ["light", "dark"]) {
  for (const [path, status, heading] of [
    ["/docs", 200, /Documentation/],
    ["/bot", 200, /Why Edgezoom visited/],
    ["/00000000000", 404, /Not found/],
  ]) {
    test(`${path} passes axe in ${colorScheme} colours and does not overflow on a phone`, async () => {
      await openEmpty({ colorScheme, viewport: { width: 390, height: 844 } });
      const answer = await page.goto(service.origin + path);
      assert.equal(answer.status(), status);
      assert.match(await page.getByRole("heading", { level: 1 }).textContent(), heading);
      await assertAccessible(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      assert.deepEqual(page.wrongs.filter((wrong) => !/status of 404/.test(wrong)), []);
    });
  }
}

test("a wide window shows /bot in one column", async () => {
  await open("/bot", { viewport: { width: 1440, height: 900 } });
  const { width } = await page.locator("main").boundingBox();
  assert.ok(width > 1000, `${width}`);
});
