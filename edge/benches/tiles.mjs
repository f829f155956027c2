// Tiles a second through the built Worker, of a pyramid that is one object beside one whose tiles are objects. Each request
// has an address of its own, so that no cache answers. Both are asked for in short turns, because the machine is not equally
// fast all the time.

import { randomFillSync } from "node:crypto";
import { archive, DZI, grid, LAST_LEVEL } from "../tests/archive.mjs";
import { PLAIN, start } from "../tests/system.mjs";
import { agent, CONNECTIONS, load, middle, sum } from "./load.mjs";

const TURNS = 100;
const SECONDS = 0.2;
/** A tile of a photograph. */
const TILE_BYTES = 30_000;

const tile = randomFillSync(Buffer.alloc(TILE_BYTES));
const edge = await start({}, PLAIN);
const { object, place } = archive(() => tile);

const { id: packed } = await edge.ask("http://example.com/packed.jpg");
await edge.claim(packed);
await edge.pyramids.put(`${packed}/1.szi`, object);
await edge.report(packed, 1, { finished: { dzi: DZI, archive: place } });

const [columns, rows] = grid(LAST_LEVEL);
const { id: single } = await edge.ask("http://example.com/single.jpg");
await edge.claim(single);
for (let at = 0; at < columns * rows; at++) {
  await edge.pyramids.put(`${single}/1_files/${LAST_LEVEL}/${at % columns}_${Math.floor(at / columns)}.jpg`, tile);
}
await edge.report(single, 1, { finished: { dzi: DZI } });

let asked = 0;
const addresses = Object.fromEntries(
  Object.entries({ archive: packed, tiles: single }).map(([layout, id]) => {
    const next = () => {
      const at = (asked += 1) % (columns * rows);
      return `${edge.addresses.edgezoom}/cache/${id}/1_files/${LAST_LEVEL}/${at % columns}_${Math.floor(at / columns)}.jpg?${asked}`;
    };
    return [layout, next];
  }),
);
for (const next of Object.values(addresses)) await load(next, 3); // warms up

const turns = { archive: [], tiles: [] };
for (let turn = 0; turn < TURNS; turn++) {
  const inTurn = Object.entries(addresses);
  for (const [layout, next] of turn % 2 ? inTurn.reverse() : inTurn) turns[layout].push(await load(next, SECONDS));
}
const cost = (layout) => sum(turns[layout].map(({ cpu }) => cpu)) / sum(turns[layout].map(({ answers }) => answers));
for (const [layout, all] of Object.entries(turns)) {
  console.log(`${layout.padEnd(7)} ${middle(all.map(({ rate }) => rate), 0)} tiles/s, ${cost(layout).toFixed(0)} us of CPU time a tile`);
}
const ratios = turns.archive.map(({ rate }, turn) => rate / turns.tiles[turn].rate);
console.log(`ratio   ${middle(ratios, 2)} of the rates (at least 0.8 is asked for), ${(cost("tiles") / cost("archive")).toFixed(2)} of the costs`);
console.log(`        ${TURNS} turns of ${SECONDS} s each, with ${CONNECTIONS} connections, tiles of ${TILE_BYTES} bytes`);
agent.destroy();
await edge.close();
