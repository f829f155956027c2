//! The functions of `pictures.js`: it reads tiles and gives them to the second wasm module, which renders.

use worker::js_sys::{Float64Array, Promise, Reflect, Uint32Array};
use worker::wasm_bindgen::JsCast;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Result, web_sys};

use crate::platform::r2::BINDING;
use crate::regions::tile_runs::TileRuns;

#[wasm_bindgen(module = "/src/regions/pictures.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = keptPicture)]
    fn kept_picture(address: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = takeOfTheDay)]
    fn take_of_the_day(env: &JsValue, party: &str, a_day: f64) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = renderPicture)]
    fn render_picture(
        bucket: &JsValue,
        archive: &str,
        runs: Float64Array,
        tiles: Uint32Array,
        words: Uint32Array,
        headers: &str,
        address: &str,
        purpose: &str,
    ) -> std::result::Result<Promise, JsValue>;
    /// Counts the outcome of a request for a picture.
    #[wasm_bindgen(js_name = noteRegion)]
    pub fn note(purpose: &str, result: &str);
}

/// A picture to render.
pub struct Job<'a> {
    /// The rendering and its pyramid as numbers.
    pub words: &'a [u32],
    /// Key of the archive.
    pub archive: &'a str,
    /// Places of the tiles in it, row by row.
    pub tiles: TileRuns,
    /// Headers of the response as lines.
    pub headers: &'a str,
    /// The picture's address, under which the platform's cache keeps it.
    pub address: &'a str,
    /// The purpose, as it is measured.
    pub purpose: &'a str,
}

/// Returns the response that the platform's cache keeps under an address.
pub async fn kept(address: &str) -> Result<Option<web_sys::Response>> {
    Ok(JsFuture::from(kept_picture(address)?).await?.dyn_into().ok())
}

/// Counts a rendering of a client's party. Returns false if those of the day, or the client's share, are used up.
pub async fn take(party: &str, a_day: u64, env: &Env) -> Result<bool> {
    Ok(JsFuture::from(take_of_the_day(env, party, a_day as f64)?).await?.is_truthy())
}

/// Renders a picture. `None`: the archive does not exist.
pub async fn render(job: &Job<'_>, env: &Env) -> Result<Option<web_sys::Response>> {
    let bucket = Reflect::get(env, &BINDING.into())?;
    let TileRuns { runs, tiles } = &job.tiles;
    let runs: Vec<f64> =
        runs.iter().flat_map(|(offset, length)| [*offset as f64, f64::from(*length)]).collect();
    let tiles: Vec<u32> = tiles.iter().flat_map(|(run, start, length)| [*run, *start, *length]).collect();
    // Copies: the memory of this module may move before they are used.
    let runs = Float64Array::from(runs.as_slice());
    let tiles = Uint32Array::from(tiles.as_slice());
    let words = Uint32Array::from(job.words);
    let Job { archive, headers, address, purpose, .. } = job;
    let made = render_picture(&bucket, archive, runs, tiles, words, headers, address, purpose)?;
    Ok(JsFuture::from(made).await?.dyn_into().ok())
}
