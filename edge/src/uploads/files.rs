//! Uploaded files, through `files.js`: it streams them from the request to R2, in one request or in parts.

use edgezoom_content::{DeletionKey, UploadKey};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use worker::js_sys::Promise;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, console_error, web_sys};

use crate::admission::client::Client;
use crate::admission::policy::AdmissionError;
use crate::request::upload::{PART_BYTES, PartedUpload};
use crate::response::{ApiError, UploadError};

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
    ) -> Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = beginUpload)]
    fn begin_upload(env: &Env, party: &str, owner: &str, expected: &str) -> Result<Promise, JsValue>;
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
    ) -> Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = countDeletion)]
    fn count_deletion_of(env: &Env, party: &str) -> Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = ownerOf)]
    fn owner_of(env: &Env, object: &str, token: &str) -> Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = finishUpload)]
    fn finish_upload(
        request: &web_sys::Request,
        env: &Env,
        object: &str,
        token: &str,
        max_bytes: f64,
    ) -> Result<Promise, JsValue>;
}

/// A file that is in R2.
#[derive(Deserialize)]
pub struct ReceivedFile {
    /// Key.
    pub key: UploadKey,
    /// SHA-256 in base64url.
    pub digest: String,
    /// Name in the form; may be empty.
    #[serde(default)]
    pub name: String,
}

/// Returns a new deletion key, a random number of 256 bits.
pub fn new_deletion_key() -> DeletionKey {
    DeletionKey::new(random_key())
}

/// Stores the file of a request, if it has at most `max_bytes` bytes and the digest that the request names. `length` is
/// that of the request's body, if it is known.
pub async fn receive(
    request: &web_sys::Request,
    client: Option<&Client>,
    length: Option<u64>,
    digest: Option<&str>,
    max_bytes: u64,
    env: &Env,
) -> Result<ReceivedFile, ApiError> {
    let party = Client::party_of(client);
    let length = length.map_or(-1.0, |length| length as f64);
    let received = receive_file(request, env, &party, length, digest.unwrap_or_default(), max_bytes as f64);
    result(received, max_bytes).await
}

/// Begins an upload in parts.
pub async fn begin(
    client: Option<&Client>,
    digest: Option<&str>,
    env: &Env,
) -> Result<PartedUpload, ApiError> {
    let party = Client::party_of(client);
    let owner = client.map(Client::key).unwrap_or_default();
    result(begin_upload(env, &party, owner, digest.unwrap_or_default()), 0).await
}

/// Stores the body of a request, of `bytes` bytes, as a part. Returns the part's tag.
pub async fn put(
    request: &web_sys::Request,
    PartedUpload { object, token }: &PartedUpload,
    (number, bytes): (u16, u64),
    max_bytes: u64,
    env: &Env,
) -> Result<String, ApiError> {
    let stored =
        put_part(request, env, object, token, number, bytes as f64, PART_BYTES as f64, max_bytes as f64);
    result(stored, max_bytes).await
}

/// Counts a deletion by a client.
///
/// # Errors
/// Those of the day are used up.
pub async fn count_deletion(client: Option<&Client>, env: &Env) -> Result<(), ApiError> {
    let party = Client::party_of(client);
    result::<String>(count_deletion_of(env, &party), 0).await.map(drop)
}

/// Returns the client that began an upload; `None` is the operator.
pub async fn owner(
    PartedUpload { object, token }: &PartedUpload,
    env: &Env,
) -> Result<Option<Client>, ApiError> {
    let key: String = result(owner_of(env, object, token), 0).await?;
    Ok((!key.is_empty()).then(|| Client::of_key(&key)))
}

/// Completes an upload with the parts that a request lists, if the file has at most `max_bytes` bytes.
pub async fn finish(
    request: &web_sys::Request,
    PartedUpload { object, token }: &PartedUpload,
    max_bytes: u64,
    env: &Env,
) -> Result<ReceivedFile, ApiError> {
    result(finish_upload(request, env, object, token, max_bytes as f64), max_bytes).await
}

/// Returns the result of a function of `files.js`. A fault of the platform is logged.
async fn result<T: DeserializeOwned>(
    promise: Result<Promise, JsValue>,
    max_bytes: u64,
) -> Result<T, ApiError> {
    let json = text_of(promise).await;
    match json.and_then(|json| Ok(serde_json::from_str::<Result<T, String>>(&json)?)) {
        Ok(result) => result.map_err(|name| error(&name, max_bytes)),
        Err(fault) => {
            console_error!("{fault}");
            Err(ApiError::Unavailable)
        }
    }
}

async fn text_of(promise: Result<Promise, JsValue>) -> Result<String, Error> {
    Ok(JsFuture::from(promise?).await?.as_string().unwrap_or_default())
}

/// Returns the error with a name.
fn error(name: &str, max_bytes: u64) -> ApiError {
    match name {
        "busy" => AdmissionError::Overloaded.into(),
        "too-many-open" | "too-much-open" => ApiError::TooManyOpen,
        "too-much-today" => ApiError::TooMuchSent,
        "too-many-deleted" => ApiError::TooManyDeleted,
        "too-large" => UploadError::TooLarge(max_bytes).into(),
        "no-file" => UploadError::NoFile.into(),
        "empty-file" => UploadError::EmptyFile.into(),
        "malformed-form" => UploadError::MalformedForm.into(),
        "stalled" => UploadError::Stalled.into(),
        "not-begun" => UploadError::NotBegun.into(),
        "too-many-parts" => UploadError::TooManyParts.into(),
        "other-file" => UploadError::OtherFile.into(),
        _ => UploadError::MalformedParts.into(),
    }
}
