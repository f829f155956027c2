// Builds the viewer and the pages' files into edge/build/assets/, which the Worker serves: a module for embeds, one for
// each kind of page, one for words, one for vectors, styles, icons, and OpenSeadragon's licence. The embed script itself
// is part of the Worker. edge/build/site/ is for `tiler convert --viewer`: the page of a site with the viewer in one
// classic script, because browsers load no modules from a disk.

import { access, cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

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
/** Imported styles are texts, for shadow roots. */
const styles = {
  name: "styles",
  setup: (building) =>
    building.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      return { contents: code.trim(), loader: "text" };
    }),
};
const script = {
  ...shared,
  format: "esm",
  plugins: [styles],
  external: ["./text.js", "./vector.js"], // the viewer imports them from beside itself, if the picture has words or vectors
  // In a page with an AMD loader, OpenSeadragon would register there instead of exporting itself.
  define: { define: "undefined" },
};
await build({ ...script, entryPoints: ["embed/viewer.js", "pages/share.js", "pages/home.js", "pages/collection.js", "text/text.js", "vector/vector.js"].map(from) });
await build({ ...shared, entryPoints: [from("pages/page.css")] });

// A site is a copy of the viewer, so its script has the licences.
const [own, openSeadragon] = await Promise.all(["LICENSE", "node_modules/openseadragon/LICENSE.txt"].map((name) => readFile(from(`../../${name}`), "utf8")));
const banner = { js: `/*!\nEdgezoom: ${own.split(/^=+\n/m)[1].trim()}\n\nOpenSeadragon: ${openSeadragon.trim()}\n*/` };
const outdir = from("../build/site");
await build({ ...script, entryPoints: [{ in: from("site/site.js"), out: "viewer" }], entryNames: "[name]", outdir, format: "iife", banner });
await build({ ...shared, entryPoints: [{ in: from("site/site.css"), out: "viewer" }], outdir });
await cp(from("site/index.html"), `${outdir}/index.html`);

await cp(from("icons"), `${to}assets`, { recursive: true });
// Browsers request these without a link.
for (const name of ["favicon.ico", "apple-touch-icon.png"]) await cp(from(`icons/${name}`), to + name);
await cp(from("../../node_modules/openseadragon/LICENSE.txt"), `${to}assets/openseadragon-licence.txt`);
await cp(from("pages/_headers"), `${to}_headers`);
// Without the home page's picture, which `hero.mjs` makes.
await access(`${to}assets/hero.json`).catch(() => writeFile(`${to}assets/hero.json`, "{}"));

// Deletes files of earlier builds. The folder stays: a running `wrangler dev` does not notice a new one.
const others = ["hero.json", "hero.dzi", "hero_files", "docs.css"]; // docs.css: see edge/interface/build.mjs
const made = ["viewer.js", "share.js", "home.js", "collection.js", "text.js", "vector.js", "page.css", "openseadragon-licence.txt"];
const built = new Set([...made, ...(await readdir(from("icons"))), ...others]);
for (const name of await readdir(`${to}assets`)) {
  if (!built.has(name)) await rm(`${to}assets/${name}`, { recursive: true });
}
