// The wasm module with the rules of collections, which only their objects load. After a trap the memory of its instance
// is unreliable, so a new instance replaces it.

let isUsable = false;

/** Returns the module's functions. */
export async function rules() {
  const module = await import("./collections.js");
  // Loading the script makes no instance (xtask/tools/src/worker.rs).
  if (!isUsable) module.__wbg_reset_state();
  isUsable = true;
  return module;
}

addEventListener("error", ({ error }) => {
  if (error instanceof WebAssembly.RuntimeError) isUsable = false;
});
