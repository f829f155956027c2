// Makes a pyramid with sharp at its fastest setting, and prints the wall-clock time and the processor time, without the start
// of Node.js. A PPM is passed as raw pixels.

import { readFile } from "node:fs/promises";
import sharp from "sharp";

const [source, output, size, overlap, quality] = process.argv.slice(2);
const raw = source.endsWith(".ppm") && (await pixels(await readFile(source)));
sharp.concurrency(2); // its default is 1 with glibc's allocator
const [clock, cpu] = [performance.now(), process.cpuUsage()];
const image = raw ? sharp(raw.bytes, { raw }) : sharp(source, { sequentialRead: true });
const jpeg = image.jpeg({ quality: Number(quality), optimiseCoding: false });
await jpeg.tile({ size: Number(size), overlap: Number(overlap) }).toFile(`${output}.dz`);
const { user, system } = process.cpuUsage(cpu);
console.log((performance.now() - clock) / 1e3, (user + system) / 1e6);

function pixels(file) {
  const [header, width, height] = /^P6\n(\d+) (\d+)\n255\n/.exec(file.subarray(0, 40).toString("latin1"));
  return { bytes: file.subarray(header.length), width: Number(width), height: Number(height), channels: 3 };
}
