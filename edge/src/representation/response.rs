//! The responses about a content: `/v1/content/` has the content object, `/v1/dzi/` its `dzi` object alone, and
//! `/v1/content/<id>/dzi.js` the descriptor as a script.

use edgezoom_content::{Content, ContentId, DeletionKey, Finished, NAMESPACE, Status, Timestamp};
use http::StatusCode;

use crate::config::Addresses;
use crate::representation::cached_content::{CachedContent, InvalidCachedContent};
use crate::representation::{content_printed, dzi_object, owned_content_printed};
use crate::response::element::Element::{Object, Printed, Text};
use crate::response::escape;
use crate::response::negotiation::{Format, Variant};
use crate::response::result::ApiResult;
use crate::response::{ApiError, CachePolicy, Response, plain};

/// A content that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundContent {
    /// In KV, already printed: the conversion is finished.
    Cached(CachedContent),
    /// At its Durable Object.
    Current(Content),
    /// At its Durable Object, with the deletion key for the client that has just uploaded the file.
    Owned(Content, DeletionKey),
}

impl FoundContent {
    pub fn id(&self) -> ContentId {
        match self {
            Self::Cached(cached) => cached.id(),
            Self::Current(content) | Self::Owned(content, _) => content.id,
        }
    }

    fn cache_policy(&self, now: Timestamp) -> CachePolicy {
        match self {
            Self::Cached(cached) => {
                cached.retry_at().map_or(CachePolicy::OneHour, |retry_at| CachePolicy::until(retry_at, now))
            }
            Self::Current(content) => CachePolicy::of(&content.status, now),
            Self::Owned(..) => CachePolicy::NoStore,
        }
    }

    /// Returns the content object in a format; in XML, the children of the root element.
    fn printed(&self, format: Format, addresses: &Addresses, now: Timestamp) -> String {
        match self {
            Self::Cached(cached) => cached.printed(format, addresses, now),
            Self::Current(content) => content_printed(content, format, addresses, now),
            Self::Owned(content, key) => owned_content_printed(content, key, format, addresses, now),
        }
    }

    /// Returns the content as a value.
    ///
    /// # Errors
    /// Another version of the Worker wrote the value in KV.
    pub fn content(self) -> Result<Content, InvalidCachedContent> {
        match self {
            Self::Cached(cached) => cached.content(),
            Self::Current(content) | Self::Owned(content, _) => Ok(content),
        }
    }
}

impl From<Content> for FoundContent {
    fn from(content: Content) -> Self {
        Self::Current(content)
    }
}

/// The result of a request for a content, before it is written in a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentResponse {
    /// The content of a URL: 301 to its address by id.
    Moved(FoundContent),
    /// The content with an id: 200.
    Found(FoundContent),
    /// No content: the status of the error.
    Failed(ApiError),
}

impl ContentResponse {
    /// Returns the response in a variant.
    pub fn write(&self, variant: &Variant, addresses: &Addresses, now: Timestamp) -> Response {
        let (found, status, location) = match self {
            Self::Moved(found) => (found, StatusCode::MOVED_PERMANENTLY, Some(addresses.content(found.id()))),
            Self::Found(found) => (found, StatusCode::OK, None),
            Self::Failed(error) => return failed(error.clone(), variant),
        };
        let object = Printed(found.printed(variant.format(), addresses, now));
        ApiResult { status, cache: found.cache_policy(now), location, outcome: Ok(("content", object)) }
            .write(variant)
    }
}

/// Returns the response of `/v1/dzi/` for a content that was requested by its URL or by its id, in a variant. zoom.it's
/// JavaScript client uses it and understands: a `dzi` object if the content is ready; 404 with a time to try again if
/// it is not; 404 without one if it never will be.
pub fn dzi_response(
    content: Result<Content, ApiError>,
    by_url: bool,
    variant: &Variant,
    addresses: &Addresses,
) -> Response {
    let content = match content {
        Ok(content) => content,
        Err(error) => return failed(error, variant),
    };
    match &content.status {
        Status::Ready { attempt, finished: Finished { dzi, .. } } => {
            let location = by_url.then(|| addresses.dzi(content.id));
            let status = if by_url { StatusCode::MOVED_PERMANENTLY } else { StatusCode::OK };
            let dzi = dzi_object(dzi, addresses.descriptor(content.id, *attempt));
            ApiResult { status, cache: CachePolicy::OneHour, location, outcome: Ok(("dzi", dzi)) }
                .write(variant)
        }
        Status::Processing { .. } => failed(ApiError::NotReady, variant),
        Status::Failed { .. } => failed(ApiError::NeverReady, variant),
    }
}

fn failed(error: ApiError, variant: &Variant) -> Response {
    let status = error.status();
    ApiResult { status, cache: CachePolicy::NoStore, location: None, outcome: Err(error) }.write(variant)
}

/// Returns the descriptor of a ready content as a script; otherwise 404. OpenSeadragon loads a tile source whose
/// address ends in `.js` by JSONP: the script calls the function with the file's name
/// (<https://openseadragon.github.io/examples/tilesource-dzi/>).
pub fn descriptor_script(content: &Content, addresses: &Addresses) -> Response {
    let Status::Ready { attempt, finished: Finished { dzi, .. } } = &content.status else {
        return plain::not_found();
    };
    let number = |number: u32| Text(number.to_string()); // strings, as in the XML form
    let size = vec![("Width", number(dzi.size.width)), ("Height", number(dzi.size.height))];
    let image = vec![
        ("xmlns", Text(NAMESPACE.to_owned())),
        ("Url", Text(addresses.tiles(content.id, *attempt))),
        ("Format", Text(dzi.tile_format.extension().to_owned())),
        ("Overlap", number(dzi.tile_overlap)),
        ("TileSize", number(dzi.tile_size)),
        ("Size", Object(size)),
    ];
    let json = escape::script(&Object(vec![("Image", Object(image))]).json());
    Response::new(
        StatusCode::OK,
        "text/javascript; charset=utf-8",
        CachePolicy::OneHour,
        format!("dzi({json});"),
    )
    .tagged()
}
