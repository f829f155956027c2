//! Receives files through `upload.js`, which streams them from the request to R2.

use edgezoom_content::UploadKey;
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, Result, web_sys};

use crate::platform::r2;
use crate::response::{ApiError, UploadError};

#[wasm_bindgen(module = "/src/platform/upload.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = receiveFile)]
    fn receive_file(
        request: &web_sys::Request,
        bucket: &JsValue,
        most: f64,
    ) -> std::result::Result<Promise, JsValue>;
}

/// A file that is in R2.
pub struct ReceivedFile {
    /// Where.
    pub key: UploadKey,
    /// Its SHA-256 in base64url.
    pub digest: String,
    /// Its name, if the form has one.
    pub name: String,
}

/// Stores the file that a request sends, if it has no more than so many bytes.
pub async fn receive(
    request: &web_sys::Request,
    most_bytes: u64,
    env: &Env,
) -> Result<std::result::Result<ReceivedFile, ApiError>> {
    let bucket = Reflect::get(env, &r2::BINDING.into())?;
    let received = JsFuture::from(receive_file(request, &bucket, most_bytes as f64)?).await?;
    let received = received.as_string().unwrap_or_default();
    let refused = match received.as_str() {
        "!busy" => Some(ApiError::Overloaded),
        "!too-large" => Some(UploadError::TooLarge(most_bytes).into()),
        "!no-file" => Some(UploadError::NoFile.into()),
        "!malformed-form" => Some(UploadError::MalformedForm.into()),
        "!stalled" => Some(UploadError::Stalled.into()),
        _ => None,
    };
    if let Some(error) = refused {
        return Ok(Err(error));
    }
    let mut lines = received.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let key = line().parse().map_err(|error| Error::RustError(format!("upload.js: {error}")))?;
    Ok(Ok(ReceivedFile { key, digest: line().to_owned(), name: line().to_owned() }))
}

/// Deletes a file that no content has.
pub async fn delete(key: UploadKey, env: &Env) -> Result<()> {
    env.bucket(r2::BINDING)?.delete(key.to_string()).await
}
