//! `POST /v1/content/` and `/v1/uploads/…`: a client uploads a file instead of naming a source, at once or in parts.
//! Parts are for files that are too large for one request, and for connections that may break.

use edgezoom_content::SourceUrl;
use http::StatusCode;
use worker::{Env, Result, console_error, web_sys};

use super::RoutedRequest;
use crate::admission::admit_client;
use crate::admission::client::Client;
use crate::config::{Addresses, Uploads};
use crate::content::repository::Repository;
use crate::content::response::ContentResponse;
use crate::platform::isolate::now;
use crate::platform::r2;
use crate::platform::upload::{self, ReceivedFile};
use crate::request::upload::{PART_BYTES, UPLOADS, UploadHeaders, UploadStep};
use crate::response::element::Element::{Count, Object, Text};
use crate::response::{ApiError, CachePolicy, Response, UploadError};

/// Maximum size of the list of parts in bytes: 10,000 tags of 32 characters.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// An upload of one request.
pub struct Upload<'a> {
    pub routed: &'a RoutedRequest,
    pub uploads: &'a Uploads,
    pub client: Option<Client>,
    pub request: &'a web_sys::Request,
    pub repository: &'a Repository<'a>,
    pub env: &'a Env,
}

impl Upload<'_> {
    /// Receives a file in one request and returns its content: 301, as for a source. `name` is the one in the query.
    pub async fn receive(&self, name: Option<&str>) -> Result<ContentResponse> {
        let checked = self.headers(|headers| headers.check(self.uploads, self.addresses()));
        if let Err(error) = checked {
            return Ok(ContentResponse::Failed(error.into()));
        }
        // Before the body is read. A known file counts too, because receiving it costs as much.
        if let Err(error) = self.admit().await {
            return Ok(ContentResponse::Failed(error));
        }
        match upload::receive(self.request, self.uploads.max_bytes, self.env).await? {
            Ok(received) => Ok(self.content(received, name).await),
            Err(error) => Ok(ContentResponse::Failed(error)),
        }
    }

    /// Returns the response to a step of an upload in parts.
    pub async fn step(&self, step: &UploadStep) -> Result<Response> {
        let (checked, length) =
            self.headers(|headers| (headers.check_origin(self.uploads, self.addresses()), headers.length()));
        if let Err(error) = checked {
            return Ok(ApiError::from(error).response());
        }
        let max_bytes = self.uploads.max_bytes;
        let response = match (step, length) {
            (UploadStep::Begin, _) => match self.admit().await {
                Ok(()) => Ok(self.begin().await?),
                Err(error) => Err(error),
            },
            // R2 accepts only bodies of known length. The runtime makes sure that no more arrives.
            (UploadStep::Part(..), None) => Err(UploadError::NoLength.into()),
            (UploadStep::Part(..), Some(length)) if length > PART_BYTES => {
                Err(UploadError::TooLarge(PART_BYTES).into())
            }
            (UploadStep::Part(_, number), _) if u64::from(*number) > max_bytes.div_ceil(PART_BYTES) => {
                Err(UploadError::TooLarge(max_bytes).into())
            }
            (UploadStep::Part(upload, number), _) => {
                upload::put(self.request, upload, *number, self.env).await?.map(|tag| {
                    let part = vec![("part", Count((*number).into())), ("etag", Text(tag))];
                    json(StatusCode::OK, Object(part).json())
                })
            }
            (UploadStep::Finish { upload, name, variant }, _) => {
                let content = match (name, length) {
                    (Err(error), _) => ContentResponse::Failed(error.clone()),
                    (_, None) => ContentResponse::Failed(UploadError::NoLength.into()),
                    (_, Some(length)) if length > MAX_LIST_BYTES => {
                        ContentResponse::Failed(UploadError::MalformedParts.into())
                    }
                    (Ok(name), Some(_)) => {
                        match upload::finish(self.request, upload, max_bytes, self.env).await? {
                            Ok(received) => self.content(received, name.as_deref()).await,
                            Err(error) => ContentResponse::Failed(error),
                        }
                    }
                };
                Ok(content.write(variant, self.addresses(), now()).uncached())
            }
        };
        Ok(response.unwrap_or_else(|error| error.response()))
    }

    async fn begin(&self) -> Result<Response> {
        let upload = upload::begin(self.env).await?;
        let address = format!("{}{UPLOADS}/{upload}", self.addresses().base);
        let begun = vec![
            ("address", Text(address.clone())),
            ("partBytes", Count(PART_BYTES)),
            ("mostBytes", Count(self.uploads.max_bytes)),
        ];
        Ok(json(StatusCode::CREATED, Object(begun).json()).with("Location", address))
    }

    /// Returns the content of a file that is in the store.
    async fn content(&self, received: ReceivedFile, name: Option<&str>) -> ContentResponse {
        let ReceivedFile { key, digest, name: own_name } = received;
        let name = name.filter(|name| !name.is_empty()).unwrap_or(&own_name);
        let Some(url) = SourceUrl::of_file(&digest, name) else {
            return ContentResponse::Failed(ApiError::Unavailable); // unreachable: the digest is a SHA-256
        };
        match self.repository.find_or_upload(&url, key).await {
            Ok(found) => ContentResponse::Moved(found),
            Err(error) => {
                if let Err(error) = r2::delete(key, self.env).await {
                    console_error!("cannot delete {key}: {error}");
                }
                ContentResponse::Failed(error.api_error())
            }
        }
    }

    async fn admit(&self) -> std::result::Result<(), ApiError> {
        Ok(admit_client(self.client.as_ref(), &self.routed.config, self.env).await?)
    }

    fn addresses(&self) -> &Addresses {
        &self.routed.addresses
    }

    fn headers<T>(&self, read: impl FnOnce(UploadHeaders<'_>) -> T) -> T {
        let header = |name| self.request.headers().get(name).ok().flatten();
        let [content_type, content_length, origin] = ["Content-Type", "Content-Length", "Origin"].map(header);
        read(UploadHeaders {
            content_type: content_type.as_deref(),
            content_length: content_length.as_deref(),
            origin: origin.as_deref(),
        })
    }
}

fn json(status: StatusCode, body: String) -> Response {
    Response::new(status, "application/json; charset=utf-8", CachePolicy::NoStore, body)
}
