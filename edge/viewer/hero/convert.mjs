// Converts the home page's picture with a tiler, and puts it where the Worker's files are:
// `node edge/viewer/hero/convert.mjs target/debug/tiler`. `cargo xtask dev` does so when it starts; the conversion itself
// happens once, and is kept in `target/hero/` until the drawing changes. Without it the home page shows no picture.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { access, cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { town } from "./town.mjs";

const [tiler] = process.argv.slice(2);
const folder = (path) => fileURLToPath(new URL(path, import.meta.url));
const assets = folder("../../build/assets/assets/");

const drawing = town();
const kept = folder(`../../../target/hero/${createHash("sha256").update(drawing).digest("hex").slice(0, 16)}/`);
if (!(await access(kept).then(() => true, () => false))) {
  const unfinished = folder("../../../target/hero/unfinished/");
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await writeFile(`${unfinished}town.svg`, drawing);
  execFileSync(tiler, ["convert", `${unfinished}town.svg`, "--output", `${unfinished}hero`], { stdio: ["ignore", "ignore", "inherit"] });
  const descriptor = await readFile(`${unfinished}hero.dzi`, "utf8");
  const attribute = (name) => new RegExp(`${name}="([^"]+)"`).exec(descriptor)[1];
  const [width, height, tileSize, tileOverlap] = ["Width", "Height", "TileSize", "Overlap"].map((name) => Number(attribute(name)));
  const described = { width, height, tileSize, tileOverlap, tileFormat: attribute("Format") };
  await writeFile(`${unfinished}hero.json`, JSON.stringify(described));
  await rename(unfinished, kept);
}
for (const name of ["hero_files", "hero.dzi", "hero.json"]) await cp(kept + name, assets + name, { recursive: true });
