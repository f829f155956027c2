// The second wasm module, which decodes, scales and encodes. It is loaded and compiled when a region is first asked
// for. After a trap the memory of its instance is unreliable, so a new instance replaces it; and the memory of an
// instance never shrinks, so one that has become large is replaced, too.

/** Size of an instance's memory in bytes from which it is replaced after a rendering. */
const LARGE = 24 << 20;

/** Number of the instance; 0 before the first. */
let instance = 0;
let isUsable = false;
/** Number of requests with tiles in the instance's memory. */
let users = 0;

/**
 * Returns the bytes of a rendering. `words` are those of `Rendering::to_words`. `read` gets a function that writes
 * bytes to their place among `bytes`, and `places` has start and length of each tile there, in the order of
 * `Plan::tiles`. Nothing else runs while it renders. Throws if a tile is missing or damaged.
 */
export async function render(words, bytes, places, read) {
  const module = await import("./regions.js");
  // Loading the script makes no instance (xtask/tools/src/worker.rs): a runtime never loads a script again that once
  // failed for lack of memory. Here the next rendering tries again.
  if (!isUsable) {
    module.__wbg_reset_state();
    [isUsable, users] = [true, 0];
    instance += 1;
  }
  const own = instance;
  users += 1;
  let tiles;
  let isOver = false;
  const check = () => {
    if (isOver || own !== instance || !isUsable) throw new Error("the instance was replaced");
  };
  try {
    tiles = new module.Tiles(bytes);
    await read((chunk, at) => {
      check();
      // The memory may have grown since the last time.
      new Uint8Array(module.wasmMemory().buffer, tiles.address() + at, chunk.length).set(chunk);
    });
    check();
    return tiles.render(words, places);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError && own === instance) isUsable = false;
    throw error;
  } finally {
    isOver = true;
    if (own === instance && isUsable) {
      tiles?.free();
      users -= 1;
      if (users === 0 && module.wasmMemory().buffer.byteLength > LARGE) isUsable = false;
    }
  }
}
