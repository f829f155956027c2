// Other projects' IIIF viewers show our pictures in their shape: a picture, a page of a document and a region, from the
// built Worker. The viewers are the bundles that their projects publish. The original is a gradient, so each pixel of the
// screen says which place of the original it shows.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { test } from "node:test";

import { archive, store } from "../../tests/archive.mjs";
import { aroundTests } from "../../tests/around.mjs";
import { PLAIN, eventually, start } from "../../tests/system.mjs";
import { decodePng } from "../png.mjs";
import { assertEventually, newPage, startBrowser } from "./browser.mjs";
import { gradient, pyramidOf } from "./pyramid.mjs";
import { serve, startHost } from "./servers.mjs";

/** Where set-up installs the viewers. */
const VIEWERS = resolve(import.meta.dirname, "../../..", process.env.CARGO_TARGET_DIR ?? "target", "viewers");
/** So high that controls are beside the picture in most of them. */
const VIEW = { width: 700, height: 800 };

/** Sizes with three scale factors, for which viewers were wrong. */
const PICTURE = { width: 1600, height: 1200 };
const DOCUMENT = { width: 2740, height: 1600 };
const PAGES = [[0, 0, 2400, 1600], [2440, 0, 300, 200]];
const REGION = [300, 200, 800, 600];

const seadragon = (version) => ({
  folder: `openseadragon-${version}`,
  scripts: ["build/openseadragon/openseadragon.min.js"],
  begin: ({ source }) => `OpenSeadragon({ id: "viewer", crossOriginPolicy: "Anonymous", drawer: "canvas", showNavigationControl: false, tileSources: ${JSON.stringify(source)} })`,
});
const universal = (version) => ({
  folder: `universalviewer-${version}`,
  scripts: ["dist/umd/UV.js"],
  styles: ["dist/uv.css"],
  begin: ({ manifest }) => `UV.init("viewer", new UV.IIIFURLAdapter().getInitialData({ manifest: "${manifest}", embedded: true }))`,
});
const ALL = {
  "OpenSeadragon 4.1": seadragon("4.1.0"),
  "OpenSeadragon 5.0": seadragon("5.0.1"),
  "OpenSeadragon 6.0": seadragon("6.0.2"),
  "OpenSeadragon 6.1": seadragon("6.1.1"),
  "Mirador 4.0": {
    folder: "mirador-4.0.0",
    scripts: ["dist/mirador.min.js"],
    begin: ({ manifest }) => `Mirador.viewer({ id: "viewer", windows: [{ manifestId: "${manifest}" }] })`,
  },
  "Universal Viewer 4.1": universal("4.1.0"),
  "Universal Viewer 4.4": universal("4.4.0"),
  "Clover 3.3": {
    folder: "samvera-clover-iiif-3.3.8",
    scripts: ["dist/web-components/index.umd.js"],
    // Its navigator, which is over the picture, shows it too.
    begin: ({ manifest }) => `document.getElementById("viewer").innerHTML =
      '<style>[id*=navigator] { display: none !important }</style><clover-viewer id="${manifest}"></clover-viewer>'`,
  },
  "Tify 0.35": {
    folder: "tify-0.35.0",
    styles: ["dist/tify.css"],
    begin: ({ manifest }) => `import("/viewers/tify-0.35.0/dist/tify.js").then(({ default: Tify }) => new Tify({ container: "#viewer", manifestUrl: "${manifest}" }))`,
  },
};

let browser;
let system;
let edge;
let host;
/** What the viewers are to show: `{ source, manifest }`, for viewers of images and of manifests, and the part of the original. */
let subjects;
/** Changes a description of an image. */
let described;

aroundTests(
  async () => {
    [browser, edge, host] = await Promise.all([startBrowser(), serve(passOn), startHost()]);
    system = await start({ REGIONS: "on", BASE_URL: edge.origin }, PLAIN);
    const [picture, document] = await Promise.all([
      stored("http://example.com/picture.png", PICTURE),
      stored("http://example.com/document.pdf", DOCUMENT, { version: 1, total: 2, pages: PAGES.map((at) => ({ at, blocks: [] })) }),
    ]);
    const iiif = (id) => `${edge.origin}/iiif/${id}`;
    const region = `${iiif(picture)}/${REGION}/max/0/default.jpg`;
    host.file("/region.json", "application/json", JSON.stringify(manifestOf(region)));
    subjects = {
      "a picture": { size: PICTURE, part: [0, 0, PICTURE.width, PICTURE.height], source: `${iiif(picture)}/info.json`, manifest: `${iiif(picture)}/manifest.json` },
      "a page": { size: DOCUMENT, part: PAGES[0], source: `${iiif(document)}:1/info.json`, manifest: `${iiif(document)}/manifest.json` },
      "a region": { size: PICTURE, part: REGION, source: { type: "image", url: region }, manifest: `${host.origin}/region.json` },
    };
  },
  () => Promise.all([browser, system, edge, host].map((one) => one?.close())),
);

