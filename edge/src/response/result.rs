//! A result of the interface, before it is written in a variant: with a status of its own, or in a response object, which
//! is for clients that cannot read statuses and headers (`Response` in `edge/interface/openapi.json`).

use http::StatusCode;

use super::element::Element::{self, Count, Object, Text};
use super::negotiation::{Format, Variant};
use super::{ApiError, CachePolicy, Response, escape};

/// A result in parts.
pub(crate) struct ApiResult {
    /// The status of the standard variant, which the other variants have in the response object.
    pub status: StatusCode,
    /// How long the response may be cached.
    pub cache: CachePolicy,
    /// Where a 301 leads.
    pub location: Option<String>,
    /// The object with its name, or the error.
    pub outcome: Result<(&'static str, Element), ApiError>,
}

impl ApiResult {
    /// The response in a variant.
    pub fn write(self, variant: &Variant) -> Response {
        let (cache, told) = (self.cache, Some(self.status));
        let wrapped = |media_type, body| Response {
            told,
            ..Response::new(StatusCode::OK, media_type, cache, body).tagged()
        };
        match variant {
            Variant::Standard(format) => self.standard(*format),
            Variant::Wrapped(format) => {
                wrapped(format.media_type(), print(*format, "response", self.response_object()))
            }
            Variant::Jsonp(callback) => {
                // The comment keeps what follows from being taken for anything but a script: the body's first bytes are
                // ours.
                let json = escape::script(&self.response_object().json());
                let script = format!("/**/ typeof {callback} === \"function\" && {callback}({json});");
                wrapped("text/javascript; charset=utf-8", script)
            }
        }
    }

    fn standard(self, format: Format) -> Response {
        let (name, object) = match self.outcome {
            Ok(named) => named,
            Err(error) => return error.response(),
        };
        let body = print(format, name, object);
        let response = Response::new(self.status, format.media_type(), self.cache, body);
        let response = match &self.location {
            // The tag is not that of the object's own address, whose body is the same.
            Some(location) => response.tagged_with(location),
            None => response.tagged(),
        };
        let response = response.with("Vary", "Accept");
        match self.location {
            Some(location) => response.with("Location", location),
            None => response,
        }
    }

    /// The response object. It has either the object or `error`.
    fn response_object(self) -> Element {
        let mut fields = vec![
            ("status", Count(self.status.as_u16().into())),
            ("statusText", Text(self.status.canonical_reason().unwrap_or_default().to_owned())),
        ];
        fields.extend(self.location.map(|location| ("redirectLocation", Text(location))));
        match self.outcome {
            Ok(named) => fields.push(named),
            Err(error) => {
                fields.extend(error.retry_after().map(|time| ("retryAfter", Count(time.as_secs()))));
                fields.push(("error", Text(error.to_string())));
            }
        }
        Object(fields)
    }
}

fn print(format: Format, root: &str, element: Element) -> String {
    match format {
        Format::Json => element.json(),
        Format::Xml => element.xml(root),
    }
}
