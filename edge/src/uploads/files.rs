//! Uploaded files, through `files.js`: it streams them from the request to R2, in one request or in parts.

use edgezoom_content::{DeletionKey, UploadKey};
use worker::js_sys::Promise;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, Result, web_sys};

use crate::admission::client::Client;
use crate::admission::policy::AdmissionError;
use crate::response::{ApiError, UploadError};
use crate::uploads::request::{PART_BYTES, PartedUpload};

#[wasm_bindgen(module = "/src/uploads/files.js")]
extern "C" {
    #[wasm_bindgen(js_name = randomKey)]
    fn random_key() -> String;
    #[wasm_bindgen(catch, js_name = receiveFile)]
    fn receive_file(
        request: &web_sys::Request,
        env: &Env,
        party: &str,
        length: f64,
        expected: &str,
        max_bytes: f64,
    ) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = beginUpload)]
    fn begin_upload(
        env: &Env,
        party: &str,
        owner: &str,
        expected: &str,
    ) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = putPart)]
    #[expect(clippy::too_many_arguments, reason = "a struct would have to be made in JavaScript")]
    fn put_part(
        request: &web_sys::Request,
        env: &Env,
        object: &str,
        token: &str,
        number: u16,
        bytes: f64,
        part_bytes: f64,
        max_bytes: f64,
    ) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = ownerOf)]
    fn owner_of(env: &Env, object: &str, token: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = finishUpload)]
    fn finish_upload(
        request: &web_sys::Request,
        env: &Env,
        object: &str,
        token: &str,
        max_bytes: f64,
    ) -> std::result::Result<Promise, JsValue>;
}

/// A file that is in R2.
pub struct ReceivedFile {
    /// Key.
    pub key: UploadKey,
    /// SHA-256 in base64url.
    pub digest: String,
    /// Name in the form; may be empty.
    pub name: String,
}

/// Returns a new deletion key, a random number of 256 bits.
pub fn new_deletion_key() -> DeletionKey {
    DeletionKey::new(random_key())
}

/// Stores the file of a request, if it has at most `max_bytes` bytes and the digest that the request names. `length` is that of
/// the request's body, if it is known.
pub async fn receive(
    request: &web_sys::Request,
    client: Option<&Client>,
    length: Option<u64>,
    digest: Option<&str>,
    max_bytes: u64,
    env: &Env,
) -> Result<std::result::Result<ReceivedFile, ApiError>> {
    let party = client.map(Client::party).unwrap_or_default();
    let length = length.map_or(-1.0, |length| length as f64);
    let received = receive_file(request, env, &party, length, digest.unwrap_or_default(), max_bytes as f64)?;
    file(&text(received).await?, max_bytes)
}

/// Begins an upload in parts.
pub async fn begin(
    client: Option<&Client>,
    digest: Option<&str>,
    env: &Env,
) -> Result<std::result::Result<PartedUpload, ApiError>> {
    let party = client.map(Client::party).unwrap_or_default();
    let owner = client.map(Client::key).unwrap_or_default();
    let upload = text(begin_upload(env, &party, owner, digest.unwrap_or_default())?).await?;
    if let Some(error) = refusal(&upload, 0) {
        return Ok(Err(error));
    }
    upload.parse().map(Ok).map_err(|()| Error::RustError(format!("files.js: {upload}")))
}

/// Stores the body of a request, of `bytes` bytes, as a part. Returns the part's tag.
pub async fn put(
    request: &web_sys::Request,
    PartedUpload { object, token }: &PartedUpload,
    (number, bytes): (u16, u64),
    max_bytes: u64,
    env: &Env,
) -> Result<std::result::Result<String, ApiError>> {
    let stored =
        put_part(request, env, object, token, number, bytes as f64, PART_BYTES as f64, max_bytes as f64)?;
    let stored = text(stored).await?;
    Ok(refusal(&stored, max_bytes).map_or(Ok(stored), Err))
}

/// Returns the client that began an upload; `None` is the operator.
pub async fn owner(
    PartedUpload { object, token }: &PartedUpload,
    env: &Env,
) -> Result<std::result::Result<Option<Client>, ApiError>> {
    let owner = text(owner_of(env, object, token)?).await?;
    let client = Some(owner.as_str()).filter(|key| !key.is_empty()).map(Client::of_key);
    Ok(refusal(&owner, 0).map_or(Ok(client), Err))
}

/// Completes an upload with the parts that a request lists, if the file has at most `max_bytes` bytes.
pub async fn finish(
    request: &web_sys::Request,
    PartedUpload { object, token }: &PartedUpload,
    max_bytes: u64,
    env: &Env,
) -> Result<std::result::Result<ReceivedFile, ApiError>> {
    file(&text(finish_upload(request, env, object, token, max_bytes as f64)?).await?, max_bytes)
}

/// Returns the file in lines of the script: its key, its digest and, if it has one, its name.
fn file(received: &str, max_bytes: u64) -> Result<std::result::Result<ReceivedFile, ApiError>> {
    if let Some(error) = refusal(received, max_bytes) {
        return Ok(Err(error));
    }
    let mut lines = received.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let key = line().parse().map_err(|error| Error::RustError(format!("files.js: {error}")))?;
    Ok(Ok(ReceivedFile { key, digest: line().to_owned(), name: line().to_owned() }))
}

/// Returns the error that the script names after `!`.
fn refusal(text: &str, max_bytes: u64) -> Option<ApiError> {
    let error = match text.strip_prefix('!')? {
        "busy" => return Some(AdmissionError::Overloaded.into()),
        "too-many-open" | "too-much-open" => return Some(ApiError::TooManyOpen),
        "too-much-today" => return Some(ApiError::TooMuchSent),
        "too-large" => UploadError::TooLarge(max_bytes),
        "no-file" => UploadError::NoFile,
        "empty-file" => UploadError::EmptyFile,
        "malformed-form" => UploadError::MalformedForm,
        "stalled" => UploadError::Stalled,
        "not-begun" => UploadError::NotBegun,
        "too-many-parts" => UploadError::TooManyParts,
        "other-file" => UploadError::OtherFile,
        _ => UploadError::MalformedParts,
    };
    Some(error.into())
}

async fn text(promise: Promise) -> Result<String> {
    Ok(JsFuture::from(promise).await?.as_string().unwrap_or_default())
}
