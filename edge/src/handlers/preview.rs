//! `/<id>/preview.jpg` and `/<id>/thumbnail.jpg`: the small pictures of a ready content, wherever they are stored.

use edgezoom_content::{ContentId, PreviewKind};
use worker::{Env, Request, Result};

use super::content::by_id;
use super::{Outgoing, object};
use crate::content::repository::Repository;
use crate::pages::{StoredPreview, stored_preview};
use crate::platform::r2::{self, Part};
use crate::response::{ApiError, plain};

/// The response with a small picture.
pub async fn serve(
    id: ContentId,
    kind: PreviewKind,
    request: &Request,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Outgoing> {
    let content = match by_id(id, repository).await {
        Ok(content) => content,
        Err(ApiError::NoSuchContent) => return Ok(Outgoing::Buffered(plain::not_found())),
        Err(error) => return Ok(Outgoing::Buffered(error.response())),
    };
    let response = match stored_preview(&content, kind) {
        None => None,
        Some((StoredPreview::Entry { object, range }, media_type)) => {
            let tag = format!("\"{object}/{}\"", kind.name());
            r2::serve_part(&Part { object: &object, range, tag: &tag, media_type }, request, env).await?
        }
        Some((StoredPreview::Object(key), media_type)) => {
            r2::serve_object(&key, media_type, request, env).await?
        }
        Some((StoredPreview::Tile(key), _)) => object::serve(&key, request, repository, env).await?,
    };
    Ok(response.map_or_else(|| Outgoing::Buffered(plain::not_found()), Outgoing::Streamed))
}
