//! `POST /v1/content/` and `/v1/uploads/…`: a client uploads a file instead of naming a source, at once or in parts.
//! Parts are for files that are too large for one request, and for connections that may break.

pub(crate) mod files;
pub mod request;

use edgezoom_content::SourceUrl;
use http::StatusCode;
use worker::{Env, Result, console_error, web_sys};

use crate::admission::admit_client;
use crate::admission::client::Client;
use crate::config::{Addresses, Config, Uploads};
use crate::platform::isolate::now;
use crate::platform::r2;
use crate::repository::Repository;
use crate::representation::response::{ContentResponse, FoundContent};

use crate::response::element::Element::{Count, Object, Text};
use crate::response::{ApiError, CachePolicy, Response, UploadError};
use files::{ReceivedFile, new_deletion_key};
use request::{PART_BYTES, PartedUpload, UPLOADS, UploadHeaders, UploadQuery, UploadStep};

/// Maximum size of the list of parts in bytes: 10,000 tags of 32 characters.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// A request that uploads a file or a part.
pub struct Upload<'a> {
    pub config: &'a Config,
    pub addresses: &'a Addresses,
    pub uploads: &'a Uploads,
    pub client: Option<Client>,
    pub request: &'a web_sys::Request,
    pub repository: &'a Repository<'a>,
    pub env: &'a Env,
}

