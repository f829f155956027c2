//! Responses about a content: of the API, of the stream of events, and pages.

use edgezoom_content::{Content, ContentId, DeletionKey, Timestamp};
use http::{Method, StatusCode};
use worker::{Env, Headers, Result};

use crate::admission::client::Client;
use crate::config::{Addresses, Config, bearer};
use crate::durable::admit::admit_rate;
use crate::lookup::content::{by_id, find, value};
use crate::lookup::repository::{Repository, RepositoryError};
use crate::pages as page;
use crate::platform::bridge::Outgoing;
use crate::platform::isolate::now;
use crate::representation::cached_content::CachedContent;
use crate::representation::events;
use crate::representation::response::{ContentResponse, FoundContent, dzi_response};
use crate::request::route::{ContentKey, HomeForm, Route};
use crate::response::negotiation::Variant;
use crate::response::{ApiError, CachePolicy, Response};
use crate::uploads::files::count_deletion;

/// Returns the response that needs only the record in KV. If the route needs more, or the id belongs to another source,
/// it returns the record.
pub fn from_cache(
    route: &Route,
    cached: CachedContent,
    addresses: &Addresses,
    now: Timestamp,
) -> std::result::Result<Response, CachedContent> {
    let Route::Content { key: Ok(key), variant, retry } = route else { return Err(cached) };
    if cached.removal().is_some() || *retry && cached.retry_at().is_some() {
        return Err(cached);
    }
    let response = match key {
        ContentKey::Source { url, .. } if !cached.has_source(url) => return Err(cached),
        ContentKey::Id(_) => ContentResponse::Found(FoundContent::Cached(cached)),
        ContentKey::Source { .. } | ContentKey::Shared { .. } => {
            ContentResponse::Moved(FoundContent::Cached(cached))
        }
    };
    Ok(response.write(variant, addresses, now))
}

/// Returns the response of `/v1/dzi/` for the result of [`find`].
pub fn dzi(found: ContentResponse, variant: &Variant, addresses: &Addresses) -> Response {
    let (content, by_url) = match found {
        ContentResponse::Moved(found) => (value(Ok(Some(found))), true),
        ContentResponse::Found(found) => (value(Ok(Some(found))), false),
        ContentResponse::Failed(error) => (Err(error), false),
    };
    dzi_response(content, by_url, variant, addresses)
}

/// Returns the stream of a content's events. Only a `GET` of an unfinished content subscribes to the Durable Object.
pub async fn events(
    id: ContentId,
    method: &Method,
    last_event_id: Option<&str>,
    addresses: &Addresses,
    repository: &Repository<'_>,
) -> Result<Outgoing> {
    let content = match value(repository.find_current(id).await) {
        Ok(content) => content,
        Err(error) => return Ok(Outgoing::Buffered(error.response())),
    };
    if content.is_finished() {
        return Ok(Outgoing::Buffered(events::finished(&content, last_event_id, addresses, now())));
    }
    if method == Method::HEAD {
        return Ok(Outgoing::Buffered(events::head()));
    }
    Ok(match repository.subscribe(id, addresses).await {
        Ok(Some(body)) => {
            let headers = Headers::new();
            for (name, value) in events::head().headers {
                headers.set(name, &value)?;
            }
            Outgoing::Streamed(worker::Response::builder().with_headers(headers).body(body))
        }
        Ok(None) => Outgoing::Buffered(ApiError::Unavailable.response()),
        Err(error) => Outgoing::Buffered(error.api_error().response()),
    })
}

/// Deletes the content of an uploaded file, with the deletion key in an `Authorization` header (RFC 6750): 204.
pub async fn delete(
    id: ContentId,
    authorization: Option<&str>,
    client: Option<&Client>,
    repository: &Repository<'_>,
    env: &Env,
) -> Response {
    let deleted = async {
        let key = bearer(authorization).ok_or(ApiError::NoDeletionKey)?;
        admit_rate(client, env).await?;
        repository.admit_guess().map_err(RepositoryError::api_error)?;
        count_deletion(client, env).await?;
        repository.delete(id, DeletionKey::new(key).hash()).await.map_err(RepositoryError::api_error)
    };
    match deleted.await {
        Ok(()) => Response::empty(StatusCode::NO_CONTENT),
        Err(error) => error.response(),
    }
}

/// Returns the home page, or, if its form was submitted, a redirect to the share page of the source.
pub async fn home(
    form: Option<&HomeForm>,
    config: &Config,
    addresses: &Addresses,
    repository: &Repository<'_>,
) -> Response {
    let home = |failed| page::home(failed, config.notice.as_deref(), config.uploads.as_ref(), addresses);
    let Some(HomeForm { text, assumes_https, key }) = form else {
        return home(None);
    };
    match find(key, false, repository).await {
        ContentResponse::Moved(found) | ContentResponse::Found(found) => {
            let empty = String::new();
            // The page says so, and tries http if https does not work.
            let assumption = if *assumes_https { "?assumed=https" } else { "" };
            Response::new(StatusCode::FOUND, "text/plain; charset=utf-8", CachePolicy::NoStore, empty)
                .with("Location", addresses.share(found.id()) + assumption)
        }
        ContentResponse::Failed(error) => error.add_retry_after(home(Some((text, &error)))),
    }
}

/// Returns a page that shows a content.
pub async fn picture(
    id: ContentId,
    page: impl FnOnce(&Content, &Addresses, Timestamp) -> Response,
    addresses: &Addresses,
    repository: &Repository<'_>,
) -> Response {
    match by_id(id, repository).await {
        Ok(content) => page(&content, addresses, now()),
        Err(ApiError::NoSuchContent) => page::not_found(addresses),
        Err(error) => page::unavailable(&error, addresses),
    }
}
