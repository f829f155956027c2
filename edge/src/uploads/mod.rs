//! `POST /v1/content/` and `/v1/uploads/…`: a client uploads a file instead of naming a source, at once or in parts.
//! Parts are for files that are too large for one request, and for connections that may break.

pub(crate) mod files;

use edgezoom_content::SourceUrl;
use http::StatusCode;
use worker::{Env, console_error, web_sys};

use crate::admission::client::Client;
use crate::config::{Addresses, Config, Uploads};
use crate::durable::admit::admit_client;
use crate::lookup::repository::Repository;
use crate::platform::isolate::now;
use crate::platform::r2;
use crate::representation::response::{ContentResponse, FoundContent};

use crate::request::upload::{PART_BYTES, PartedUpload, UPLOADS, UploadHeaders, UploadQuery, UploadStep};
use crate::response::element::Element::{Count, Object, Text};
use crate::response::{ApiError, CachePolicy, Response, UploadError};
use files::{ReceivedFile, new_deletion_key};

/// Maximum size of the list of parts in bytes: 10,000 tags of 32 characters.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// A request that uploads a file or a part.
pub struct Upload<'a> {
    pub config: &'a Config,
    pub addresses: &'a Addresses,
    pub uploads: &'a Uploads,
    pub client: Option<Client>,
    pub request: &'a web_sys::Request,
    pub headers: UploadHeaders,
    pub repository: &'a Repository<'a>,
    pub env: &'a Env,
}

impl UploadHeaders {
    /// Returns the headers of a request.
    pub fn of(request: &web_sys::Request) -> Self {
        let header = |name| request.headers().get(name).ok().flatten();
        Self {
            content_type: header("Content-Type"),
            content_length: header("Content-Length"),
            content_disposition: header("Content-Disposition"),
            origin: header("Origin"),
        }
    }
}

impl Upload<'_> {
    /// Receives a file in one request and returns its content: 301, as for a source.
    pub async fn receive(&self, query: &UploadQuery) -> ContentResponse {
        self.received(query).await.unwrap_or_else(ContentResponse::Failed)
    }

    async fn received(&self, query: &UploadQuery) -> Result<ContentResponse, ApiError> {
        self.headers.check(self.uploads, self.addresses)?;
        let client = self.client.as_ref();
        // Before the body is read. A known file counts too, because receiving it costs as much.
        self.admit(client).await?;
        let length = self.headers.length();
        let digest = query.digest.as_deref();
        let max_bytes = self.uploads.max_bytes;
        let received = files::receive(self.request, client, length, digest, max_bytes, self.env).await?;
        Ok(self.content(received, query, client).await)
    }

    /// Returns the response to a step of an upload in parts.
    pub async fn step(&self, step: &UploadStep) -> Response {
        if let Err(error) = self.headers.check_origin(self.uploads, self.addresses) {
            return ApiError::from(error).response();
        }
        if !matches!(step, UploadStep::Begin(_))
            && let Err(error) = self.repository.admit_guess()
        {
            return error.api_error().response();
        }
        let response = match step {
            UploadStep::Begin(query) => self.begin(query).await,
            UploadStep::Part(upload, number) => self.part(upload, *number).await,
            UploadStep::Finish { upload, query, variant } => {
                let content = self.finish(upload, query).await;
                let content = content.unwrap_or_else(|error| ContentResponse::Failed(self.noted(error)));
                Ok(content.write(variant, self.addresses, now()).uncached())
            }
        };
        response.unwrap_or_else(|error| self.noted(error).response())
    }

    async fn begin(&self, query: &Result<UploadQuery, ApiError>) -> Result<Response, ApiError> {
        let digest = query.as_ref().map_err(ApiError::clone)?.digest.as_deref();
        let client = self.client.as_ref();
        self.admit(client).await?;
        let upload = files::begin(client, digest, self.env).await?;
        let address = format!("{}{UPLOADS}/{upload}", self.addresses.base);
        let begun = vec![
            ("address", Text(address.clone())),
            ("partBytes", Count(PART_BYTES)),
            ("mostBytes", Count(self.uploads.max_bytes)),
        ];
        Ok(json(StatusCode::CREATED, Object(begun).json()).with("Location", address))
    }

    async fn part(&self, upload: &PartedUpload, number: u16) -> Result<Response, ApiError> {
        let max_bytes = self.uploads.max_bytes;
        // R2 accepts only bodies of known length. The runtime makes sure that no more arrives.
        let bytes = self.headers.length().ok_or(UploadError::NoLength)?;
        if bytes == 0 {
            return Err(UploadError::EmptyPart.into());
        }
        if bytes > PART_BYTES {
            return Err(UploadError::TooLarge(PART_BYTES).into());
        }
        if u64::from(number) > max_bytes.div_ceil(PART_BYTES) {
            return Err(UploadError::TooLarge(max_bytes).into());
        }
        let tag = files::put(self.request, upload, (number, bytes), max_bytes, self.env).await?;
        let part = vec![("part", Count(number.into())), ("etag", Text(tag))];
        Ok(json(StatusCode::OK, Object(part).json()))
    }

    /// Completes an upload. It counts as a new content of the client that began it, which may have signed only that
    /// request.
    async fn finish(
        &self,
        upload: &PartedUpload,
        query: &Result<UploadQuery, ApiError>,
    ) -> Result<ContentResponse, ApiError> {
        let query = query.as_ref().map_err(ApiError::clone)?;
        if self.headers.length().ok_or(UploadError::NoLength)? > MAX_LIST_BYTES {
            return Err(UploadError::MalformedParts.into());
        }
        let owner = files::owner(upload, self.env).await?;
        self.admit(owner.as_ref()).await?;
        let received = files::finish(self.request, upload, self.uploads.max_bytes, self.env).await?;
        Ok(self.content(received, query, owner.as_ref()).await)
    }

    /// Returns the content of a file that is in the store. Its job is the client's.
    async fn content(
        &self,
        received: ReceivedFile,
        query: &UploadQuery,
        client: Option<&Client>,
    ) -> ContentResponse {
        let ReceivedFile { key, digest, name: in_form } = received;
        let in_header = self.headers.file_name();
        let names = [query.name.as_deref(), Some(&in_form), in_header.as_deref()];
        let name = names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default();
        let Some(mut url) = SourceUrl::of_file(&digest, name) else {
            return ContentResponse::Failed(ApiError::Unavailable); // unreachable: the digest is a SHA-256
        };
        if query.no_vectors {
            url = url.without_vectors();
        }
        let client = || client.cloned();
        let deletion_key = new_deletion_key();
        let owner = deletion_key.hash();
        match self.repository.of_client(&client).find_or_upload(&url, key, owner).await {
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

    async fn admit(&self, client: Option<&Client>) -> Result<(), ApiError> {
        Ok(admit_client(client, self.config, self.env).await?)
    }

    /// Counts an upload that does not exist, so that addresses cannot be guessed.
    fn noted(&self, error: ApiError) -> ApiError {
        if error == UploadError::NotBegun.into() {
            self.repository.note_guess();
        }
        error
    }
}

fn json(status: StatusCode, body: String) -> Response {
    Response::new(status, "application/json; charset=utf-8", CachePolicy::NoStore, body)
}
