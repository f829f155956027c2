// Builds the viewer and the pages' files into edge/build/assets/, which the Worker serves: a module for embeds, one for each
// kind of page, styles, icons, and OpenSeadragon's licence. The embed script itself is part of the Worker.

import { access, cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

import { ico, manifest, png } from "./icons.mjs";

const from = (name) => fileURLToPath(new URL(name, import.meta.url));
const to = from("../build/assets/");

await mkdir(`${to}assets`, { recursive: true });
const shared = {
  outdir: `${to}assets`,
  entryNames: "[name]",
  bundle: true,
  minify: true,
  target: ["es2022", "chrome123", "firefox125", "safari17.5"],
  legalComments: "eof",
  logLevel: "warning",
};
await build({
  ...shared,
  entryPoints: ["embed/viewer.js", "pages/share.js", "pages/home.js"].map(from),
  format: "esm",
  loader: { ".css": "text" }, // for shadow roots
  // In a page with an AMD loader, OpenSeadragon would register there instead of exporting itself.
  define: { define: "undefined" },
});
await build({ ...shared, entryPoints: [from("pages/page.css")] });

const icon = await readFile(from("pages/icon.svg"), "utf8");
const files = {
  "icon.svg": icon,
  "favicon.ico": ico(icon),
  "apple-touch-icon.png": png(icon, 180, { full: true }),
  "icon-192.png": png(icon, 192),
  "icon-512.png": png(icon, 512),
  "icon-full-512.png": png(icon, 512, { full: true }),
  "manifest.webmanifest": JSON.stringify(manifest),
  "openseadragon-licence.txt": await readFile(from("../../node_modules/openseadragon/LICENSE.txt")),
};
for (const [name, content] of Object.entries(files)) await writeFile(`${to}assets/${name}`, content);
// Browsers request these without a link.
for (const name of ["favicon.ico", "apple-touch-icon.png"]) await writeFile(`${to}${name}`, files[name]);
await cp(from("pages/_headers"), `${to}_headers`);
// Without the home page's picture, which `hero.mjs` makes.
await access(`${to}assets/hero.json`).catch(() => writeFile(`${to}assets/hero.json`, "{}"));

// Deletes files of earlier builds. The folder stays: a running `wrangler dev` does not notice a new one.
const hero = ["hero.json", "hero.dzi", "hero_files"];
const built = new Set(["viewer.js", "share.js", "home.js", "page.css", ...Object.keys(files), ...hero]);
for (const name of await readdir(`${to}assets`)) {
  if (!built.has(name)) await rm(`${to}assets/${name}`, { recursive: true });
}
