//! The Worker's second module, which `edge/src/regions/render.js` loads when a region is first asked for:
//! `edgezoom-regions` for JavaScript. It is a module of its own so that all other requests neither load nor compile it,
//! and so that it can use vectors.

use edgezoom_regions::{Rendering, render};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// Returns the module's memory, into which JavaScript writes [`Tiles`].
#[wasm_bindgen(js_name = wasmMemory)]
pub fn wasm_memory() -> JsValue {
    wasm_bindgen::memory()
}

/// The bytes of a region's tiles. JavaScript writes them to their place as it reads them: a copy of all of them outside
/// this module would double what a region takes.
#[wasm_bindgen]
pub struct Tiles(Vec<u8>);

#[wasm_bindgen]
impl Tiles {
    /// Makes room for all tiles.
    #[wasm_bindgen(constructor)]
    pub fn new(bytes: usize) -> Self {
        Self(vec![0; bytes])
    }

    /// Returns the address of the first byte in [`wasm_memory`].
    pub fn address(&mut self) -> usize {
        self.0.as_mut_ptr() as usize
    }

    /// Renders a region. `words` are those of `Rendering::to_words`; `places` has start and length of each tile.
    ///
    /// # Errors
    /// If the words are others, a place is outside, or as `edgezoom_regions::render` says.
    pub fn render(&self, words: &[u32], places: &[u32]) -> Result<Vec<u8>, JsError> {
        let (dzi, rendering) =
            Rendering::from_words(words).ok_or_else(|| JsError::new("these words are no rendering"))?;
        let mut tiles = Vec::with_capacity(places.len() / 2);
        for place in places.chunks_exact(2) {
            let &[start, length] = place else { continue };
            let tile = self.0.get(start as usize..).and_then(|rest| rest.get(..length as usize));
            tiles.push(tile.ok_or_else(|| JsError::new("the tiles are shorter than they should be"))?);
        }
        Ok(render(&dzi, &rendering, &tiles)?)
    }
}
