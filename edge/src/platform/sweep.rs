//! Deletes what attempts have left in R2, through `sweep.js`.

use edgezoom_content::{Attempt, ContentId, UploadKey};
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Result};

use crate::platform::r2::BINDING;

#[wasm_bindgen(module = "/src/platform/sweep.js")]
extern "C" {
    #[wasm_bindgen(catch)]
    fn sweep(
        bucket: &JsValue,
        id: &str,
        before: &str,
        keep: &str,
        upload: &str,
    ) -> std::result::Result<Promise, JsValue>;
}

/// Deletes the objects of attempts: all `before` one, except for the one to `keep`. And the file that a client has sent.
///
/// # Errors
/// The store refuses it, or there is more to delete.
pub async fn delete_attempts(
    id: ContentId,
    before: Attempt,
    keep: Option<Attempt>,
    upload: Option<UploadKey>,
    env: &Env,
) -> Result<()> {
    let bucket = Reflect::get(env, &BINDING.into())?;
    let keep = keep.map(|attempt| attempt.to_string()).unwrap_or_default();
    let upload = upload.map(|key| key.to_string()).unwrap_or_default();
    let swept = sweep(&bucket, &id.to_string(), &before.to_string(), &keep, &upload)?;
    match JsFuture::from(swept).await?.as_bool() {
        Some(true) => Ok(()),
        _ => Err("there are more".into()),
    }
}
