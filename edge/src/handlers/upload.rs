//! `POST /v1/content/`: a client sends a file instead of the address of a source.

use edgezoom_content::SourceUrl;
use worker::{Env, Result, console_error, web_sys};

use crate::admission;
use crate::admission::client::Client;
use crate::config::{Addresses, Config, Uploads};
use crate::content::repository::Repository;
use crate::content::response::ContentResponse;
use crate::platform::upload::{self, ReceivedFile};
use crate::request::upload::UploadHeaders;
use crate::response::ApiError;

/// Takes the file, and gives the content that it is: 301, as for the address of a source. `name` is that of the query.
pub async fn receive(
    name: Option<&str>,
    uploads: &Uploads,
    client: Option<&Client>,
    request: &web_sys::Request,
    (config, addresses): (&Config, &Addresses),
    repository: &Repository<'_>,
    env: &Env,
) -> Result<ContentResponse> {
    let header = |name| request.headers().get(name).ok().flatten();
    let [content_type, content_length, origin] = ["Content-Type", "Content-Length", "Origin"].map(header);
    let headers = UploadHeaders {
        content_type: content_type.as_deref(),
        content_length: content_length.as_deref(),
        origin: origin.as_deref(),
    };
    if let Err(error) = headers.check(uploads, addresses) {
        return Ok(ContentResponse::Failed(error.into()));
    }
    // Before the body is read. A file that is known already counts too: it costs as much to receive.
    if let Err(error) = admission::check::admit_client(client, config, env).await {
        return Ok(ContentResponse::Failed(error.into()));
    }
    match upload::receive(request, uploads.most_bytes, env).await? {
        Ok(received) => Ok(content(received, name, repository, env).await),
        Err(error) => Ok(ContentResponse::Failed(error)),
    }
}

/// The content of a file that is in the store.
pub(super) async fn content(
    received: ReceivedFile,
    name: Option<&str>,
    repository: &Repository<'_>,
    env: &Env,
) -> ContentResponse {
    let ReceivedFile { key, digest, name: own_name } = received;
    let name = name.filter(|name| !name.is_empty()).unwrap_or(&own_name);
    let Some(url) = SourceUrl::of_file(&digest, name) else {
        return ContentResponse::Failed(ApiError::Unavailable); // a SHA-256 always makes a URL
    };
    match repository.find_or_upload(&url, key).await {
        Ok(found) => ContentResponse::Moved(found),
        Err(error) => {
            if let Err(error) = upload::delete(key, env).await {
                console_error!("{key} is left in the store: {error}");
            }
            ContentResponse::Failed(error.api_error())
        }
    }
}
