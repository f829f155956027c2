// Builds the viewer and the pages' files into edge/build/assets/, which the Worker serves under the share address: one
// module for embeds, one for each kind of page, styles, and OpenSeadragon's licence. The embed script itself is part of
// the Worker.

import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

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
  // In a page with an AMD loader OpenSeadragon would register there instead of exporting itself.
  define: { define: "undefined" },
});
await build({ ...shared, entryPoints: [from("pages/page.css")] });
const licence = "openseadragon-licence.txt";
await cp(from("pages/_headers"), `${to}_headers`);
await cp(from("pages/icon.svg"), `${to}assets/icon.svg`);
await cp(from("../../node_modules/openseadragon/LICENSE.txt"), `${to}assets/${licence}`);

// Deletes the files of earlier builds. The folder stays: a running `wrangler dev` does not notice a new one.
const built = new Set(["viewer.js", "share.js", "home.js", "page.css", "icon.svg", licence]);
for (const name of await readdir(`${to}assets`)) {
  if (!built.has(name)) await rm(`${to}assets/${name}`, { recursive: true });
}
