// The second wasm module, which decodes, scales and encodes. It is loaded and compiled when a region is first asked
// for. After a trap the memory of its instance is unreliable, so a new instance replaces it.

let hasInstance = false;

/**
 * Returns the bytes of a rendering. `words` are those of `Rendering::to_words`, `tiles` the bytes of its tiles in the
 * order of `Plan::tiles`. Nothing else runs while it renders. Throws if a tile is missing or damaged.
 */
export async function render(words, tiles) {
  const module = await import("./regions.js");
  const bytes = new Uint8Array(tiles.reduce((sum, tile) => sum + tile.length, 0));
  let end = 0;
  for (const tile of tiles) {
    bytes.set(tile, end);
    end += tile.length;
  }
  // Loading the script makes no instance (xtask/tools/src/worker.rs): a runtime never loads a script again that once
  // failed for lack of memory. Here the next rendering tries again.
  if (!hasInstance) module.__wbg_reset_state();
  hasInstance = true;
  try {
    return module.render(words, bytes, Uint32Array.from(tiles, ({ length }) => length));
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) hasInstance = false;
    throw error;
  }
}
