//! Responses about a collection. Its object decides; this is what comes before and after.

use std::ops::RangeInclusive;

use edgezoom_content::{CollectionName, DeletionKey, SourceUrl};
use http::StatusCode;
use worker::{Env, Request, console_error};

use crate::admission::client::Client;
use crate::config::{Addresses, Uploads, bearer};
use crate::durable::collection::call;
use crate::lookup::repository::{Repository, RepositoryError};
use crate::request::route::CollectionCall;
use crate::request::upload::{UploadHeaders, UploadQuery};
use crate::request::url::parameter;
use crate::response::{ApiError, CachePolicy, CollectionError, Response, UploadError};
use crate::uploads::files::{self, ReceivedFile, new_deletion_key};

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
    pub uploads: Option<&'a Uploads>,
    pub addresses: &'a Addresses,
    /// Returns true if the client may begin a collection.
    pub may_begin: &'a dyn Fn() -> bool,
}

/// Returns the response to a request about a collection.
pub async fn handle(
    name: &CollectionName,
    asked: &CollectionCall,
    mut sender: Sender<'_>,
    repository: &Repository<'_>,
    env: &Env,
) -> Response {
    let answered = async {
        repository.admit_guess().map_err(RepositoryError::api_error)?;
        let (method, mut message, made) = sender.message(name, asked).await?;
        loop {
            let answer = call(name, method, &message, env).await.map_err(|error| {
                console_error!("the collection {name}: {error}");
                ApiError::Unavailable
            })??;
            let CollectionCall::File(query) = asked else { return respond(name, asked, answer, made) };
            if !answer.is_empty() {
                return respond(name, asked, answer, made);
            }
            let received = sender.receive(name, query, env).await?;
            message = message.replacen('?', &received.key.to_string(), 1);
        }
    };
    answered.await.unwrap_or_else(|error: ApiError| {
        if let ApiError::Collection(CollectionError::WrongKey | CollectionError::Unknown) = error {
            repository.note_guess();
        }
        error.response()
    })
}

/// Returns the response with the answer of the collection's object. `made` is the key that the service has made.
fn respond(
    name: &CollectionName,
    asked: &CollectionCall,
    answer: String,
    made: Option<DeletionKey>,
) -> Result<Response, ApiError> {
    let json = "application/json; charset=utf-8";
    let (status, media_type, body) = match asked {
        CollectionCall::Get if answer.is_empty() => return Err(CollectionError::Unknown.into()),
        CollectionCall::Delete => return Ok(Response::empty(StatusCode::ACCEPTED)),
        CollectionCall::Put if answer.is_empty() => {
            let key = made.map(|key| format!(r#","key":"{}""#, key.reveal())).unwrap_or_default();
            (StatusCode::CREATED, json, format!(r#"{{"name":"{name}"{key}}}"#))
        }
        CollectionCall::Post | CollectionCall::File(_) => (StatusCode::ACCEPTED, json, answer),
        CollectionCall::List(_) => (StatusCode::OK, "application/x-ndjson", answer),
        CollectionCall::Get | CollectionCall::Put => (StatusCode::OK, json, answer),
    };
    Ok(Response::new(status, media_type, CachePolicy::NoStore, body))
}

impl Sender<'_> {
    /// Returns the key in the `Authorization` header (RFC 6750).
    fn key(&self) -> Result<Option<DeletionKey>, ApiError> {
        let authorization = self.request.headers().get("Authorization").map_err(|_| ApiError::Unavailable)?;
        Ok(bearer(authorization.as_deref()).map(DeletionKey::new))
    }

    /// Returns the method of the collection's object to call, the message, and the key that the service has made for it.
    async fn message(
        &mut self,
        name: &CollectionName,
        asked: &CollectionCall,
    ) -> Result<(&'static str, String, Option<DeletionKey>), ApiError> {
        let key = self.key()?;
        let hash = key.as_ref().map(|key| key.hash().to_string()).unwrap_or_default();
        let (method, message) = match asked {
            CollectionCall::Get => ("read", hash),
            CollectionCall::List(query) => ("list", format!("{hash}\n{query}")),
            CollectionCall::Put => return self.put(name, key).await,
            _ if hash.is_empty() => return Err(CollectionError::NoKey.into()),
            CollectionCall::Delete => ("remove", hash),
            CollectionCall::File(query) => {
                if let Some(uploads) = self.uploads {
                    self.headers.check(uploads, self.addresses)?;
                }
                let UploadQuery { name, digest, no_vectors } = UploadQuery::parse(query)?;
                let url = SourceUrl::of_file(&digest.unwrap_or_default(), &name.unwrap_or_default());
                let url = url.ok_or(UploadError::MalformedDigest)?;
                let url = if no_vectors { url.without_vectors() } else { url };
                // As `SentLines` in `edge/collections/` reads it. First without the file: nobody else may fill the store.
                ("post", format!("{hash} ?\n{}", url.as_str()))
            }
            CollectionCall::Post => {
                let lines = self.body(MAX_LINES_BYTES).await?;
                if lines.trim().is_empty() {
                    return Err(CollectionError::NoLines.into());
                }
                if lines.lines().nth(MAX_LINES).is_some() {
                    return Err(CollectionError::TooMuch.into());
                }
                ("post", format!("{hash}\n{lines}"))
            }
        };
        Ok((method, message, None))
    }

    /// Stores the file that the collection asks for. Its files count as those of one client.
    async fn receive(&self, name: &CollectionName, query: &str, env: &Env) -> Result<ReceivedFile, ApiError> {
        let (client, digest) = (Client::of_collection(name), parameter(query, "digest"));
        let (request, length) = (self.request.inner(), self.headers.length());
        let max_bytes = self.uploads.map(|uploads| uploads.max_bytes).unwrap_or_default();
        files::receive(request, Some(&client), length, digest.as_deref(), max_bytes, env).await
    }

    /// Returns the message that begins a collection or changes its settings.
    async fn put(
        &mut self,
        name: &CollectionName,
        sent: Option<DeletionKey>,
    ) -> Result<(&'static str, String, Option<DeletionKey>), ApiError> {
        let may_begin = (self.may_begin)();
        if may_begin && sent.as_ref().is_some_and(|key| !KEY_LENGTHS.contains(&key.reveal().len())) {
            return Err(CollectionError::KeyLength.into());
        }
        let made = sent.is_none().then(new_deletion_key);
        let hash = sent.as_ref().or(made.as_ref()).map(|key| key.hash().to_string()).unwrap_or_default();
        let (secret, body) = (new_deletion_key(), self.body(MAX_SETTINGS_BYTES).await?);
        // As `putCollection` in `edge/collections/` reads it.
        let flags = format!("{} {}", u8::from(may_begin), u8::from(made.is_none()));
        Ok(("put", format!("{name} {flags} {hash} {}\n{body}", secret.reveal()), made))
    }

    /// Returns the body, if it has at most this number of bytes.
    async fn body(&mut self, max_bytes: u64) -> Result<String, ApiError> {
        // The runtime makes sure that no more arrives.
        let bytes = self.headers.length().ok_or(UploadError::NoLength)?;
        if bytes > max_bytes {
            return Err(CollectionError::TooMuch.into());
        }
        self.request.text().await.map_err(|_| ApiError::Unavailable)
    }
}
