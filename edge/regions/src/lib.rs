//! The Worker's second module, which `edge/src/regions/render.js` loads when a region is first asked for:
//! `edgezoom-regions` for JavaScript. It is a module of its own so that all other requests neither load nor compile it,
//! and so that it can use vectors.

use edgezoom_regions::{Rendering, render};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Renders a region. `words` are those of `Rendering::to_words`; `tiles` has the tiles one after the other, and
/// `lengths` their lengths in bytes.
///
/// # Errors
/// If the words are others, or as `edgezoom_regions::render` says.
#[wasm_bindgen(js_name = render)]
pub fn render_region(words: &[u32], tiles: &[u8], lengths: &[u32]) -> Result<Vec<u8>, JsError> {
    let (dzi, rendering) =
        Rendering::from_words(words).ok_or_else(|| JsError::new("these words are no rendering"))?;
    let mut rest = tiles;
    let mut parts = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let (part, others) = rest
            .split_at_checked(length as usize)
            .ok_or_else(|| JsError::new("the tiles are shorter than they should be"))?;
        parts.push(part);
        rest = others;
    }
    Ok(render(&dzi, &rendering, &parts)?)
}
