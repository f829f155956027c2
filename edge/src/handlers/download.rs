//! `/<id>/download`: the archive of a ready content, as a file with a good name.

use edgezoom_content::{ContentId, Finished, Status};
use worker::{Env, Request, Result};

use super::Outgoing;
use super::content::by_id;
use crate::content::repository::Repository;
use crate::pages;
use crate::platform::r2;
use crate::response::{ApiError, plain};

/// The media type of an SZI: that of ZIP, as it has none of its own.
const MEDIA_TYPE: &str = "application/zip";

/// The archive, or the requested range of it. 404: the content is not ready, or is stored tile by tile.
pub async fn serve(
    id: ContentId,
    request: &Request,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Outgoing> {
    let nothing = || Ok(Outgoing::Buffered(plain::not_found()));
    let content = match by_id(id, repository).await {
        Ok(content) => content,
        Err(error @ ApiError::TakenDown(_)) => return Ok(Outgoing::Buffered(error.response())),
        Err(_) => return nothing(),
    };
    let Status::Ready { attempt, finished: Finished { archive: Some(_), .. } } = &content.status else {
        return nothing();
    };
    let Some(response) = r2::serve_object(&attempt.archive_key(id), MEDIA_TYPE, request, env).await? else {
        return nothing();
    };
    let name = pages::name(&content);
    response.headers().set("Content-Disposition", &pages::attachment(&name, "szi"))?;
    Ok(Outgoing::Streamed(response))
}
