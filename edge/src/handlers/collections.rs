//! Responses about a collection. Its object decides; this is what comes before and after.

use std::ops::RangeInclusive;

use edgezoom_content::{CollectionName, DeletionKey};
use http::StatusCode;
use worker::{Env, Request, console_error};

use crate::config::bearer;
use crate::durable::collection::call;
use crate::lookup::repository::{Repository, RepositoryError};
use crate::request::route::{CollectionCall, EntryList};
use crate::request::upload::UploadHeaders;
use crate::response::{ApiError, CachePolicy, CollectionError, Response, UploadError};
use crate::uploads::files::new_deletion_key;

/// Maximum number of lines in a request, and of their bytes.
const MAX_LINES: usize = 10_000;
const MAX_LINES_BYTES: u64 = 8 << 20;
/// Maximum number of bytes of settings.
const MAX_SETTINGS_BYTES: u64 = 16 << 10;
/// Lengths of the keys that owners choose: the shortest has 128 bits in hexadecimal digits.
const KEY_LENGTHS: RangeInclusive<usize> = 32..=200;

/// A request about a collection.
pub struct Sender<'a> {
    pub request: Request,
    pub headers: UploadHeaders,
    /// Returns true if the client may begin a collection.
    pub may_begin: &'a dyn Fn() -> bool,
}

/// Returns the response to a request about a collection.
pub async fn handle(
    name: &CollectionName,
    asked: &CollectionCall,
    sender: Sender<'_>,
    repository: &Repository<'_>,
    env: &Env,
) -> Response {
    let answered = async {
        repository.admit_guess().map_err(RepositoryError::api_error)?;
        match asked {
            CollectionCall::Get => {
                let body = Collection { name, env }.call("read", "").await?;
                if body.is_empty() { Err(CollectionError::Unknown.into()) } else { Ok(json(body)) }
            }
            CollectionCall::Put => Collection { name, env }.put(sender).await,
            CollectionCall::Delete => {
                let key = sender.key()?.ok_or(CollectionError::NoKey)?;
                Collection { name, env }.call("remove", &key.hash().to_string()).await?;
                Ok(Response::empty(StatusCode::ACCEPTED))
            }
            CollectionCall::Post => Collection { name, env }.post(sender).await,
            CollectionCall::List(list) => {
                let list = list.as_ref().map_err(CollectionError::clone)?;
                let key = sender.key()?.map(|key| key.hash().to_string()).unwrap_or_default();
                let lines = Collection { name, env }.call("list", &message(list, &key)).await?;
                Ok(Response::new(StatusCode::OK, "application/x-ndjson", CachePolicy::NoStore, lines))
            }
        }
    };
    answered.await.unwrap_or_else(|error| {
        if let ApiError::Collection(CollectionError::WrongKey | CollectionError::Unknown) = error {
            repository.note_guess();
        }
        error.response()
    })
}

/// Returns the message that lists entries for the holder of a key.
fn message(EntryList { added, after, state, limit }: &EntryList, key: &str) -> String {
    let order = if *added { "added" } else { "" };
    format!(r#"{{"key":"{key}","order":"{order}","after":{after},"state":"{state}","limit":{limit}}}"#)
}

fn json(body: String) -> Response {
    Response::new(StatusCode::OK, "application/json; charset=utf-8", CachePolicy::NoStore, body)
}

impl Sender<'_> {
    /// Returns the key in the `Authorization` header (RFC 6750).
    fn key(&self) -> Result<Option<DeletionKey>, ApiError> {
        let authorization = self.request.headers().get("Authorization").map_err(|_| ApiError::Unavailable)?;
        Ok(bearer(authorization.as_deref()).map(DeletionKey::new))
    }

    /// Returns the body, if it has at most this number of bytes.
    async fn body(mut self, max_bytes: u64) -> Result<String, ApiError> {
        // The runtime makes sure that no more arrives.
        let bytes = self.headers.length().ok_or(UploadError::NoLength)?;
        if bytes > max_bytes {
            return Err(CollectionError::TooMuch.into());
        }
        self.request.text().await.map_err(|_| ApiError::Unavailable)
    }
}

/// A collection by its name.
struct Collection<'a> {
    name: &'a CollectionName,
    env: &'a Env,
}

impl Collection<'_> {
    async fn call(&self, method: &str, message: &str) -> Result<String, ApiError> {
        match call(self.name, method, message, self.env).await {
            Ok(answer) => Ok(answer?),
            Err(error) => {
                console_error!("the collection {}: {error}", self.name);
                Err(ApiError::Unavailable)
            }
        }
    }

    /// Begins the collection or changes its settings.
    async fn put(&self, sender: Sender<'_>) -> Result<Response, ApiError> {
        let (sent, may_begin) = (sender.key()?, (sender.may_begin)());
        if may_begin && sent.as_ref().is_some_and(|key| !KEY_LENGTHS.contains(&key.reveal().len())) {
            return Err(CollectionError::KeyLength.into());
        }
        let has_key = sent.is_some();
        let key = sent.unwrap_or_else(new_deletion_key);
        let secret = new_deletion_key().reveal().to_owned();
        let body = sender.body(MAX_SETTINGS_BYTES).await?;
        // As `putCollection` in `edge/collections/` reads it.
        let flags = format!("{} {}", u8::from(may_begin), u8::from(has_key));
        let request = format!("{} {flags} {} {secret}\n{body}", self.name, key.hash());
        let answer = self.call("put", &request).await?;
        if !answer.is_empty() {
            return Ok(json(answer));
        }
        let key = if has_key { String::new() } else { format!(r#","key":"{}""#, key.reveal()) };
        let begun = json(format!(r#"{{"name":"{}"{key}}}"#, self.name));
        Ok(Response { status: StatusCode::CREATED, ..begun })
    }

    /// Takes lines.
    async fn post(&self, sender: Sender<'_>) -> Result<Response, ApiError> {
        let key = sender.key()?.ok_or(CollectionError::NoKey)?;
        let lines = sender.body(MAX_LINES_BYTES).await?;
        if lines.trim().is_empty() {
            return Err(CollectionError::NoLines.into());
        }
        if lines.lines().nth(MAX_LINES).is_some() {
            return Err(CollectionError::TooMuch.into());
        }
        let answer = self.call("post", &format!("{}\n{lines}", key.hash())).await?;
        Ok(Response { status: StatusCode::ACCEPTED, ..json(answer) })
    }
}
