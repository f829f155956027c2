//! `/iiif/<id>/…`: a content's description, manifest and images for IIIF clients.

use edgezoom_content::{Attempt, Content, ContentId, Dzi, Finished, PreviewKind, Status, StoredPage};
use http::StatusCode;
use worker::{Env, Method, Request, Result};

use super::object;
use crate::admission::client::Client;
use crate::config::{Addresses, Regions};
use crate::durable::admit::admit_search;
use crate::lookup::content::by_id;
use crate::lookup::repository::Repository;
use crate::pages;
use crate::platform::bridge::Outgoing;
use crate::regions::{self, Picture, pictures};
use crate::representation::iiif::{self, StoredImage};
use crate::request::iiif::{IiifRequest, ImageRequest, ImageRequestError};
use crate::request::object_key::ObjectKey;
use crate::response::{ApiError, Response, plain};
use crate::text::TextLayer;

/// Seconds for which caches keep an image.
const DAY: u32 = 86_400;

/// The configuration of the service and the client of a request.
pub struct Service<'a> {
    pub addresses: &'a Addresses,
    /// Limits on rendered images; `None` if only stored ones are served.
    pub regions: Option<&'a Regions>,
    pub client: &'a dyn Fn() -> Option<Client>,
}

/// Returns the response. `page` is the number of a page of a document, which is an image of its own.
pub async fn serve(
    id: ContentId,
    page: Option<u32>,
    asked: &IiifRequest,
    service: &Service<'_>,
    repository: &Repository<'_>,
    (request, env): (&Request, &Env),
) -> Result<Outgoing> {
    let Service { addresses, regions, .. } = service;
    let renders = regions.is_some();
    let base = page.map_or_else(|| addresses.iiif(id), |page| addresses.iiif_page(id, page as usize));
    if *asked == IiifRequest::Base {
        let to = format!("{base}/info.json");
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
    let needs_table = page.is_some() || matches!(asked, IiifRequest::Manifest | IiifRequest::Annotations(_));
    let words = TextLayer::of(id, attempt, finished).filter(|_| needs_table);
    // Manifests and annotations of many pages or lines take as long as a search.
    if words.is_some()
        && page.is_none()
        && let Err(error) = admit_search((service.client)().as_ref(), env).await
    {
        return Ok(Outgoing::Buffered(error.response()));
    }
    let table = match &words {
        Some(words) => Some(words.table(env).await?),
        None => None,
    };
    let pages = table.as_ref().map(|table| table.pages.as_slice()).unwrap_or_default();
    let page = match page.map(|number| pages.get(number as usize - 1)) {
        None => None,
        Some(Some(page)) if iiif::has_canvases(pages, renders) => Some(page),
        Some(_) => return Ok(Outgoing::Buffered(plain::not_found())),
    };
    let dzi = &page.map_or(finished.dzi, |page| iiif::page_dzi(&finished.dzi, page));
    let response = match asked {
        IiifRequest::Base | IiifRequest::Info => {
            let rights = content.credits().and_then(|credits| credits.rights.as_ref());
            iiif::description(base, dzi, rights, renders)
        }
        IiifRequest::Manifest => {
            iiif::manifest(&content, &pages::name(&content), table.as_ref(), addresses, renders)
                .unwrap_or_else(plain::not_found)
        }
        IiifRequest::Annotations(number) => match &words {
            Some(words) => words.annotations(*number, pages, &base, renders, env).await?,
            None => plain::not_found(),
        },
        IiifRequest::Image(Ok(image)) => {
            let asked = AskedImage { image, base: &base, dzi, page };
            return serve_image((id, attempt, finished), &asked, service, repository, (request, env)).await;
        }
        // Without rendering, there is more to say.
        IiifRequest::Image(Err(ImageRequestError::Unsupported)) if !renders => {
            refused(ImageRequestError::NotStored)
        }
        IiifRequest::Image(Err(error)) => refused(*error),
    };
    Ok(Outgoing::Buffered(response))
}

/// The requested image of a picture or of one page.
struct AskedImage<'a> {
    image: &'a ImageRequest,
    base: &'a str,
    dzi: &'a Dzi,
    page: Option<&'a StoredPage>,
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
    asked: &AskedImage<'_>,
    service: &Service<'_>,
    repository: &Repository<'_>,
    (request, env): (&Request, &Env),
) -> Result<Outgoing> {
    let Service { regions, client, .. } = service;
    let renders = regions.is_some();
    let AskedImage { image, base, dzi, page } = asked;
    let image = match iiif::select(image, dzi, renders) {
        Ok(image) => image,
        Err(error) => return Ok(Outgoing::Buffered(refused(error))),
    };
    let address = format!("{base}/{}", iiif::canonical_path(&image.rendering, dzi, renders));
    let profile = iiif::profile(renders);
    let link =
        format!("<http://iiif.io/api/image/3/{profile}.json>;rel=\"profile\", <{address}>;rel=\"canonical\"");
    // Tiles of a page are not stored.
    let response = match (image.stored.filter(|_| page.is_none()), regions) {
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
                rendering: page.map_or(image.rendering, |page| iiif::of_picture(image.rendering, page)),
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
