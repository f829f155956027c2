// Draws the home page's picture, the map of a fictional town, and converts it with a tiler into the Worker's assets:
// `node edge/viewer/hero.mjs target/debug/tiler`. `cargo xtask dev` does so at its start; the result is kept in
// `target/hero/` until the drawing changes, and without a tiler only copied from there. Without it the home page shows
// no picture. The drawing is generated from a seed, so every build has the same town, and is dedicated to the public
// domain (CC0).

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { access, cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const SIZE = { width: 8192, height: 5120 };
const SEED = 20;

const STREETS = "Alder Ash Baker Bell Birch Bridge Brook Castle Chapel Cherry Church Clay Copper Elm Ferry Garden Glass Harbour Hazel Hill Hope Juniper Kiln Lark Linen Maple Market Mill Moss Oak Orchard Paper Pearl Quarry Rose Rowan Saddle Salt Silver Spring Station Stone Swan Tanner Tile Tower Violet Water Willow Wren".split(" ");
const KINDS = ["Street", "Lane", "Road", "Row", "Way"];
const ROOFS = ["#d9a58c", "#cf9580", "#e2b79f", "#c98a72", "#d8b9a4", "#bfa596", "#d3c0ae"];

/** Returns a generator of random numbers between 0 and 1 (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = generator(SEED);
const between = (least, most) => least + random() * (most - least);
const pick = (list) => list[Math.floor(random() * list.length)];

/** Bends the plane, so no street is straight. */
const bend = ([x, y]) => [
  x + 130 * Math.sin(y / 900 + 0.6) + 60 * Math.sin((x + y) / 520),
  y + 120 * Math.sin(x / 1100) + 50 * Math.sin((x - 1.6 * y) / 640),
];
const point = (at) => bend(at).map((figure) => figure.toFixed(1)).join(" ");
const polygon = (corners) => `M${corners.map(point).join("L")}Z`;
const rectangle = ([x, y, width, height]) => [[x, y], [x + width, y], [x + width, y + height], [x, y + height]];
/** Returns a line with enough points to bend. */
const line = (from, to, steps = 24) => `M${Array.from({ length: steps + 1 }, (_, step) => point([0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * step) / steps))).join("L")}`;

/** Returns the centre of the river and half its width at a distance from the left. */
const river = (x) => ({ y: 2750 + 620 * Math.sin(x / 1500 + 1) + 160 * Math.sin(x / 420), half: 120 + 40 * Math.sin(x / 700) });
const isNearRiver = (land) => {
  const corners = rectangle(land).map(bend);
  const [xs, ys] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  return [left, (left + right) / 2, right].some((at) => {
    const { y: middle, half } = river(at);
    return Math.min(...ys) < middle + half + 20 && Math.max(...ys) > middle - half - 20;
  });
};

/** Number of the house with the cat on its roof, in the order of drawing. */
const HOUSE_OF_THE_CAT = 2400;

const parts = { houses: 0, cat: "", parks: [], blocks: [], roofs: new Map(), streets: [], numbers: [], names: [], trees: [], more: [] };

/** Divides land into blocks with streets between them. */
function divide([x, y, width, height], depth) {
  const street = [54, 40, 30, 24, 18, 15, 12, 12][depth] ?? 12;
  if (width < 330 && height < 250) return block([x, y, width, height]);
  const across = width / 1.3 > height;
  const length = across ? width : height;
  const at = length * between(0.4, 0.6);
  name(across ? [[x + at, y], [x + at, y + height]] : [[x, y + at], [x + width, y + at]], street);
  const [before, after] = [at - street / 2, length - at - street / 2];
  divide(across ? [x, y, before, height] : [x, y, width, before], depth + 1);
  divide(across ? [x + at + street / 2, y, after, height] : [x, y + at + street / 2, width, after], depth + 1);
}

/** Draws a street with its name repeated along it. */
function name([from, to], street) {
  const text = `${pick(STREETS)} ${pick(KINDS)}`;
  const id = `s${parts.streets.length}`;
  parts.streets.push(`<path id="${id}" d="${line(from, to)}" stroke-width="${street - 4}"/>`);
  const size = Math.max(7, street * 0.42);
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  for (let at = 90; at < length - 200; at += 620) {
    const [x, y] = [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * (at + 60)) / length);
    if (isNearRiver([x - 40, y - 20, 80, 40])) continue;
    const [[x1, y1], [x2, y2]] = [bend([x, y]), bend([x + ((to[0] - from[0]) / length) * 8, y + ((to[1] - from[1]) / length) * 8])];
    const turned = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    parts.names.push(`<text transform="translate(${x1.toFixed(1)} ${y1.toFixed(1)}) rotate(${turned.toFixed(1)})" font-size="${size.toFixed(1)}" dy=".35em">${text}</text>`);
  }
}

