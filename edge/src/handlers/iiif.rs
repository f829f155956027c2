//! `/iiif/<id>/…`: a content's description, manifest and images for IIIF clients.

use edgezoom_content::{Attempt, Content, ContentId, Finished, PreviewKind, Status};
use http::StatusCode;
use worker::{Env, Method, Request, Result};

use super::content::by_id;
use super::object;
use crate::admission::client::Client;
use crate::config::{Addresses, Regions};
use crate::pages;
use crate::platform::bridge::Outgoing;
use crate::regions::{self, Picture, pictures};
use crate::repository::Repository;
use crate::representation::iiif::{self, StoredImage};
use crate::request::iiif::{IiifRequest, ImageRequest, ImageRequestError};
use crate::request::object_key::ObjectKey;
use crate::response::{ApiError, Response, plain};

/// Seconds for which caches keep an image.
const DAY: u32 = 86_400;

/// The configuration of the service and the client of a request.
pub struct Service<'a> {
    pub addresses: &'a Addresses,
    /// Limits on rendered images; `None` if only stored ones are served.
    pub regions: Option<&'a Regions>,
    pub client: &'a dyn Fn() -> Option<Client>,
}

/// Returns the response.
pub async fn serve(
    id: ContentId,
    asked: &IiifRequest,
    service: &Service<'_>,
    repository: &Repository<'_>,
    (request, env): (&Request, &Env),
) -> Result<Outgoing> {
    let Service { addresses, regions, .. } = service;
    let renders = regions.is_some();
    if *asked == IiifRequest::Base {
        let to = format!("{}/info.json", addresses.iiif(id));
        return Ok(Outgoing::Buffered(Response::empty(StatusCode::SEE_OTHER).with("Location", to)));
    }
    let content = match by_id(id, repository).await {
        Ok(content) => content,
        Err(error) => return Ok(Outgoing::Buffered(error.response())),
    };
    let (attempt, finished) = match ready(&content, renders) {
        Ok(ready) => ready,
        Err(response) => return Ok(Outgoing::Buffered(response)),
    };
    let response = match asked {
        IiifRequest::Base | IiifRequest::Info => iiif::description(id, &finished.dzi, addresses, renders),
        IiifRequest::Manifest => iiif::manifest(&content, &pages::name(&content), addresses, renders)
            .unwrap_or_else(plain::not_found),
        IiifRequest::Image(Ok(image)) => {
            return serve_image((id, attempt, finished), image, service, repository, (request, env)).await;
        }
        // Without rendering, there is more to say.
        IiifRequest::Image(Err(ImageRequestError::Unsupported)) if !renders => {
            refused(ImageRequestError::NotStored)
        }
        IiifRequest::Image(Err(error)) => refused(*error),
    };
    Ok(Outgoing::Buffered(response))
}

/// Returns a ready content's attempt and result, or else the response that says why there is none. Tiles that overlap
/// are none of IIIF's, but images can be rendered from them.
fn ready(content: &Content, renders: bool) -> std::result::Result<(Attempt, &Finished), Response> {
    match &content.status {
        Status::Ready { attempt, finished } if renders || finished.dzi.tile_overlap == 0 => {
            Ok((*attempt, finished))
        }
        Status::Ready { .. } => {
            let why =
                "This picture's tiles overlap, which IIIF does not allow. Use its Deep Zoom descriptor.";
            Err(Response::text(StatusCode::NOT_FOUND, why))
        }
        Status::Processing { .. } => Err(ApiError::NotReady.response()),
        Status::Failed { .. } => Err(ApiError::NeverReady.response()),
    }
}

/// Returns the response with the requested image: a stored one, or a rendered one.
async fn serve_image(
    (id, attempt, finished): (ContentId, Attempt, &Finished),
    asked: &ImageRequest,
    service: &Service<'_>,
    repository: &Repository<'_>,
    (request, env): (&Request, &Env),
) -> Result<Outgoing> {
    let Service { addresses, regions, client } = service;
    let renders = regions.is_some();
    let image = match iiif::select(asked, &finished.dzi, renders) {
        Ok(image) => image,
        Err(error) => return Ok(Outgoing::Buffered(refused(error))),
    };
    let path = iiif::canonical_path(&image.rendering, &finished.dzi, renders);
    let address = format!("{}/{path}", addresses.iiif(id));
    let profile = iiif::profile(renders);
    let link =
        format!("<http://iiif.io/api/image/3/{profile}.json>;rel=\"profile\", <{address}>;rel=\"canonical\"");
    let response = match (image.stored, regions) {
        (Some(StoredImage::Preview), _) => {
            object::preview(id, PreviewKind::Large, request, repository, env).await?
        }
        (Some(StoredImage::Tile(object)), _) => {
            // Under another spelling, the platform's cache does not find it. Conditions and ranges may be ignored.
            if request.method() == Method::Get
                && request.inner().url() != address
                && let Some(kept) = pictures::kept(&address).await?
            {
                return Ok(Outgoing::Made(kept));
            }
            let key = ObjectKey { id, attempt, object };
            let response = object::serve(&key, request, repository, env).await?;
            response.map_or_else(|| Outgoing::Buffered(plain::not_found()), Outgoing::Streamed)
        }
        (None, Some(regions)) => {
            let picture = Picture {
                id,
                attempt,
                finished,
                rendering: image.rendering,
                purpose: "iiif",
                address,
                link: Some(link),
                seconds: DAY,
            };
            return regions::serve(&picture, regions, client().as_ref(), repository, (request, env)).await;
        }
        (None, None) => Outgoing::Buffered(refused(ImageRequestError::NotStored)),
    };
    let Outgoing::Streamed(response) = response else { return Ok(response) };
    response.headers().set("Link", &link)?;
    object::keep_for(DAY, &response)?;
    Ok(Outgoing::Streamed(response))
}

fn refused(error: ImageRequestError) -> Response {
    let status = match error {
        ImageRequestError::Malformed(_)
        | ImageRequestError::Outside
        | ImageRequestError::Enlarged
        | ImageRequestError::TooLarge => StatusCode::BAD_REQUEST,
        ImageRequestError::Unsupported | ImageRequestError::NotStored => StatusCode::NOT_IMPLEMENTED,
    };
    Response::text(status, error.to_string())
}
