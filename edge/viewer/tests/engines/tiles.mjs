// Tiles of every kind as an engine decodes them, beside their pixels as libjpeg-turbo decodes them. The files are
// written by engine/pyramid/tests/integration/decoders.rs.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";

import { serve } from "../servers.mjs";

const FOLDER = new URL("../../../../engine/pyramid/tests/tiles/", import.meta.url);
/** Largest difference of a channel, of 255: engines round colours differently. */
const ROUNDING = 2;

/** Fails if a tile looks different. `open(url)` opens a page, and `evaluate(call, ...args)` runs a function in it. */
export async function assertTilesDecode({ open, evaluate }) {
  const names = (await readdir(FOLDER)).filter((name) => !name.endsWith(".pixels.png"));
  assert.ok(names.length > 10);
  const server = await serve(async ({ pathname }) => {
    if (pathname === "/") return { body: `<!doctype html><title>Tiles</title><link rel="icon" href="data:,">` };
    return { type: pathname.endsWith("jpg") ? "image/jpeg" : "image/png", body: await readFile(new URL(pathname.slice(1), FOLDER)) };
  });
  try {
    await open(`${server.origin}/`);
    for (const name of names) {
      const { most, mean } = await evaluate(differenceOf, name, name.replace(/\.\w+$/, ".pixels.png"));
      assert.ok(most <= ROUNDING, `${name}: a channel differs by ${most}, ${mean.toFixed(3)} on average`);
    }
  } finally {
    await server.close();
  }
}

/** Runs in the page: compares two pictures. */
async function differenceOf(...names) {
  const [one, other] = await Promise.all(
    names.map(async (name) => {
      const image = new Image();
      image.src = `/${name}`;
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height).data;
    }),
  );
  if (one.length !== other.length) return { most: 255, mean: 255 };
  const differences = Array.from(one, (value, at) => Math.abs(value - other[at]));
  return { most: differences.reduce((most, value) => Math.max(most, value), 0), mean: differences.reduce((sum, value) => sum + value, 0) / one.length };
}
