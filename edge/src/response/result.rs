//! A result of the API before it is written in a variant: with its own status, or in a response object for clients that
//! cannot read statuses and headers (`Response` in `edge/interface/openapi.json`).

use http::StatusCode;

use super::element::Element::{self, Count, Object, Text};
use super::negotiation::{Format, Variant};
use super::{ApiError, CachePolicy, Response, escape};

pub(crate) struct ApiResult {
    /// Status, in the status line or in the response object.
    pub status: StatusCode,
    pub cache: CachePolicy,
    /// Target of a 301.
    pub location: Option<String>,
    /// The named object, or the error.
    pub outcome: Result<(&'static str, Element), ApiError>,
}

impl ApiResult {
    /// Returns the response in a variant.
    pub fn write(self, variant: &Variant) -> Response {
        let cache = self.cache;
        let wrapped = Some(self.status);
        let ok = |media_type, body| Response {
            wrapped,
            ..Response::new(StatusCode::OK, media_type, cache, body).tagged()
        };
        match variant {
            Variant::Standard(format) => self.standard(*format),
            Variant::Wrapped(format) => {
                ok(format.media_type(), print(*format, "response", self.response_object()))
            }
            Variant::Jsonp(callback) => {
                // The comment keeps clients from choosing the first bytes, by which browsers may guess another type.
                let json = escape::script(&self.response_object().json());
                let script = format!("/**/ typeof {callback} === \"function\" && {callback}({json});");
                ok("text/javascript; charset=utf-8", script)
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
            // The object's own address has the same body, so its tag must differ.
            Some(location) => response.tagged_with(location),
            None => response.tagged(),
        };
        let response = response.with("Vary", "Accept");
        match self.location {
            Some(location) => response.with("Location", location),
            None => response,
        }
    }

    /// Returns the response object. It has either the named object or `error`.
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
