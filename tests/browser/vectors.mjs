// Converts drawings and a PDF with black rectangles, and measures the rectangles' edges in the viewer, in three engines: from
// pixels to vectors and back, beside the pixels, and at 64 times. Arguments: { tiler }, the program's path. Fails if an edge
// jumps, or is blurred. Returns, for each engine and document, the distances of the edges from their places at 64 times, in
// screen pixels.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { startChromium } from "../../edge/viewer/tests/engines/chromium.mjs";
import { startFirefox } from "../../edge/viewer/tests/engines/firefox.mjs";
import { addSite, assertAsPixels, assertDeep, assertNoJump, edgesOf, startVectors } from "../../edge/viewer/tests/engines/vector.mjs";
import { startWebKit } from "../../edge/viewer/tests/engines/webkit.mjs";

const ENGINES = { Chromium: startChromium, Firefox: startFirefox, WebKit: startWebKit };
const VIEWER = fileURLToPath(new URL("../../edge/build/site/", import.meta.url));
/** The size of each rectangle in pixels of the picture. */
const [ACROSS, DOWN] = [61, 41];

/**
 * A long sheet whose origin is elsewhere. A pixel is a unit. The height of its SVG, 1,666 ⅔, is no whole number, as that of
 * the page below.
 */
const sheet = {
  file: "sheet.svg",
  size: [24_000, 2000],
  rectangles: [{ x: 300.25, y: 200.25, turn: 0 }, { x: 8000.5, y: 1300.75, turn: 17 }, { x: 23_850.25, y: 1850.25, turn: 0 }],
  source({ rectangles: [first, turned, last] }) {
    const [left, top] = [-30_000, 15_000];
    const at = ({ x, y }) => [left + x, top + y];
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left} ${top} 24000 2000">
      <path d="M${at(first)}h${ACROSS}v${DOWN}h${-ACROSS}z"/>
      <g transform="translate(${at(turned)}) rotate(${turned.turn}) scale(.1)"><rect width="${ACROSS * 10}" height="${DOWN * 10}"/></g>
      <path stroke="#000" stroke-width="${DOWN}" d="M${left + last.x} ${top + last.y + DOWN / 2}h${ACROSS}"/></svg>`;
  },
};

/** An icon in the middle of a wider picture, which is enlarged most: no other has coordinates as coarse. */
const icon = {
  file: "icon.svg",
  size: [8192, 4096],
  rectangles: [{ x: 1500.25, y: 300.75, turn: -30 }, { x: 6600.25, y: 4000.25, turn: 0 }],
  source({ size: [across, down], rectangles }) {
    const scale = down / 18;
    const [left, top] = [-4 - (across / scale - 24) / 2, -3];
    const drawn = rectangles.map(({ x, y, turn }) =>
      `<rect transform="translate(${left + x / scale} ${top + y / scale}) rotate(${turn})" width="${ACROSS / scale}" height="${DOWN / scale}"/>`);
    return `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="320" viewBox="-4 -3 24 18">${drawn.join("")}</svg>`;
  },
};

/**
 * A page of A4 whose origin is elsewhere. Its rectangles are lines, but one: PDFium moves the edges of an upright rectangle that is
 * filled to whole pixels, which shows beside the pixels at three times.
 */
const page = {
  file: "page.pdf",
  size: [4000, 2828],
  rectangles: [{ x: 200.25, y: 150.25, turn: 0 }, { x: 1900.5, y: 1700.75, turn: 17 }, { x: 3000.5, y: 300.5, turn: 0, isFilled: true }, { x: 3900.5, y: 2700.75, turn: 0 }],
  source({ size, rectangles }) {
    const [left, bottom, width, height] = [-50, 20, 841.89, 595.28];
    const [across, down] = [width / size[0], height / size[1]];
    const drawn = rectangles.map(({ x, y, turn, isFilled }) => {
      const [cos, sin] = [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)];
      const shape = isFilled ? `0 ${-DOWN} ${ACROSS} ${DOWN} re f` : `${DOWN} w 0 ${-DOWN / 2} m ${ACROSS} ${-DOWN / 2} l S`;
      return `q ${cos * across} ${-sin * down} ${sin * across} ${cos * down} ${left + x * across} ${bottom + height - y * down} cm ${shape} Q`;
    });
    return pdf([left, bottom, left + width, bottom + height], drawn.join("\n"));
  },
};

const DOCUMENTS = [sheet, icon, page];

/** Returns a PDF of a page. */
function pdf(box, content) {
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    `<</Type/Page/Parent 2 0 R/MediaBox[${box.join(" ")}]/Contents 4 0 R>>`,
    `<</Length ${content.length}>>\nstream\n${content}\nendstream`,
  ];
  let file = "%PDF-1.7\n";
  const rows = objects.map((object, index) => {
    const place = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  return `${file}xref\n0 5\n0000000000 65535 f \n${rows.join("")}trailer\n<</Root 1 0 R/Size 5>>\nstartxref\n${file.length}\n%%EOF\n`;
}

/** Measures all documents in an engine. Returns the distances at 64 times for each. */
async function measured(start, server, contents) {
  const engine = await start();
  const distances = {};
  try {
    await engine.resize(1200, 800);
    await engine.open(`${server.origin}/`);
    for (const { file, rectangles } of DOCUMENTS) {
      await engine.evaluate((content) => show(content, ""), contents[file]);
      distances[file] = [];
      for (const { x, y, turn, isFilled } of rectangles) {
        const edges = edgesOf([x, y, ACROSS, DOWN], turn);
        const view = { x, y, turn: 0 };
        await assertNoJump(engine, edges, view, [1.45, 1.55, 1.45]);
        if (!isFilled) await assertAsPixels(engine, edges, { ...view, scale: 3 });
        distances[file].push(...(await assertDeep(engine, edges, view)));
      }
    }
  } finally {
    await engine.close();
  }
  return distances;
}

const { tiler } = JSON.parse(process.argv[2]);
const folder = await mkdtemp(join(tmpdir(), "edgezoom-vectors-"));
const server = await startVectors();
try {
  const contents = {};
  for (const document of DOCUMENTS) {
    const { file, size } = document;
    const [path, site] = [join(folder, file), join(folder, `${file}-site`)];
    await writeFile(path, document.source(document));
    await promisify(execFile)(tiler, ["convert", path, "--viewer", "-o", join(site, "picture")], { env: { ...process.env, EDGEZOOM_VIEWER: VIEWER } });
    contents[file] = await addSite(server, site, `/${file}`);
    const { width, height } = contents[file].dzi;
    if (String([width, height]) !== String(size)) throw new Error(`${file} has ${width} × ${height} pixels`);
  }
  const engines = Object.entries(ENGINES).map(async ([name, start]) => [name, await measured(start, server, contents)]);
  console.log(JSON.stringify(Object.fromEntries(await Promise.all(engines))));
} finally {
  await server.close();
  await rm(folder, { recursive: true });
}