function block(land) {
  if (isNearRiver(land)) return;
  const [x, y, width, height] = land;
  if (random() < 0.09) return park(land);
  parts.blocks.push(polygon(rectangle(land)));
  const rows = height > 150 ? 2 : 1;
  const columns = Math.max(2, Math.round(width / between(34, 52)));
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      if (random() < 0.07) continue;
      house([x + (column * width) / columns, y + (row * height) / rows, width / columns, height / rows], 2 * column + row + 1, row === rows - 1 && rows > 1);
    }
  }
}

function house([x, y, width, height], number, facesDown) {
  const [wide, deep] = [width * between(0.72, 0.9), height * between(0.38, 0.55)];
  const [left, top] = [x + (width - wide) / 2, facesDown ? y + height - deep - 6 : y + 6];
  const corners = rectangle([left, top, wide, deep]);
  const wing = random() < 0.35 ? rectangle([left, facesDown ? top - deep * 0.35 : top + deep, wide * 0.45, deep * 0.35]) : null;
  const roof = pick(ROOFS);
  const ridge = line([left + 3, top + deep / 2], [left + wide - 3, top + deep / 2], 1);
  parts.roofs.set(roof, [...(parts.roofs.get(roof) ?? []), polygon(corners), ...(wing ? [polygon(wing)] : [])]);
  parts.more.push(ridge);
  parts.houses += 1;
  if (parts.houses === HOUSE_OF_THE_CAT) parts.cat = `<g transform="translate(${point([left + wide / 2, top + 2])}) scale(.36)" fill="#2b2b2e">${CAT}</g>`;
  const [tx, ty] = bend([left + wide / 2, top + deep * 0.75]);
  parts.numbers.push(`<text x="${tx.toFixed(1)}" y="${ty.toFixed(1)}">${number}</text>`);
  const garden = facesDown ? y + height * 0.1 : y + height * 0.75;
  if (random() < 0.6) tree([x + width * between(0.2, 0.8), garden + height * between(0, 0.15)], between(4, 8));
}

function tree(at, size) {
  const [x, y] = bend(at);
  parts.trees.push(`M${(x - size).toFixed(1)} ${y.toFixed(1)}a${size.toFixed(1)} ${size.toFixed(1)} 0 1 0 ${(2 * size).toFixed(1)} 0a${size.toFixed(1)} ${size.toFixed(1)} 0 1 0 ${(-2 * size).toFixed(1)} 0`);
}

function park([x, y, width, height]) {
  parts.parks.push(polygon(rectangle([x, y, width, height])));
  for (let count = 0; count < (width * height) / 900; count += 1) {
    tree([x + between(10, width - 10), y + between(10, height - 10)], between(5, 12));
  }
}

function water() {
  const xs = Array.from({ length: 120 }, (_, step) => -200 + step * 73);
  const side = (sign) => xs.map((x) => `${x} ${(river(x).y + sign * river(x).half).toFixed(1)}`);
  const bank = `M${side(-1).join("L")}L${side(1).reverse().join("L")}Z`;
  const boats = [["Marigold", 1400], ["Second Wind", 3100], ["Little Otter", 4700], ["Patience", 6900]].map(([text, x]) => {
    const { y } = river(x);
    return `<g transform="translate(${x} ${y.toFixed(0)}) rotate(${between(-14, 14).toFixed(0)})"><path d="M-46 0q8-15 60-13q26 4 34 13q-8 9-34 13q-52 2-60-13z" fill="#fff" stroke="#5b6b7a" stroke-width="2"/><path d="M-20-7h30v14h-30z" fill="#c98a72"/><text x="-4" y="2" font-size="5" fill="#fff" text-anchor="middle">${text}</text></g>`;
  });
  return { bank, boats: boats.join("") };
}

