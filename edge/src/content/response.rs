//! The responses of `/v1/content/`, with the content object, and of `/v1/dzi/`, with its `dzi` object alone.

use edgezoom_content::{Content, Finished, Status, Timestamp};
use http::StatusCode;

use crate::config::Addresses;
use crate::content::lookup::FoundContent;
use crate::content::representation::dzi_object;
use crate::response::element::Element::Printed;
use crate::response::negotiation::Variant;
use crate::response::result::ApiResult;
use crate::response::{ApiError, CachePolicy, Response};

/// The result of a request for a content, before a variant is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentResponse {
    /// The content of a URL: 301, to its address by id.
    Moved(FoundContent),
    /// The content with an id: 200.
    Found(FoundContent),
    /// No content: the status of the error.
    Failed(ApiError),
}

impl ContentResponse {
    /// The response in a variant.
    #[must_use]
    pub fn write(&self, variant: &Variant, addresses: &Addresses, now: Timestamp) -> Response {
        let location = match self {
            Self::Moved(found) => Some(addresses.content(found.id())),
            Self::Found(_) | Self::Failed(_) => None,
        };
        let outcome = match self {
            Self::Moved(found) | Self::Found(found) => {
                Ok(("content", Printed(found.printed(variant.format(), addresses, now))))
            }
            Self::Failed(error) => Err(error.clone()),
        };
        ApiResult { status: self.status(), cache: self.cache_policy(now), location, outcome }.write(variant)
    }

    /// The status of the standard variant, which the other variants have in the response object.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Moved(_) => StatusCode::MOVED_PERMANENTLY,
            Self::Found(_) => StatusCode::OK,
            Self::Failed(error) => error.status(),
        }
    }

    fn cache_policy(&self, now: Timestamp) -> CachePolicy {
        match self {
            Self::Moved(found) | Self::Found(found) => found.cache_policy(now),
            Self::Failed(_) => CachePolicy::NoStore,
        }
    }
}

/// The response of `/v1/dzi/` for a content, in a variant. zoom.it's JavaScript client asks for it, and understands: a
/// `dzi` object, when the content is ready; 404 with a time to ask again, while it is not; 404 without one, when it
/// never will be. `found` is the content, and whether the request named its URL.
#[must_use]
pub fn dzi_response(
    found: Result<(Content, bool), ApiError>,
    variant: &Variant,
    addresses: &Addresses,
) -> Response {
    let ready = found.and_then(|(content, by_url)| match &content.status {
        Status::Ready { attempt, finished: Finished { dzi, archive, .. } } => {
            let location = by_url.then(|| addresses.dzi(content.id));
            Ok((location, dzi_object(dzi, addresses.descriptor(content.id, *attempt, *archive))))
        }
        Status::Processing { .. } => Err(ApiError::NotReady),
        Status::Failed { .. } => Err(ApiError::NeverReady),
    });
    let result = match ready {
        Ok((location, dzi)) => {
            let status = if location.is_some() { StatusCode::MOVED_PERMANENTLY } else { StatusCode::OK };
            ApiResult { status, cache: CachePolicy::OneHour, location, outcome: Ok(("dzi", dzi)) }
        }
        Err(error) => {
            let status = error.status();
            ApiResult { status, cache: CachePolicy::NoStore, location: None, outcome: Err(error) }
        }
    };
    result.write(variant)
}
