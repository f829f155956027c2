// Takes screenshots of every page in every state, at four widths, in light and dark colours, and checks each with
// axe-core: `cargo xtask shots`. Uses the fake service. Arguments: the folder for the screenshots, and parts of the
// names of states.

import { mkdir } from "node:fs/promises";

import { assertAccessible, newPage, startBrowser } from "./browser.mjs";
import { startFakeService } from "./fake_service.mjs";
import { manual } from "./manual.mjs";
import { startHost } from "./servers.mjs";

const WIDTHS = [[320, 640], [390, 844], [768, 1024], [1440, 900]];
const [folder, ...chosen] = process.argv.slice(2);

const [browser, service, host] = await Promise.all([startBrowser(), startFakeService(), startHost()]);
const failure = { code: "corrupt-source", message: "The file is damaged: it ends in the middle of a row." };
const down = { code: "source-unreachable", message: "The source's server could not be reached." };
const warning = "The file is damaged: nothing after row 3,012 of 4,000 could be read.";
const scale = { value: 4.99e-7, unit: "metre", basis: "MPP of the Aperio slide" };
const ready = service.create({ kind: "ready" });
const ids = {
  damaged: service.create({ kind: "ready", warning }),
  wide: service.create({ kind: "ready", size: { width: 40_000, height: 4_000 } }),
  tall: service.create({ kind: "ready", size: { width: 2_560, height: 24_000 } }),
  small: service.create({ kind: "ready", size: { width: 320, height: 200 } }),
  slow: service.create({ kind: "processing", stage: "rendering", progress: 0.42 }),
  coarse: service.create({ kind: "processing", stage: "rendering", progress: 0.42, coarse: 2 }),
  queued: service.create({ kind: "processing", stage: "queued" }),
  slide: service.create({ kind: "ready", size: { width: 46_000, height: 32_914 }, scale }),
  failed: service.create({ kind: "failed", failure }),
  waiting: service.create({ kind: "processing", stage: "waiting", retry: { ...down, retryAfter: 275, attemptsLeft: 2 } }),
  last: service.create({ kind: "processing", stage: "waiting", url: `https://example.com/${"archive/".repeat(12)}map.tif`, retry: { ...down, retryAfter: 1800, attemptsLeft: 1 } }),
  byHttp: service.create({ kind: "failed", url: "http://example.com/old.jpg", failure: { ...down, retryAfter: 600 } }),
  uploaded: service.create({ kind: "ready", url: `ni:///sha-256;${"A".repeat(43)}?name=A%20very%20long%20name%20of%20a%20scanned%20map%20of%20the%20whole%20world.tiff` }),
  empty: service.create({ kind: "failed", failure: { ...failure, message: "The file is empty." } }),
  manual: service.create({ kind: "ready", ...manual(12, 300) }),
};
const embedded = (id, query = "") => host.put(`<p>Text before the picture.</p><script src="${service.origin}/${id}.js${query}"></script><p>Text after the picture.</p>`);
const settled = (page) => page.waitForLoadState("networkidle");

/** Each state: its path or URL, and actions before the screenshot. `whole` captures the full height of the page. */
const STATES = {
  home: { path: "/", whole: true },
  "home-recent": { path: "/", before: remember, whole: true },
  "home-upload": { path: "/", before: neverAnswer, act: upload },
  "home-several": { path: "/", act: uploadSeveral },
  "home-empty-file": { path: "/", act: (page) => choose(page, ["empty.tif"], 0) },
  "home-dropped": { path: "/", act: dropNothing },
  "home-error": { path: "/?url=ftp%3A%2F%2Fexample.com" },
  ready: { path: `/${ready}`, act: settled },
  zoomed: { path: `/${ready}#4200,1400,6`, act: settled },
  wide: { path: `/${ids.wide}`, act: settled },
  tall: { path: `/${ids.tall}`, act: settled },
  small: { path: `/${ids.small}`, act: settled },
  slide: { path: `/${ids.slide}`, act: settled },
  ruler: { path: `/${ids.slide}#23000,16000,4`, act: measure },
  "slide-details": { path: `/${ids.slide}`, act: (page) => page.getByRole("button", { name: "About this picture" }).click() },
  "slide-embedded": { path: `/${ids.slide}/embed`, act: settled },
  document: { path: `/${ids.manual}`, act: settled },
  "document-whole": { path: `/${ids.manual}`, act: showAll },
  "sharing-document": { path: `/${ids.manual}?page=3&q=tide`, act: share },
  finding: { path: `/${ids.manual}?q=tide&page=3`, act: find },
  outline: { path: `/${ids.manual}?page=3`, act: (page) => page.getByRole("button", { name: "Outline" }).click() },
  "document-embedded": { url: () => embedded(ids.manual), act: (page) => page.locator(".pages").waitFor({ state: "attached" }) },
  damaged: { path: `/${ids.damaged}`, act: settled },
  details: { path: `/${ids.damaged}`, act: (page) => page.getByRole("button", { name: "About this picture" }).click() },
  sharing: { path: `/${ready}#4200,1400,6`, act: share },
  "sharing-upload": { path: `/${ids.uploaded}#4200,1400,6`, act: share },
  deleting: { path: `/${ids.uploaded}`, before: keepKey, act: askToDelete },
  queued: { path: `/${ids.queued}`, act: (page) => page.getByRole("progressbar").waitFor() },
  progress: { path: `/${ids.slow}`, act: (page) => page.getByRole("progressbar").waitFor() },
  coarse: { path: `/${ids.coarse}`, act: (page) => page.locator("img.coarse").waitFor() },
  failed: { path: `/${ids.failed}`, act: (page) => page.getByRole("alert").waitFor() },
  "failed-empty": { path: `/${ids.empty}`, act: (page) => page.getByRole("alert").waitFor() },
  waiting: { path: `/${ids.waiting}`, act: (page) => page.getByText("Next try").waitFor() },
  "waiting-last": { path: `/${ids.last}`, act: (page) => page.getByText("Last try").waitFor() },
  "waiting-embedded": { url: () => embedded(ids.waiting), act: (page) => page.getByText("Next try").waitFor() },
  "assumed-https": { path: `/${ready}?assumed=https`, act: settled },
  "assumed-progress": { path: `/${ids.slow}?assumed=https`, act: (page) => page.getByRole("progressbar").waitFor() },
  "assumed-http": { path: `/${ids.byHttp}?assumed=http`, act: (page) => page.getByRole("alert").waitFor() },
  missing: { path: "/00000000000" },
  "embed-page": { path: `/${ready}/embed`, act: settled },
  embedded: { url: () => embedded(ready), act: settled },
  "embedded-progress": { url: () => embedded(ids.slow), act: (page) => page.getByRole("progressbar").waitFor() },
  "embedded-wrong": { url: () => embedded("nope"), act: (page) => page.getByRole("heading", { name: "There is no picture here" }).waitFor() },
  bot: { path: "/bot", whole: true },
  docs: { path: "/docs" }, // its full height exceeds Chromium's limit
};