impl Upload<'_> {
    /// Receives a file in one request and returns its content: 301, as for a source.
    pub async fn receive(&self, query: &UploadQuery) -> Result<ContentResponse> {
        let (checked, length) =
            self.headers(|headers| (headers.check(self.uploads, self.addresses), headers.length()));
        if let Err(error) = checked {
            return Ok(ContentResponse::Failed(error.into()));
        }
        let client = self.client.as_ref();
        // Before the body is read. A known file counts too, because receiving it costs as much.
        if let Err(error) = self.admit(client).await {
            return Ok(ContentResponse::Failed(error));
        }
        let (digest, max_bytes) = (query.digest.as_deref(), self.uploads.max_bytes);
        match files::receive(self.request, client, length, digest, max_bytes, self.env).await? {
            Ok(received) => Ok(self.content(received, query.name.as_deref(), client).await),
            Err(error) => Ok(ContentResponse::Failed(error)),
        }
    }

    /// Returns the response to a step of an upload in parts.
    pub async fn step(&self, step: &UploadStep) -> Result<Response> {
        let (checked, length) =
            self.headers(|headers| (headers.check_origin(self.uploads, self.addresses), headers.length()));
        if let Err(error) = checked {
            return Ok(ApiError::from(error).response());
        }
        if !matches!(step, UploadStep::Begin(_))
            && let Err(error) = self.repository.admit_guess()
        {
            return Ok(error.api_error().response());
        }
        let response = match step {
            UploadStep::Begin(query) => self.begin(query).await?,
            UploadStep::Part(upload, number) => self.part(upload, *number, length).await?,
            UploadStep::Finish { upload, name, variant } => {
                let content = match (name, length) {
                    (Err(error), _) => ContentResponse::Failed(error.clone()),
                    (_, None) => ContentResponse::Failed(UploadError::NoLength.into()),
                    (_, Some(length)) if length > MAX_LIST_BYTES => {
                        ContentResponse::Failed(UploadError::MalformedParts.into())
                    }
                    (Ok(name), Some(_)) => match self.finish(upload, name.as_deref()).await? {
                        Ok(content) => content,
                        Err(error) => ContentResponse::Failed(self.noted(error)),
                    },
                };
                Ok(content.write(variant, self.addresses, now()).uncached())
            }
        };
        Ok(response.unwrap_or_else(|error| self.noted(error).response()))
    }

    async fn begin(
        &self,
        query: &std::result::Result<UploadQuery, ApiError>,
    ) -> Result<std::result::Result<Response, ApiError>> {
        let client = self.client.as_ref();
        let query = match (query, self.admit(client).await) {
            (Ok(query), Ok(())) => query,
            (Err(error), _) => return Ok(Err(error.clone())),
            (_, Err(error)) => return Ok(Err(error)),
        };
        let upload = match files::begin(client, query.digest.as_deref(), self.env).await? {
            Ok(upload) => upload,
            Err(error) => return Ok(Err(error)),
        };
        let address = format!("{}{UPLOADS}/{upload}", self.addresses.base);
        let begun = vec![
            ("address", Text(address.clone())),
            ("partBytes", Count(PART_BYTES)),
            ("mostBytes", Count(self.uploads.max_bytes)),
        ];
        Ok(Ok(json(StatusCode::CREATED, Object(begun).json()).with("Location", address)))
    }

    async fn part(
        &self,
        upload: &PartedUpload,
        number: u16,
        length: Option<u64>,
    ) -> Result<std::result::Result<Response, ApiError>> {
        let max_bytes = self.uploads.max_bytes;
        let bytes = match length {
            // R2 accepts only bodies of known length. The runtime makes sure that no more arrives.
            None => return Ok(Err(UploadError::NoLength.into())),
            Some(0) => return Ok(Err(UploadError::EmptyPart.into())),
            Some(length) if length > PART_BYTES => return Ok(Err(UploadError::TooLarge(PART_BYTES).into())),
            Some(_) if u64::from(number) > max_bytes.div_ceil(PART_BYTES) => {
                return Ok(Err(UploadError::TooLarge(max_bytes).into()));
            }
            Some(length) => length,
        };
        let stored = files::put(self.request, upload, (number, bytes), max_bytes, self.env).await?;
        Ok(stored.map(|tag| {
            let part = vec![("part", Count(number.into())), ("etag", Text(tag))];
            json(StatusCode::OK, Object(part).json())
        }))
    }

    /// Completes an upload. It counts as a new content of the client that began it, which may have signed only that request.
    async fn finish(
        &self,
        upload: &PartedUpload,
        name: Option<&str>,
    ) -> Result<std::result::Result<ContentResponse, ApiError>> {
        let owner = match files::owner(upload, self.env).await? {
            Ok(owner) => owner,
            Err(error) => return Ok(Err(error)),
        };
        if let Err(error) = self.admit(owner.as_ref()).await {
            return Ok(Err(error));
        }
        Ok(match files::finish(self.request, upload, self.uploads.max_bytes, self.env).await? {
            Ok(received) => Ok(self.content(received, name, owner.as_ref()).await),
            Err(error) => Err(error),
        })
    }

    /// Returns the content of a file that is in the store. Its job is the client's.
    async fn content(
        &self,
        received: ReceivedFile,
        name: Option<&str>,
        client: Option<&Client>,
    ) -> ContentResponse {
        let ReceivedFile { key, digest, name: in_form } = received;
        let in_header = self.headers(|headers| headers.file_name());
        let names = [name, Some(&in_form), in_header.as_deref()];
        let name = names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default();
        let Some(url) = SourceUrl::of_file(&digest, name) else {
            return ContentResponse::Failed(ApiError::Unavailable); // unreachable: the digest is a SHA-256
        };
        let client = || client.cloned();
        let deletion_key = new_deletion_key();
        let owner = deletion_key.hash();
        match Repository::new(self.env, None, &client).find_or_upload(&url, key, owner).await {
            Ok((FoundContent::Current(content), true)) => {
                ContentResponse::Moved(FoundContent::Owned(content, deletion_key))
            }
            Ok((found, _)) => ContentResponse::Moved(found),
            Err(error) => {
                if let Err(error) = r2::delete(key, self.env).await {
                    console_error!("cannot delete {key}: {error}");
                }
                ContentResponse::Failed(error.api_error())
            }
        }
    }

    async fn admit(&self, client: Option<&Client>) -> std::result::Result<(), ApiError> {
        Ok(admit_client(client, self.config, self.env).await?)
    }

    /// Counts an upload that does not exist, so that addresses cannot be guessed.
    fn noted(&self, error: ApiError) -> ApiError {
        if error == UploadError::NotBegun.into() {
            self.repository.note_guess();
        }
        error
    }

    fn headers<T>(&self, read: impl FnOnce(UploadHeaders<'_>) -> T) -> T {
        let header = |name| self.request.headers().get(name).ok().flatten();
        let [content_type, content_length, content_disposition, origin] =
            ["Content-Type", "Content-Length", "Content-Disposition", "Origin"].map(header);
        read(UploadHeaders {
            content_type: content_type.as_deref(),
            content_length: content_length.as_deref(),
            content_disposition: content_disposition.as_deref(),
            origin: origin.as_deref(),
        })
    }
}

fn json(status: StatusCode, body: String) -> Response {
    Response::new(status, "application/json; charset=utf-8", CachePolicy::NoStore, body)
}
