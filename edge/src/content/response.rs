//! The responses of `/v1/content/`: the content object or the error, with a status of its own or in a response object,
//! which is for clients that cannot read statuses and headers (`Response` in `edge/interface/openapi.json`).

use edgezoom_content::Timestamp;
use http::StatusCode;

use crate::config::Addresses;
use crate::content::lookup::FoundContent;
use crate::response::element::Element::{self, Count, Object, Printed, Text};
use crate::response::escape;
use crate::response::negotiation::{Format, Variant};
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
        let wrapped = |format| print(format, "response", response_object(self, format, addresses, now));
        match variant {
            Variant::Standard(format) => self.standard(*format, addresses, now),
            Variant::Wrapped(format) => {
                Response::new(StatusCode::OK, format.media_type(), self.cache_policy(now), wrapped(*format))
            }
            Variant::Jsonp(callback) => {
                // The comment keeps what follows from being taken for anything but a script: the body's first bytes are
                // ours.
                let json = escape::script(&wrapped(Format::Json));
                let script = format!("/**/ typeof {callback} === \"function\" && {callback}({json});");
                Response::new(
                    StatusCode::OK,
                    "text/javascript; charset=utf-8",
                    self.cache_policy(now),
                    script,
                )
            }
        }
    }

    fn standard(&self, format: Format, addresses: &Addresses, now: Timestamp) -> Response {
        let found = match self {
            Self::Moved(found) | Self::Found(found) => found,
            Self::Failed(error) => return error.response(),
        };
        let body = print(format, "content", Printed(found.printed(format, addresses, now)));
        let response = Response::new(self.status(), format.media_type(), self.cache_policy(now), body)
            .tagged()
            .with("Vary", "Accept");
        match self {
            Self::Moved(found) => response.with("Location", addresses.content(found.id())),
            _ => response,
        }
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

fn print(format: Format, root: &str, element: Element) -> String {
    match format {
        Format::Json => element.json(),
        Format::Xml => element.xml(root),
    }
}

/// The response object. It has either `content` or `error`.
fn response_object(
    result: &ContentResponse,
    format: Format,
    addresses: &Addresses,
    now: Timestamp,
) -> Element {
    let status = result.status();
    let mut fields = vec![
        ("status", Count(status.as_u16().into())),
        ("statusText", Text(status.canonical_reason().unwrap_or_default().to_owned())),
    ];
    if let ContentResponse::Moved(found) = result {
        fields.push(("redirectLocation", Text(addresses.content(found.id()))));
    }
    match result {
        ContentResponse::Moved(found) | ContentResponse::Found(found) => {
            fields.push(("content", Printed(found.printed(format, addresses, now))))
        }
        ContentResponse::Failed(error) => {
            fields.extend(error.retry_after().map(|time| ("retryAfter", Count(time.as_secs()))));
            fields.push(("error", Text(error.to_string())));
        }
    }
    Object(fields)
}
