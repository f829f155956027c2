//! The functions of `pictures.js`: it reads tiles and gives them to the second wasm module, which renders. And the day's
//! renderings that this isolate may make.

use std::cell::RefCell;

use worker::js_sys::{Float64Array, Promise, Reflect, Uint32Array};
use worker::wasm_bindgen::JsCast;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Result, web_sys};

use crate::admission::renderings::{ASKING, Block, Renderings, Request, Turn};
use crate::platform::bridge::{AfterReset, call_object, wait_for, wake};
use crate::platform::isolate::now;
use crate::platform::r2::BINDING;
use crate::regions::tile_runs::TileRuns;

#[wasm_bindgen(module = "/src/regions/pictures.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = keptPicture)]
    fn kept_picture(address: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = renderPicture)]
    fn render_picture(
        bucket: &JsValue,
        archive: &str,
        runs: Float64Array,
        places: Uint32Array,
        words: Uint32Array,
        headers: &str,
        address: &str,
    ) -> std::result::Result<Promise, JsValue>;
}

/// What others wait for while a request asks for a block of renderings.
const BLOCK: &str = "renderings";

thread_local! {
    static RENDERINGS: RefCell<Renderings> = RefCell::default();
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
}

/// Returns the response that the platform's cache keeps under an address.
pub async fn kept(address: &str) -> Result<Option<web_sys::Response>> {
    Ok(JsFuture::from(kept_picture(address)?).await?.dyn_into().ok())
}

/// Counts a rendering of a client's party. Returns false if those of the day, or the client's share, are used up.
pub async fn take(party: &str, a_day: u64, env: &Env) -> Result<bool> {
    loop {
        match RENDERINGS.with_borrow_mut(|renderings| renderings.take(party, a_day, now())) {
            Turn::Taken => return Ok(true),
            Turn::UsedUp => return Ok(false),
            Turn::Wait => wait_for(BLOCK, ASKING).await?,
            Turn::Ask(request) => ask(request, env).await?,
        }
    }
}

/// Asks the operator's object for a block.
async fn ask(request: Request, env: &Env) -> Result<()> {
    let message = serde_json::to_string(&request)?;
    let called = ["operator", "countRenderings"];
    let reply = call_object(env, "OPERATOR", called, &message, AfterReset::Fail).await;
    let (block, result) = match reply.and_then(|json| Ok(serde_json::from_str::<Block>(&json)?)) {
        Ok(block) => (Some(block), Ok(())),
        Err(error) => (None, Err(error)),
    };
    RENDERINGS.with_borrow_mut(|renderings| renderings.answer(request, block));
    wake(BLOCK);
    result
}

/// Renders a picture. `None`: the archive does not exist.
pub async fn render(job: &Job<'_>, env: &Env) -> Result<Option<web_sys::Response>> {
    let bucket = Reflect::get(env, &BINDING.into())?;
    let TileRuns { runs, tiles } = &job.tiles;
    let mut starts = vec![];
    let mut end = 0;
    let mut to_read = vec![];
    for (offset, length) in runs {
        to_read.extend([*offset as f64, f64::from(*length), f64::from(end)]);
        starts.push(end);
        end += length;
    }
    let place = |(run, start, length): &(u32, u32, u32)| Some([starts.get(*run as usize)? + start, *length]);
    let places: Vec<u32> = tiles.iter().filter_map(place).flatten().collect();
    // Copies: the memory of this module may move before they are used.
    let runs = Float64Array::from(to_read.as_slice());
    let places = Uint32Array::from(places.as_slice());
    let words = Uint32Array::from(job.words);
    let Job { archive, headers, address, .. } = job;
    let made = render_picture(&bucket, archive, runs, places, words, headers, address)?;
    Ok(JsFuture::from(made).await?.dyn_into().ok())
}
