//! Looks contents up, for the API, the stream of events and pages.

use edgezoom_content::{Attempt, Content, ContentId, DeletionKey, Finished, SourceUrl, Status, Timestamp};
use http::{Method, StatusCode};
use worker::{Env, Headers, Result};

use crate::admission::admit_rate;
use crate::admission::client::Client;
use crate::config::{Addresses, Config, bearer};
use crate::pages as page;
use crate::platform::bridge::Outgoing;
use crate::platform::isolate::now;
use crate::repository::{Repository, RepositoryError};
use crate::representation::cached_content::CachedContent;
use crate::representation::events;
use crate::representation::response::{ContentResponse, FoundContent, dzi_response};
use crate::request::route::{ContentKey, HomeForm, Route};
use crate::response::negotiation::Variant;
use crate::response::{ApiError, CachePolicy, Response, plain};
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

/// Finds the content that a request names, and creates the content of a new source. With `retry`, a content that failed
/// or waits is started again if that is permitted.
pub async fn find(
    key: &std::result::Result<ContentKey, ApiError>,
    retry: bool,
    repository: &Repository<'_>,
) -> ContentResponse {
    let found = match key {
        Ok(ContentKey::Source { url, id }) => by_source(url, *id, retry, repository).await,
        Ok(ContentKey::Shared { id, source }) => match (repository.find(*id).await, source) {
            (Ok(Some(shown)), _) => Ok(ContentResponse::Moved(shown)),
            (Ok(None), Ok(url)) => by_source(url, ContentId::of(url), retry, repository).await,
            (Ok(None), Err(error)) => Ok(ContentResponse::Failed(error.clone())),
            (Err(error), _) => Err(error),
        },
        Ok(ContentKey::Id(id)) => {
            let found = if retry { repository.retry(*id).await } else { repository.find(*id).await };
            found.map(|found| {
                found.map_or(ContentResponse::Failed(ApiError::NoSuchContent), ContentResponse::Found)
            })
        }
        Err(error) => Ok(ContentResponse::Failed(error.clone())),
    };
    found.unwrap_or_else(|error| ContentResponse::Failed(error.api_error()))
}

async fn by_source(
    url: &SourceUrl,
    id: ContentId,
    retry: bool,
    repository: &Repository<'_>,
) -> std::result::Result<ContentResponse, RepositoryError> {
    let mut found = repository.find_or_create(url, id).await?;
    if retry && let Some(retried) = repository.retry(found.id()).await? {
        found = retried;
    }
    Ok(ContentResponse::Moved(found))
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

/// Returns the content with an id as a value.
pub async fn by_id(id: ContentId, repository: &Repository<'_>) -> std::result::Result<Content, ApiError> {
    value(repository.find(id).await)
}

/// Returns a ready content's attempt and result, or else the response that says why there is none.
pub async fn ready(
    id: ContentId,
    repository: &Repository<'_>,
) -> std::result::Result<(Attempt, Finished), Response> {
    match by_id(id, repository).await {
        Ok(Content { status: Status::Ready { attempt, finished }, .. }) => Ok((attempt, finished)),
        Ok(_) | Err(ApiError::NoSuchContent) => Err(plain::not_found()),
        Err(error) => Err(error.response()),
    }
}

fn value(
    found: std::result::Result<Option<FoundContent>, RepositoryError>,
) -> std::result::Result<Content, ApiError> {
    let found = found.map_err(RepositoryError::api_error)?.ok_or(ApiError::NoSuchContent)?;
    found.content().map_err(|error| RepositoryError::from(error).api_error())
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
