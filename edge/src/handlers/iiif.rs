//! `/iiif/<id>/…`: a content's description, manifest and tiles for IIIF clients.

use edgezoom_content::{Content, ContentId, Finished, PreviewKind, Status};
use http::StatusCode;
use worker::{Env, Request, Result};

use super::content::by_id;
use super::{Outgoing, object};
use crate::config::Addresses;
use crate::content::iiif::{self, StoredImage};
use crate::content::repository::Repository;
use crate::pages;
use crate::request::iiif::{IiifRequest, ImageRequest, ImageRequestError};
use crate::request::object_key::ObjectKey;
use crate::response::{ApiError, Response, plain};

/// Seconds for which caches keep an image.
const DAY: u32 = 86_400;

/// Returns the response.
pub async fn serve(
    id: ContentId,
    asked: &IiifRequest,
    addresses: &Addresses,
    repository: &Repository<'_>,
    (request, env): (&Request, &Env),
) -> Result<Outgoing> {
    if *asked == IiifRequest::Base {
        let to = format!("{}/info.json", addresses.iiif(id));
        return Ok(Outgoing::Buffered(Response::empty(StatusCode::SEE_OTHER).with("Location", to)));
    }
    let content = match by_id(id, repository).await {
        Ok(content) => content,
        Err(error) => return Ok(Outgoing::Buffered(error.response())),
    };
    let finished = match tiles_without_overlap(&content) {
        Ok(finished) => finished,
        Err(response) => return Ok(Outgoing::Buffered(response)),
    };
    let response = match asked {
        IiifRequest::Base | IiifRequest::Info => iiif::description(id, finished, addresses),
        IiifRequest::Manifest => {
            iiif::manifest(&content, &pages::name(&content), addresses).unwrap_or_else(plain::not_found)
        }
        IiifRequest::Image(Ok(image)) => {
            return serve_image(&content, image, finished, addresses, repository, (request, env)).await;
        }
        IiifRequest::Image(Err(error)) => refused(*error),
    };
    Ok(Outgoing::Buffered(response))
}

/// Returns a ready content's result if its tiles do not overlap, or else the response that says why not.
fn tiles_without_overlap(content: &Content) -> std::result::Result<&Finished, Response> {
    match &content.status {
        Status::Ready { finished, .. } if finished.dzi.tile_overlap == 0 => Ok(finished),
        Status::Ready { .. } => {
            let why =
                "This picture's tiles overlap, which IIIF does not allow. Use its Deep Zoom descriptor.";
            Err(Response::text(StatusCode::NOT_FOUND, why))
        }
        Status::Processing { .. } => Err(ApiError::NotReady.response()),
        Status::Failed { .. } => Err(ApiError::NeverReady.response()),
    }
}

/// Returns the response with the stored image that is exactly the requested one.
async fn serve_image(
    content: &Content,
    image: &ImageRequest,
    finished: &Finished,
    addresses: &Addresses,
    repository: &Repository<'_>,
    (request, env): (&Request, &Env),
) -> Result<Outgoing> {
    let stored = match iiif::stored_image(image, finished) {
        Ok(stored) => stored,
        Err(error) => return Ok(Outgoing::Buffered(refused(error))),
    };
    let response = match (stored, &content.status) {
        (StoredImage::Preview, _) => {
            object::preview(content.id, PreviewKind::Large, request, repository, env).await?
        }
        (StoredImage::Tile(object), Status::Ready { attempt, .. }) => {
            let key = ObjectKey { id: content.id, attempt: *attempt, object };
            let response = object::serve(&key, request, repository, env).await?;
            response.map_or_else(|| Outgoing::Buffered(plain::not_found()), Outgoing::Streamed)
        }
        (StoredImage::Tile(_), _) => Outgoing::Buffered(plain::not_found()),
    };
    let Outgoing::Streamed(response) = response else { return Ok(response) };
    let path = stored.canonical_path(&finished.dzi);
    let canonical = format!("{}/{path}", addresses.iiif(content.id));
    let profile = "<http://iiif.io/api/image/3/level0.json>;rel=\"profile\"";
    response.headers().set("Link", &format!("{profile}, <{canonical}>;rel=\"canonical\""))?;
    object::keep_for(DAY, &response)?;
    Ok(Outgoing::Streamed(response))
}

fn refused(error: ImageRequestError) -> Response {
    let status = match error {
        ImageRequestError::Malformed(_) | ImageRequestError::Outside | ImageRequestError::Enlarged => {
            StatusCode::BAD_REQUEST
        }
        ImageRequestError::NotImplemented => StatusCode::NOT_IMPLEMENTED,
    };
    Response::text(status, error.to_string())
}