/** Passes a request on to the Worker, whose address must be known before it starts. */
async function passOn({ pathname, search }, { method, headers }) {
  const response = await system.request(pathname + search, { method, headers: { Accept: headers.accept } });
  const body = Buffer.from(await response.arrayBuffer());
  const known = Object.fromEntries([...response.headers].filter(([name]) => !/^(content-length|transfer-encoding|connection)$/.test(name)));
  const changed = described && pathname.endsWith("/info.json") ? JSON.stringify(described(JSON.parse(body))) : body;
  return { status: response.status, type: known["content-type"], headers: known, body: changed };
}

/** Stores a gradient as a ready content, and returns its id. */
function stored(url, { width, height }, words, on = system) {
  const { dzi, tiles } = pyramidOf(gradient(width, height), 512, 0);
  return store(on, url, archive((level, column, row) => tiles.get(`${level}/${column}_${row}.png`), dzi, undefined, words), dzi);
}

/** Makes a collection whose second entry is the gradient. Returns the address of its IIIF Collection. */
async function collected() {
  const ask = (method, path, body) => system.request(`/v1/collections/${path}`, { method, headers: { Authorization: `Bearer ${"key ".repeat(9)}` }, body });
  await ask("PUT", "drawings", '{"title":"Drawings"}');
  await ask("POST", "drawings/entries", [1, 2].map((number) => `{"url":"http://example.com/${number}.png","title":"Drawing ${number}"}`).join("\n"));
  const bothIn = (state) =>
    eventually(async () => {
      const lines = (await (await ask("GET", `drawings/entries?state=${state}`)).text()).trim().split("\n");
      return lines.length === 2 && lines.map((line) => JSON.parse(line));
    });
  for (const { id, title } of await bothIn("converting")) {
    await stored("", title === "Drawing 2" ? PICTURE : { width: 300, height: 300 }, undefined, { ...system, ask: () => ({ id }) });
  }
  await bothIn("ready"); // the contents' messages have arrived
  return `${edge.origin}/iiif/collection/drawings`;
}

/** Returns another service's manifest of an image without a service. */
function manifestOf(image) {
  const [, , width, height] = REGION;
  const at = (name) => `https://example.com/${name}`;
  const body = { id: image, type: "Image", format: "image/jpeg", width, height };
  const annotation = { id: at("annotation"), type: "Annotation", motivation: "painting", body, target: at("canvas") };
  const page = { id: at("page"), type: "AnnotationPage", items: [annotation] };
  const canvas = { id: at("canvas"), type: "Canvas", width, height, items: [page] };
  return { "@context": "http://iiif.io/api/presentation/3/context.json", id: `${host.origin}/region.json`, type: "Manifest", label: { en: ["A region"] }, items: [canvas] };
}

/** Opens a viewer, and returns its page. */
async function openViewer({ folder, scripts = [], styles = [], begin }, subject) {
  const page = await newPage(browser, { viewport: VIEW });
  await page.route(`${host.origin}/viewers/**`, async (route) => {
    const path = join(VIEWERS, new URL(route.request().url()).pathname.slice("/viewers/".length));
    await route.fulfill({ path });
  });
  const at = (file) => `/viewers/${folder}/${file}`;
  await page.goto(
    host.put(`${styles.map((file) => `<link rel="stylesheet" href="${at(file)}">`).join("")}
      <style>#viewer { position: fixed; inset: 0; background: #fff }</style><div id="viewer" class="uv"></div>
      ${scripts.map((file) => `<script src="${at(file)}"></script>`).join("")}<script>${begin(subject)}</script>`),
  );
  return page;
}

for (const [name, viewer] of Object.entries(ALL)) {
  test(`${name} shows a picture, a page and a region in their shape`, async () => {
    await Promise.all(
      Object.entries(subjects).map(async ([what, subject]) => {
        const page = await openViewer(viewer, subject);
        await page.waitForLoadState("networkidle");
        let wrong;
        await assertEventually(async () => {
          wrong = wrongIn(decodePng(await page.screenshot()), subject);
          return !wrong;
        }).catch(() => assert.fail(`${what}: ${wrong} ${page.wrongs.join()}`));
        await page.context().close();
      }),
    );
  });
}

