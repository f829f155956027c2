// Builds the browser's side into edge/build/assets/, which the Worker serves under the share address: the viewer and the
// page scripts as ES modules, styles, and OpenSeadragon's licence.

import { cp, mkdir } from "node:fs/promises";
import { build } from "esbuild";

const from = (name) => new URL(name, import.meta.url).pathname;
const to = new URL("../build/assets/", import.meta.url).pathname;

await mkdir(`${to}assets`, { recursive: true });
await build({
  entryPoints: ["viewer.js", "share.js", "page.css"].map(from),
  outdir: `${to}assets`,
  bundle: true,
  external: ["./viewer.js"], // one module, one instance, whoever imports it
  format: "esm",
  target: ["es2022", "chrome105", "firefox104", "safari16"],
  minify: true,
  loader: { ".viewer.css": "text" },
  legalComments: "eof",
  logLevel: "warning",
});
await cp(from("icon.svg"), `${to}assets/icon.svg`);
await cp(from("_headers"), `${to}_headers`);
const licence = new URL("../../node_modules/openseadragon/LICENSE.txt", import.meta.url).pathname;
await cp(licence, `${to}assets/openseadragon-licence.txt`);
