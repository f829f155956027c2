// Builds what a wheel has of the viewer into edgezoom/viewer/, which no other script writes: the files of a site, which
// `edge/viewer/build.mjs` must have built, and the widget of notebooks.

import { cp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const from = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The options that bundle the widget. A test bundles it, too. */
export const widget = {
  entryPoints: [from("notebook.js")],
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  loader: { ".css": "text" }, // for shadow roots
  external: ["./text.js", "./vector.js"], // for pictures with words or vectors
  define: { define: "undefined" }, // OpenSeadragon would register in an AMD loader
  legalComments: "eof",
  logLevel: "warning",
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outdir = from("edgezoom/viewer");
  await rm(outdir, { recursive: true, force: true });
  await cp(from("../../edge/build/site"), outdir, { recursive: true });
  await build({ ...widget, outdir });
}
