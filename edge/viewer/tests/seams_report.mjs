// Measures the visibility of seams in pyramids that a tiler makes of photographs and of a smooth gradient: `npx node
// edge/viewer/tests/seams_report.mjs target/debug/tiler photograph.jpg …`. Prints the worst seam over many views for
// each drawer, ours and OpenSeadragon's, and density: tiles of 512 without overlap, then of 510 with an overlap of 1. A
// picture takes minutes.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

import { startBrowser } from "./browser.mjs";
import { gradient, pyramidOf } from "./pyramid.mjs";
import { seamsOf, seamsPage } from "./seams.mjs";
import { serve } from "./servers.mjs";

const GRIDS = { whole: [4096, 1], now: [512, 0], before: [510, 1] };
const DRAWERS = { ours: undefined, canvas: "canvas", webgl: "webgl" };
const SCALES = [0.437, 0.737, 0.913, 1.618];
const TURNS = [0, 90, 30];

const [tiler, ...photographs] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "seams-"));
const page = await seamsPage();
const server = await serve(async ({ pathname }) => {
  if (pathname === "/") return { body: page };
  const body = await readFile(join(folder, pathname)).catch(() => null);
  return body && { type: pathname.endsWith("png") ? "image/png" : "image/jpeg", body };
});
const browser = await startBrowser();
try {
  const smooth = gradient(2700, 2100);
  const { tiles } = pyramidOf(smooth, 4096, 0);
  await writeFile(join(folder, "gradient.png"), tiles.get("12/0_0.png"));
  const pictures = [join(folder, "gradient.png"), ...photographs.map((name) => resolve(name))];
  for (const picture of pictures) {
    for (const format of ["jpg", "png"]) {
      const grids = Object.entries(GRIDS).map(([grid, size]) => converted(picture, format, grid, size));
      const { width, height } = grids[0];
      for (const [drawer, name] of Object.entries(DRAWERS)) {
        for (const density of [1, 2]) {
          const views = SCALES.flatMap((scale) => TURNS.map((turn) => ({ x: width * 0.41, y: height * 0.43, scale: scale / density, turn })));
          const results = await seamsOf(browser, server.origin, grids, { drawer: name, density, views });
          for (const turn of TURNS) {
            const worst = [0, 1].map((which) => Math.max(...results.filter(({ view }) => view.turn === turn).map(({ seams }) => seams[which] ?? 0)));
            console.log([basename(picture), format, drawer, `density ${density}`, `turn ${turn}`, ...worst.map((value) => value.toFixed(2))].join("\t"));
          }
        }
      }
    }
  }
} finally {
  await Promise.all([browser.close(), server.close()]);
  await rm(folder, { recursive: true });
}

function converted(picture, format, grid, [size, overlap]) {
  const name = `${basename(picture).replace(/\W/g, "-")}-${format}-${grid}`;
  execFileSync(tiler, ["convert", picture, "-o", join(folder, name), `--tile-size=${size}`, `--overlap=${overlap}`, `--format=${format}`]);
  const descriptor = readFileSync(join(folder, `${name}.dzi`), "utf8");
  const number = (attribute) => Number(descriptor.match(new RegExp(`${attribute}="(\\d+)"`))[1]);
  const [width, height] = ["Width", "Height"].map(number);
  return { url: `${server.origin}/${name}.dzi`, width, height, tileSize: size, tileOverlap: overlap, tileFormat: format };
}