/** Returns the bridges, where the widest streets meet the river. */
const bridges = () => [1180, 2650, 4080, 5620, 7150].map((x) => {
  const { y, half } = river(x);
  return `<path d="M${x} ${(y - half - 60).toFixed(0)}V${(y + half + 60).toFixed(0)}" stroke="#fffdf8" stroke-width="44"/><path d="M${x - 22} ${(y - half - 30).toFixed(0)}V${(y + half + 30).toFixed(0)}M${x + 22} ${(y - half - 30).toFixed(0)}V${(y + half + 30).toFixed(0)}" stroke="#a59a8a" stroke-width="5"/>`;
}).join("");

const CAT = `<path d="M0 0c-9-1-13-8-12-16c-4-4-3-10-1-13l5 5h7l5-5c3 5 2 10 0 13c6 4 10 10 9 16z"/><path d="M12-2c10 4 16-3 13-10" fill="none" stroke="#2b2b2e" stroke-width="3"/><path d="M-8-19h2M-1-19h2" stroke="#ffd34d" stroke-width="2.4"/>`;

/** Returns the map as SVG. */
function town() {
  const { width, height } = SIZE;
  divide([-300, -300, width + 600, height + 600], 0);
  const { bank, boats } = water();
  const roofs = [...parts.roofs].map(([colour, paths]) => `<path fill="${colour}" d="${paths.join("")}"/>`).join("\n");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="DejaVu Sans, Noto Sans, sans-serif">
<rect width="${width}" height="${height}" fill="#efe8da"/>
<g fill="none" stroke="#fffdf8" stroke-linecap="round">${parts.streets.join("")}</g>
<path fill="#e6dcc9" d="${parts.blocks.join("")}"/>
<path fill="#c5d9a9" d="${parts.parks.join("")}"/>
<path fill="#a9cbe0" stroke="#8fb6d0" stroke-width="10" d="${bank}"/>
${boats}${bridges()}
<g stroke="#8d6f5f" stroke-width="1">${roofs}</g>
<path fill="none" stroke="#8d6f5f" stroke-opacity=".55" stroke-width="1" d="${parts.more.join("")}"/>
<path fill="#8fb574" fill-opacity=".85" stroke="#6c9554" stroke-width="1" d="${parts.trees.join("")}"/>
<g fill="#5a3d30" font-size="6.5" text-anchor="middle">${parts.numbers.join("")}</g>
<g fill="#6b6459" text-anchor="middle">${parts.names.join("")}</g>
${parts.cat}
</svg>
`;
}

const [tiler] = process.argv.slice(2);
const folder = (path) => fileURLToPath(new URL(path, import.meta.url));
const assets = folder("../build/assets/assets/");

const drawing = town();
const digest = createHash("sha256").update(drawing).digest("hex").slice(0, 16);
const stored = folder(`../../target/hero/${digest}/`);
const exists = (path) => access(path).then(() => true, () => false);
if (tiler && !(await exists(stored))) {
  const unfinished = folder("../../target/hero/unfinished/");
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await writeFile(`${unfinished}town.svg`, drawing);
  execFileSync(tiler, ["convert", `${unfinished}town.svg`, "--output", `${unfinished}hero`], { stdio: ["ignore", "ignore", "inherit"] });
  const descriptor = await readFile(`${unfinished}hero.dzi`, "utf8");
  const attribute = (name) => new RegExp(`${name}="([^"]+)"`).exec(descriptor)[1];
  const [width, height, tileSize, tileOverlap] = ["Width", "Height", "TileSize", "Overlap"].map((name) => Number(attribute(name)));
  const described = { width, height, tileSize, tileOverlap, tileFormat: attribute("Format"), drawing: digest };
  await writeFile(`${unfinished}hero.json`, JSON.stringify(described));
  await rename(unfinished, stored);
}
// The local Worker starts again when its assets change.
const isCopied = async () => (await readFile(`${assets}hero.json`, "utf8")) === (await readFile(`${stored}hero.json`, "utf8"));
if ((await exists(stored)) && !(await isCopied())) {
  for (const name of ["hero_files", "hero.dzi", "hero.json"]) await cp(stored + name, assets + name, { recursive: true });
}
