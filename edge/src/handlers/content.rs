//! Looks a content up for the interface.

use edgezoom_content::{Content, ContentId};

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
) -> Result<Response, CachedContent> {
    match route {
        Route::Content { key: Ok(ContentKey::Id(_)), variant } => {
            Ok(ContentResponse::Found(FoundContent::Cached(cached)).write(variant, addresses))
        }
        Route::Content { key: Ok(ContentKey::Shared { .. }), variant } => {
            Ok(ContentResponse::Moved(FoundContent::Cached(cached)).write(variant, addresses))
        }
        Route::Content { key: Ok(ContentKey::Source(url)), variant } if cached.has_source(url) => {
            Ok(ContentResponse::Moved(FoundContent::Cached(cached)).write(variant, addresses))
        }
        _ => Err(cached),
    }
}

/// Finds the content that a request names, and creates the content of a new source for the client.
pub async fn find(
    key: &Result<ContentKey, ApiError>,
    client: impl Fn() -> Option<String>,
    repository: &Repository<'_>,
) -> ContentResponse {
    let create =
        async |url| repository.find_or_create(url, client().as_deref()).await.map(ContentResponse::Moved);
    let found = match key {
        Ok(ContentKey::Source(url)) => create(url).await,
        Ok(ContentKey::Shared { id, source }) => match (repository.find(*id).await, source) {
            (Ok(Some(shown)), _) => Ok(ContentResponse::Moved(shown)),
            (Ok(None), Ok(url)) => create(url).await,
            (Ok(None), Err(error)) => Ok(ContentResponse::Failed(*error)),
            (Err(error), _) => Err(error),
        },
        Ok(ContentKey::Id(id)) => repository.find(*id).await.map(|found| match found {
            Some(found) => ContentResponse::Found(found),
            None => ContentResponse::Failed(ApiError::NoSuchContent),
        }),
        Err(error) => Ok(ContentResponse::Failed(*error)),
    };
    found.unwrap_or_else(|error| ContentResponse::Failed(error.api_error()))
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
    let found = repository.find(id).await.map_err(RepositoryError::api_error)?;
    let found = found.ok_or(ApiError::NoSuchContent)?;
    found.content().map_err(|error| RepositoryError::from(error).api_error())
}
