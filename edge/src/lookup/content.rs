//! Looks contents up as values, for pages, words and regions, and as requests name them.

use edgezoom_content::{Attempt, Content, ContentId, Finished, SourceUrl, Status};

use super::repository::{Repository, RepositoryError};
use crate::representation::response::{ContentResponse, FoundContent};
use crate::request::route::ContentKey;
use crate::response::{ApiError, Response, plain};

/// Finds the content that a request names, and creates the content of a new source. With `retry`, a content that failed
/// or waits is started again if that is permitted.
pub async fn find(
    key: &Result<ContentKey, ApiError>,
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
) -> Result<ContentResponse, RepositoryError> {
    let mut found = repository.find_or_create(url, id).await?;
    if retry && let Some(retried) = repository.retry(found.id()).await? {
        found = retried;
    }
    Ok(ContentResponse::Moved(found))
}

/// Returns the content with an id as a value.
pub async fn by_id(id: ContentId, repository: &Repository<'_>) -> Result<Content, ApiError> {
    value(repository.find(id).await)
}

/// Returns a ready content's attempt and result, or else the response that says why there is none.
pub async fn ready(id: ContentId, repository: &Repository<'_>) -> Result<(Attempt, Finished), Response> {
    match by_id(id, repository).await {
        Ok(Content { status: Status::Ready { attempt, finished }, .. }) => Ok((attempt, finished)),
        Ok(_) | Err(ApiError::NoSuchContent) => Err(plain::not_found()),
        Err(error) => Err(error.response()),
    }
}

/// Returns a found content as a value, or the error for clients.
pub fn value(found: Result<Option<FoundContent>, RepositoryError>) -> Result<Content, ApiError> {
    let found = found.map_err(RepositoryError::api_error)?.ok_or(ApiError::NoSuchContent)?;
    found.content().map_err(|error| RepositoryError::from(error).api_error())
}
