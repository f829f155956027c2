//! Looks a content up for the interface.

use edgezoom_content::{Content, ContentId, SourceUrl, Timestamp};

use crate::config::Addresses;
use crate::content::cached_content::CachedContent;
use crate::content::lookup::FoundContent;
use crate::content::repository::{Repository, RepositoryError};
use crate::content::response::{ContentResponse, dzi_response};
use crate::request::route::{ContentKey, Route};
use crate::response::negotiation::Variant;
use crate::response::{ApiError, Response};

/// The response that needs nothing but the value in KV. Gives the value back where that is not enough: the route needs
/// more, or the id belongs to another source.
pub fn from_cache(
    route: &Route,
    cached: CachedContent,
    addresses: &Addresses,
    now: Timestamp,
) -> Result<Response, CachedContent> {
    match route {
        _ if cached.takedown().is_some() => Err(cached),
        Route::Content { retry: true, .. } if cached.retry_at().is_some() => Err(cached),
        Route::Content { key: Ok(ContentKey::Id(_)), variant, .. } => {
            Ok(ContentResponse::Found(FoundContent::Cached(cached)).write(variant, addresses, now))
        }
        Route::Content { key: Ok(ContentKey::Shared { .. }), variant, .. } => {
            Ok(ContentResponse::Moved(FoundContent::Cached(cached)).write(variant, addresses, now))
        }
        Route::Content { key: Ok(ContentKey::Source(url)), variant, .. } if cached.has_source(url) => {
            Ok(ContentResponse::Moved(FoundContent::Cached(cached)).write(variant, addresses, now))
        }
        _ => Err(cached),
    }
}

/// Finds the content that a request names, and creates the content of a new source. With `retry`, a content
/// that failed or waits is started anew if it may be.
pub async fn find(
    key: &Result<ContentKey, ApiError>,
    retry: bool,
    repository: &Repository<'_>,
) -> ContentResponse {
    let found = match key {
        Ok(ContentKey::Source(url)) => by_source(url, retry, repository).await,
        Ok(ContentKey::Shared { id, source }) => match (repository.find(*id).await, source) {
            (Ok(Some(shown)), _) => Ok(ContentResponse::Moved(shown)),
            (Ok(None), Ok(url)) => by_source(url, retry, repository).await,
            (Ok(None), Err(error)) => Ok(ContentResponse::Failed(error.clone())),
            (Err(error), _) => Err(error),
        },
        Ok(ContentKey::Id(id)) => {
            let found = match retry {
                true => repository.retry(*id).await,
                false => repository.find(*id).await,
            };
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
    retry: bool,
    repository: &Repository<'_>,
) -> Result<ContentResponse, RepositoryError> {
    let mut found = repository.find_or_create(url).await?;
    if retry && let Some(retried) = repository.retry(found.id()).await? {
        found = retried;
    }
    Ok(ContentResponse::Moved(found))
}

/// The response of `/v1/dzi/` for what [`find`] found.
pub fn dzi(found: ContentResponse, variant: &Variant, addresses: &Addresses) -> Response {
    let content =
        |found: FoundContent| found.content().map_err(|error| RepositoryError::from(error).api_error());
    let found = match found {
        ContentResponse::Moved(found) => content(found).map(|content| (content, true)),
        ContentResponse::Found(found) => content(found).map(|content| (content, false)),
        ContentResponse::Failed(error) => Err(error),
    };
    dzi_response(found, variant, addresses)
}

/// The content with an id, as a value.
pub async fn by_id(id: ContentId, repository: &Repository<'_>) -> Result<Content, ApiError> {
    value(repository.find(id).await)
}

/// The content with an id as a value, as it is now even if it failed.
pub async fn current_by_id(id: ContentId, repository: &Repository<'_>) -> Result<Content, ApiError> {
    value(repository.find_current(id).await)
}

fn value(found: Result<Option<FoundContent>, RepositoryError>) -> Result<Content, ApiError> {
    let found = found.map_err(RepositoryError::api_error)?.ok_or(ApiError::NoSuchContent)?;
    found.content().map_err(|error| RepositoryError::from(error).api_error())
}
