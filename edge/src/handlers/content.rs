//! Looks a content up for the interface.

use edgezoom_content::{Content, ContentId};

use crate::config::Addresses;
use crate::content::cached_content::CachedContent;
use crate::content::lookup::FoundContent;
use crate::content::repository::{Repository, RepositoryError};
use crate::content::response::ContentResponse;
use crate::request::route::{ContentKey, Route};
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
    let found = match key {
        Ok(ContentKey::Source(url)) => {
            repository.find_or_create(url, client().as_deref()).await.map(ContentResponse::Moved)
        }
        Ok(ContentKey::Id(id)) => repository.find(*id).await.map(|found| match found {
            Some(found) => ContentResponse::Found(found),
            None => ContentResponse::Failed(ApiError::NoSuchContent),
        }),
        Err(error) => Ok(ContentResponse::Failed(*error)),
    };
    found.unwrap_or_else(|error| ContentResponse::Failed(error.api_error()))
}

/// The content with an id, as a value.
pub async fn by_id(id: ContentId, repository: &Repository<'_>) -> Result<Content, ApiError> {
    let found = repository.find(id).await.map_err(RepositoryError::api_error)?;
    let found = found.ok_or(ApiError::NoSuchContent)?;
    found.content().map_err(|error| RepositoryError::from(error).api_error())
}
