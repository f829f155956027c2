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
use crate::response::{ApiError, CachePolicy, CollectionError, Response, UploadError};
use crate::uploads::files::{self, new_deletion_key};

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
    sender: Sender<'_>,
    repository: &Repository<'_>,
    env: &Env,
) -> Response {
    let answered = async {
        repository.admit_guess().map_err(RepositoryError::api_error)?;
        if let (CollectionCall::File(query), Some(uploads)) = (asked, sender.uploads) {
            let query = query.as_ref().map_err(ApiError::clone)?;
            return respond(name, asked, sender.file(name, query, uploads, env).await?, None);
        }
        let (method, message, made) = sender.message(name, asked).await?;
        respond(name, asked, ask(name, method, &message, env).await?, made)
    };
    answered.await.unwrap_or_else(|error: ApiError| {
        if let ApiError::Collection(CollectionError::WrongKey | CollectionError::Unknown) = error {
            repository.note_guess();
        }
        error.response()
    })
}

/// Calls a method of the collection's object.
async fn ask(name: &CollectionName, method: &str, message: &str, env: &Env) -> Result<String, ApiError> {
    let answer = call(name, method, message, env).await.map_err(|error| {
        console_error!("the collection {name}: {error}");
        ApiError::Unavailable
    })?;
    Ok(answer?)
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
        self,
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
            CollectionCall::Post | CollectionCall::File(_) => {
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

    /// Stores a file for its entry, if the collection wants it. Returns the answer to the file's line.
    async fn file(
        self,
        name: &CollectionName,
        query: &UploadQuery,
        uploads: &Uploads,
        env: &Env,
    ) -> Result<String, ApiError> {
        let hash = self.key()?.ok_or(CollectionError::NoKey)?.hash();
        self.headers.check(uploads, self.addresses)?;
        let digest = query.digest.as_deref().unwrap_or_default();
        let file_name = query.name.as_deref().unwrap_or_default();
        let url = SourceUrl::of_file(digest, file_name).ok_or(UploadError::MalformedDigest)?;
        // As `SentLines` in `edge/collections/` reads it. First without the file: nobody else may fill the store.
        let mut head = format!("{hash} ?");
        loop {
            let answer = ask(name, "post", &format!("{head}\n{}", url.as_str()), env).await?;
            if !answer.is_empty() {
                return Ok(answer);
            }
            // Files of a collection count as those of one client.
            let client = Some(&Client::of_collection(name));
            let (request, length) = (self.request.inner(), self.headers.length());
            let received =
                files::receive(request, client, length, Some(digest), uploads.max_bytes, env).await?;
            head = format!("{hash} {}", received.key);
        }
    }

    /// Returns the message that begins a collection or changes its settings.
    async fn put(
        self,
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
    async fn body(mut self, max_bytes: u64) -> Result<String, ApiError> {
        // The runtime makes sure that no more arrives.
        let bytes = self.headers.length().ok_or(UploadError::NoLength)?;
        if bytes > max_bytes {
            return Err(CollectionError::TooMuch.into());
        }
        self.request.text().await.map_err(|_| ApiError::Unavailable)
    }
}