/** Opens the share panel, with the card's picture and the link to the view. */
async function share(page) {
  await settled(page);
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByLabel("Link to this view", { exact: true }).waitFor();
  await page.waitForFunction(() => document.querySelector(".link-card img").naturalWidth > 0);
}

/** Stores the deletion key of the uploaded picture. */
function keepKey(page) {
  return page.addInitScript((id) => localStorage.setItem("edgezoom-deletion-keys", JSON.stringify([[id, "key"]])), ids.uploaded);
}

async function askToDelete(page) {
  await page.getByRole("button", { name: "About this picture" }).click();
  await page.getByRole("button", { name: "Delete this picture" }).click();
  await page.getByText("Delete it for good?").waitFor();
}

/** Leaves uploads without a response. */
function neverAnswer(page) {
  return page.route((address) => address.pathname === "/v1/content/", () => {});
}

async function measure(page) {
  await settled(page);
  await page.getByRole("button", { name: "Ruler" }).click();
}

async function find(page) {
  await page.locator(".current i").waitFor();
  await settled(page);
}

async function showAll(page) {
  await settled(page);
  await page.keyboard.press("w");
  await settled(page);
}

function choose(page, names, bytes) {
  return page.locator("input[type=file]").setInputFiles(names.map((name) => ({ name, mimeType: "image/jpeg", buffer: Buffer.alloc(bytes) })));
}

async function upload(page) {
  await choose(page, ["old town.jpg"], 1000);
  await page.locator(".sending").waitFor();
}

async function uploadSeveral(page) {
  await choose(page, ["old town.jpg", "A very long name of a scanned map of the whole world.tiff", "a.refused"], 1000);
  await page.getByRole("link", { name: /^Open A very/ }).waitFor();
}

function dropNothing(page) {
  return page.evaluate(() => document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: new DataTransfer(), bubbles: true, cancelable: true })));
}

async function remember(page) {
  const seen = ["Old town.jpg", "A very long name of a scanned map of the whole world.tiff", "Report.pdf"];
  const kept = seen.map((name, index) => ({ id: Object.values(ids)[index], name, width: 6000, height: 4000 }));
  await page.addInitScript((recent) => localStorage.setItem("edgezoom-recent", JSON.stringify(recent)), kept);
}

const problems = [];
await mkdir(folder, { recursive: true });
for (const [name, { path, url, before, act, whole = false }] of Object.entries(STATES)) {
  if (chosen.length > 0 && !chosen.some((word) => name.includes(word))) continue;
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of WIDTHS) {
      const phone = width < 500 ? { hasTouch: true, isMobile: true } : {};
      const page = await newPage(browser, { colorScheme, viewport: { width, height }, reducedMotion: "reduce", ...phone });
      try {
        await before?.(page);
        await page.goto(url?.() ?? service.origin + path);
        await act?.(page);
        await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: whole, timeout: 60_000 });
        await assertAccessible(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        if (wide > width) throw new Error(`the page is ${wide} pixels wide`);
      } catch (error) {
        problems.push(`${name} at ${width} in ${colorScheme}: ${error.message}`);
      }
      await page.context().close();
    }
  }
  console.log(name);
}
await Promise.all([browser.close(), service.close(), host.close()]);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