test("Mirador lists a collection and opens one of its pictures", async () => {
  const manifest = await collected();
  const page = await openViewer(ALL["Mirador 4.0"], { manifest });
  const list = page.getByText("Drawing 1", { exact: true }).first();
  // The list opens by itself if the collection arrives late.
  const button = page.getByRole("button", { name: "Show collection" });
  await list.or(button).first().waitFor();
  if (await button.isVisible()) await button.click();
  await list.waitFor();
  await page.getByText("Drawing 2", { exact: true }).first().click();
  await page.waitForLoadState("networkidle");
  let wrong;
  await assertEventually(async () => {
    wrong = wrongIn(decodePng(await page.screenshot()), subjects["a picture"]);
    return !wrong;
  }).catch(() => assert.fail(`${wrong} ${page.wrongs.join()}`));
  await page.context().close();
});

/**
 * Returns what is wrong with the picture in a screenshot, or null: each place of the part is where the whole, at one scale
 * for both sides, has it.
 */
function wrongIn(screen, { size, part }) {
  const seen = placesIn(screen, size, part);
  if (seen.length < 2500) return `only ${seen.length} pixels show it`;
  const [across, down] = [lineThrough(seen, "x", "u"), lineThrough(seen, "y", "v")];
  if (Math.abs(across.slope / down.slope - 1) > 0.01) return `stretched: ${across.slope} by ${down.slope}`;
  const [left, top, width, height] = part;
  const [x, y, right, bottom] = [across.at(left), down.at(top), across.at(left + width), down.at(top + height)];
  const box = [x, y, right, bottom].map(Math.round);
  if (x < -2 || y < -2 || right > screen.width + 2 || bottom > screen.height + 2) return `cut off: ${box}`;
  // Three of 255 steps.
  const [besideX, besideY] = [(3 * size.width * across.slope) / 170, (3 * size.height * down.slope) / 120];
  const misplaced = seen.filter((place) => Math.abs(across.at(place.u) - place.x) > besideX || Math.abs(down.at(place.v) - place.y) > besideY);
  if (misplaced.length > seen.length / 100) return `${misplaced.length} of ${seen.length} pixels are elsewhere: ${box}`;
  const area = ((right - x) * (bottom - y)) / 4;
  if (seen.length < area * 0.95) return `${Math.round((100 * seen.length) / area)} % of the picture are shown: ${box}`;
  for (const [cornerX, cornerY] of [[x, y], [right, y], [x, bottom], [right, bottom]]) {
    if (!seen.some((place) => Math.abs(place.x - cornerX) < 6 && Math.abs(place.y - cornerY) < 6)) return `no corner at ${cornerX}, ${cornerY}`;
  }
  return null;
}

/** Of every fourth pixel of a screenshot, returns those that show a part of the gradient of this size, and what they show. */
function placesIn({ width, height, channels, pixels }, size, [left, top, across, down]) {
  const places = [];
  for (let each = 0; each < (width * height) / 4; each += 1) {
    const [x, y] = [2 * (each % (width / 2)), 2 * Math.floor(each / (width / 2))];
    const [red, green, blue] = pixels.subarray((y * width + x) * channels);
    const [u, v] = [((red - 39.5) / 170) * size.width, ((green - 59.5) / 120) * size.height]; // colours are rounded down
    const isOf = Math.abs(blue - (200 - (150 * (u + v)) / (size.width + size.height))) < 6;
    const [slackX, slackY] = [size.width / 40, size.height / 40];
    if (!isOf || u < left - slackX || v < top - slackY || u > left + across + slackX || v > top + down + slackY) continue;
    places.push({ x: x + 0.5, y: y + 0.5, u, v });
  }
  return places;
}

/** Returns the line of least squares through places: `{ slope, at(of) }`. */
function lineThrough(places, to, of) {
  const mean = (value) => places.reduce((sum, place) => sum + value(place), 0) / places.length;
  const [middle, from] = [mean((place) => place[to]), mean((place) => place[of])];
  const slope = mean((place) => (place[to] - middle) * (place[of] - from)) / mean((place) => (place[of] - from) ** 2);
  return { slope, at: (value) => middle + slope * (value - from) };
}

test("a picture whose viewer takes its sizes for those of the levels has not this shape", async () => {
  described = withOtherSizes;
  const page = await openViewer(ALL["OpenSeadragon 4.1"], subjects["a picture"]);
  await page.waitForLoadState("networkidle");
  const wrong = wrongIn(decodePng(await page.screenshot()), subjects["a picture"]);
  described = null;
  await page.context().close();
  assert.match(String(wrong), /stretched|elsewhere|are there/);
});

/** Gives a description with three scale factors three sizes, of which two are those of its levels. */
function withOtherSizes(info) {
  const { width, height } = info;
  const sizes = [8, 4, width / 1200].map((factor) => ({ width: width / factor, height: height / factor }));
  return { ...info, sizes };
}
