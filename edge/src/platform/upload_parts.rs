//! Files in parts, through `upload_parts.js`.

use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, Result, web_sys};

use crate::platform::r2;
use crate::platform::upload::ReceivedFile;
use crate::request::upload_parts::PartedFile;
use crate::response::UploadError;

#[wasm_bindgen(module = "/src/platform/upload_parts.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = beginUpload)]
    fn begin_upload(bucket: &JsValue) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = putPart)]
    fn put_part(
        request: &web_sys::Request,
        bucket: &JsValue,
        key: &str,
        id: &str,
        number: u16,
    ) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = finishUpload)]
    fn finish_upload(
        request: &web_sys::Request,
        bucket: &JsValue,
        key: &str,
        id: &str,
        most: f64,
    ) -> std::result::Result<Promise, JsValue>;
}

/// Begins a file.
pub async fn begin(env: &Env) -> Result<PartedFile> {
    let file = text(begin_upload(&bucket(env)?)?).await?;
    file.parse().map_err(|()| Error::RustError(format!("upload_parts.js: {file}")))
}

/// Stores the body of a request as a part of a file, and gives its tag.
pub async fn put(
    request: &web_sys::Request,
    PartedFile { key, id }: &PartedFile,
    number: u16,
    env: &Env,
) -> Result<std::result::Result<String, UploadError>> {
    let stored = text(put_part(request, &bucket(env)?, &key.to_string(), id, number)?).await?;
    Ok(refusal(&stored, 0).map_or(Ok(stored), Err))
}

/// Completes a file of the parts that a request lists, if it has no more than so many bytes.
pub async fn finish(
    request: &web_sys::Request,
    PartedFile { key, id }: &PartedFile,
    most_bytes: u64,
    env: &Env,
) -> Result<std::result::Result<ReceivedFile, UploadError>> {
    let finished = finish_upload(request, &bucket(env)?, &key.to_string(), id, most_bytes as f64)?;
    let digest = text(finished).await?;
    Ok(match refusal(&digest, most_bytes) {
        Some(error) => Err(error),
        None => Ok(ReceivedFile { key: *key, digest, name: String::new() }),
    })
}

/// The error that the script names.
fn refusal(text: &str, most_bytes: u64) -> Option<UploadError> {
    Some(match text.strip_prefix('!')? {
        "not-begun" => UploadError::NotBegun,
        "no-file" => UploadError::NoFile,
        "too-large" => UploadError::TooLarge(most_bytes),
        _ => UploadError::MalformedParts,
    })
}

async fn text(promise: Promise) -> Result<String> {
    Ok(JsFuture::from(promise).await?.as_string().unwrap_or_default())
}

fn bucket(env: &Env) -> Result<JsValue> {
    Ok(Reflect::get(env, &r2::BINDING.into())?)
}
