//! Uploaded files, through `upload.js`: it streams them from the request to R2, in one request or in parts.

use edgezoom_content::UploadKey;
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, Result, web_sys};

use crate::admission::policy::AdmissionError;
use crate::platform::r2;
use crate::request::upload::PartedUpload;
use crate::response::{ApiError, UploadError};

#[wasm_bindgen(module = "/src/platform/upload.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = receiveFile)]
    fn receive_file(
        request: &web_sys::Request,
        bucket: &JsValue,
        max_bytes: f64,
    ) -> std::result::Result<Promise, JsValue>;
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
        max_bytes: f64,
    ) -> std::result::Result<Promise, JsValue>;
}

/// A file that is in R2.
pub struct ReceivedFile {
    pub key: UploadKey,
    /// SHA-256 in base64url.
    pub digest: String,
    /// Name in the form; may be empty.
    pub name: String,
}

/// Stores the file of a request, if it has at most `max_bytes` bytes.
pub async fn receive(
    request: &web_sys::Request,
    max_bytes: u64,
    env: &Env,
) -> Result<std::result::Result<ReceivedFile, ApiError>> {
    let received = text(receive_file(request, &bucket(env)?, max_bytes as f64)?).await?;
    if let Some(error) = refusal(&received, max_bytes) {
        return Ok(Err(error));
    }
    let mut lines = received.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let key = line().parse().map_err(|error| Error::RustError(format!("upload.js: {error}")))?;
    Ok(Ok(ReceivedFile { key, digest: line().to_owned(), name: line().to_owned() }))
}

/// Begins an upload in parts.
pub async fn begin(env: &Env) -> Result<PartedUpload> {
    let upload = text(begin_upload(&bucket(env)?)?).await?;
    upload.parse().map_err(|()| Error::RustError(format!("upload.js: {upload}")))
}

/// Stores the body of a request as a part. Returns the part's tag.
pub async fn put(
    request: &web_sys::Request,
    PartedUpload { key, id }: &PartedUpload,
    number: u16,
    env: &Env,
) -> Result<std::result::Result<String, ApiError>> {
    let stored = text(put_part(request, &bucket(env)?, &key.to_string(), id, number)?).await?;
    Ok(refusal(&stored, 0).map_or(Ok(stored), Err))
}

/// Completes an upload with the parts that a request lists, if the file has at most `max_bytes` bytes.
pub async fn finish(
    request: &web_sys::Request,
    PartedUpload { key, id }: &PartedUpload,
    max_bytes: u64,
    env: &Env,
) -> Result<std::result::Result<ReceivedFile, ApiError>> {
    let finished = finish_upload(request, &bucket(env)?, &key.to_string(), id, max_bytes as f64)?;
    let digest = text(finished).await?;
    Ok(match refusal(&digest, max_bytes) {
        Some(error) => Err(error),
        None => Ok(ReceivedFile { key: *key, digest, name: String::new() }),
    })
}

/// Returns the error that the script names after `!`.
fn refusal(text: &str, max_bytes: u64) -> Option<ApiError> {
    let error = match text.strip_prefix('!')? {
        "busy" => return Some(AdmissionError::Overloaded.into()),
        "too-large" => UploadError::TooLarge(max_bytes),
        "no-file" => UploadError::NoFile,
        "malformed-form" => UploadError::MalformedForm,
        "stalled" => UploadError::Stalled,
        "not-begun" => UploadError::NotBegun,
        _ => UploadError::MalformedParts,
    };
    Some(error.into())
}

async fn text(promise: Promise) -> Result<String> {
    Ok(JsFuture::from(promise).await?.as_string().unwrap_or_default())
}

fn bucket(env: &Env) -> Result<JsValue> {
    Ok(Reflect::get(env, &r2::BINDING.into())?)
}
