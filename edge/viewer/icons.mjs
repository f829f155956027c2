// The icon in the sizes and formats that browsers and home screens ask for, drawn from `pages/icon.svg`: its rectangles,
// as PNG and ICO.

import { crc32, deflateSync } from "node:zlib";

/** Samples a pixel in each direction, against jagged edges. */
const FINE = 4;

/** The rectangles of the drawing: `{ x, y, width, height, colour, opacity }`, in units of which the icon has 32. */
export function rectanglesOf(svg) {
  const found = [];
  for (const [, d, opacity] of [...svg.matchAll(/<path fill="#fff" d="([^"]+)"(?: opacity="([.\d]+)")?\/>/g)]) {
    for (const [, ...figures] of d.matchAll(/M(\d+) (\d+)h(\d+)v(\d+)h-\d+z/g)) {
      const [x, y, width, height] = figures.map(Number);
      found.push({ x, y, width, height, opacity: Number(opacity ?? 1) });
    }
  }
  return found;
}

const BLUE = [0x15, 0x59, 0xd6];

/** The icon as RGBA rows. `full` fills the corners, for systems that cut icons into their own shape. */
function draw(svg, size, full) {
  const rectangles = rectanglesOf(svg);
  const inset = full ? 3 : 0; // within the circle that every shape keeps
  const radius = 7;
  const pixels = Buffer.alloc(size * size * 4);
  const isInside = (x, y) => {
    if (full) return true;
    const [dx, dy] = [x, y].map((at) => Math.max(radius - at, at - (32 - radius), 0));
    return Math.hypot(dx, dy) <= radius;
  };
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      let [inside, white] = [0, 0];
      for (let sample = 0; sample < FINE * FINE; sample += 1) {
        const [x, y] = [column + ((sample % FINE) + 0.5) / FINE, row + (Math.floor(sample / FINE) + 0.5) / FINE].map((at) => (at * 32) / size);
        if (!isInside(x, y)) continue;
        inside += 1;
        const [u, v] = [x, y].map((at) => ((at - inset) * 32) / (32 - 2 * inset));
        white += rectangles.find((of) => u >= of.x && u < of.x + of.width && v >= of.y && v < of.y + of.height)?.opacity ?? 0;
      }
      const share = inside === 0 ? 0 : white / inside;
      const at = (row * size + column) * 4;
      BLUE.forEach((blue, channel) => (pixels[at + channel] = Math.round(blue + (255 - blue) * share)));
      pixels[at + 3] = Math.round((255 * inside) / (FINE * FINE));
    }
  }
  return pixels;
}

/** The icon as a PNG (<https://www.w3.org/TR/png/>). */
export function png(svg, size, { full = false } = {}) {
  const pixels = draw(svg, size, full);
  const rows = Buffer.alloc((size * 4 + 1) * size); // each row begins with its filter: none
  for (let row = 0; row < size; row += 1) pixels.copy(rows, row * (size * 4 + 1) + 1, row * size * 4, (row + 1) * size * 4);
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 6, 0, 0, 0]);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

/** The icon as an ICO of 32 pixels with a PNG inside
 * (<https://learn.microsoft.com/previous-versions/ms997538(v=msdn.10)>). */
export function ico(svg) {
  const picture = png(svg, 32);
  const head = Buffer.from([0, 0, 1, 0, 1, 0, 32, 32, 0, 0, 1, 0, 32, 0, 0, 0, 0, 0, 22, 0, 0, 0]);
  head.writeUInt32LE(picture.length, 14);
  return Buffer.concat([head, picture]);
}

/** The description of the site as an application (<https://www.w3.org/TR/appmanifest/>). */
export const manifest = {
  name: "Edgezoom",
  short_name: "Edgezoom",
  description: "Large pictures, documents and web pages to zoom into.",
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
