// The icon in the sizes and formats that browsers and home screens request, rasterised from the rectangles of
// `pages/icon.svg`.

import { encodePng } from "./png.mjs";

/** Units of the drawing along a side. */
const UNITS = 32;
/** Samples per pixel in each direction, against jagged edges. */
const SAMPLES = 4;
const BLUE = [0x15, 0x59, 0xd6];

/** Returns the rectangles of the drawing, `{ x, y, width, height, opacity }`, in its units. */
function rectanglesOf(svg) {
  return [...svg.matchAll(/<path fill="#fff" d="([^"]+)"(?: opacity="([.\d]+)")?\/>/g)].flatMap(([, d, opacity = "1"]) =>
    [...d.matchAll(/M(\d+) (\d+)h(\d+)v(\d+)h-\d+z/g)].map(([, ...figures]) => {
      const [x, y, width, height] = figures.map(Number);
      return { x, y, width, height, opacity: Number(opacity) };
    }),
  );
}

/** Returns the icon as a PNG. `full` fills the corners, for systems that crop icons to their own shape. */
export function png(svg, size, { full = false } = {}) {
  const rectangles = rectanglesOf(svg);
  const inset = full ? 3 : 0; // within the circle that every shape keeps
  const radius = 7;
  const pixels = Buffer.alloc(size * size * 4);
  const isInside = (x, y) => {
    if (full) return true;
    const [dx, dy] = [x, y].map((at) => Math.max(radius - at, at - (UNITS - radius), 0));
    return Math.hypot(dx, dy) <= radius;
  };
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      let [inside, white] = [0, 0];
      for (let sample = 0; sample < SAMPLES * SAMPLES; sample += 1) {
        const offsets = [sample % SAMPLES, Math.floor(sample / SAMPLES)].map((step) => (step + 0.5) / SAMPLES);
        const [x, y] = [column + offsets[0], row + offsets[1]].map((at) => (at * UNITS) / size);
        if (!isInside(x, y)) continue;
        inside += 1;
        const [u, v] = [x, y].map((at) => ((at - inset) * UNITS) / (UNITS - 2 * inset));
        white += rectangles.find((of) => u >= of.x && u < of.x + of.width && v >= of.y && v < of.y + of.height)?.opacity ?? 0;
      }
      const whiteness = inside === 0 ? 0 : white / inside;
      const at = (row * size + column) * 4;
      BLUE.forEach((blue, channel) => (pixels[at + channel] = Math.round(blue + (255 - blue) * whiteness)));
      pixels[at + 3] = Math.round((255 * inside) / (SAMPLES * SAMPLES));
    }
  }
  return encodePng({ width: size, height: size, channels: 4, pixels });
}

/**
 * Returns the icon as an ICO of 32 pixels that contains a PNG
 * (<https://learn.microsoft.com/previous-versions/ms997538(v=msdn.10)>).
 */
export function ico(svg) {
  const picture = png(svg, 32);
  const head = Buffer.from([0, 0, 1, 0, 1, 0, 32, 32, 0, 0, 1, 0, 32, 0, 0, 0, 0, 0, 22, 0, 0, 0]);
  head.writeUInt32LE(picture.length, 14);
  return Buffer.concat([head, picture]);
}

/** Description of the site as an application (<https://www.w3.org/TR/appmanifest/>). */
export const manifest = {
  name: "Edgezoom",
  short_name: "Edgezoom",
  description: "Zoom into large pictures, documents and web pages.",
  start_url: "/",
  display: "browser",
  background_color: "#fbfaf8",
  theme_color: "#1559d6",
  icons: [
    { src: "/assets/icon.svg", type: "image/svg+xml", sizes: "any" },
    { src: "/assets/icon-192.png", type: "image/png", sizes: "192x192" },
    { src: "/assets/icon-512.png", type: "image/png", sizes: "512x512" },
    { src: "/assets/icon-full-512.png", type: "image/png", sizes: "512x512", purpose: "maskable" },
  ],
};
