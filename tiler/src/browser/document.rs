//! The document in the main frame. [`Document::check`] decides whether it is the requested page, from what the browser
//! and the proxy report about it.

use std::collections::HashMap;

use serde_json::Value;
use url::Url;

use super::error::PageError;
use super::proxy::connector::ConnectError;

/// A document in the main frame, as the browser's events describe it.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    /// Its URL. For an error page of the browser, the URL that could not be loaded.
    pub url: String,
    /// True once `DOMContentLoaded` has fired: its HTML is parsed.
    pub parsed: bool,
    /// True once `load` has fired: its subresources are loaded.
    pub loaded: bool,
    /// True if its connection was closed before its end.
    pub truncated: bool,
    /// Its `loaderId`, which is also the id of its request.
    pub loader: String,
    /// The result of its request. An error means that the browser shows its own error page instead.
    pub result: RequestResult,
}

/// The result of a request for a document.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestResult {
    /// Status and media type of the response.
    pub response: Option<(u16, String)>,
    /// Chromium's name for the reason why the request failed.
    pub error: Option<String>,
}

/// The results of requests for documents, by request id. The browser reports them before the main frame navigates to
/// the document, so they are kept until then.
#[derive(Debug, Default)]
pub(super) struct DocumentRequests(HashMap<String, RequestResult>);

/// Maximum number of results kept. A page with more requests for documents at a time never loads anyway.
const MAX_RESULTS: usize = 10_000;

impl DocumentRequests {
    /// Records a `Response` of the Network domain.
    pub(super) fn received(&mut self, request: &str, response: &Value) {
        let status = response["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or(0);
        let media_type = response["mimeType"].as_str().unwrap_or_default().to_ascii_lowercase();
        self.entry(request).response = Some((status, media_type));
    }

    /// Records why a request failed.
    pub(super) fn failed(&mut self, request: &str, error: &str) {
        self.entry(request).error = Some(error.to_owned());
    }

    /// Removes and returns the result for a document. Its `loaderId` is the id of its request.
    pub(super) fn take(&mut self, loader: &str) -> RequestResult {
        self.0.remove(loader).unwrap_or_default()
    }

    fn entry(&mut self, request: &str) -> &mut RequestResult {
        if self.0.len() >= MAX_RESULTS {
            self.0.clear();
        }
        self.0.entry(request.to_owned()).or_default()
    }
}

impl Document {
    /// Fails unless this is a page that can be captured. `connect_error` returns why the proxy could not connect to a
    /// host, if it could not.
    pub(super) fn check(
        &self,
        connect_error: impl Fn(&str, u16) -> Option<ConnectError>,
    ) -> Result<(), PageError> {
        let url = Url::parse(&self.url).map_err(|_| PageError::NoPage)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(PageError::NoPage);
        }
        let RequestResult { response, error } = &self.result;
        let status = response.as_ref().map(|(status, _)| *status);
        if error.is_some() || matches!(status, Some(403 | 502)) {
            // The response may be the proxy's own. The proxy has recorded the reason then.
            let host = url.host_str().zip(url.port_or_known_default());
            if let Some(error) = host.and_then(|(host, port)| connect_error(host, port)) {
                return Err(error.into());
            }
        }
        match (status, error) {
            (Some(status), _) if status >= 400 => Err(PageError::Answered(status)),
            (_, Some(error)) => Err(network_error(error)),
            _ if response.as_ref().is_some_and(|(_, media_type)| !is_page_type(media_type)) => {
                Err(PageError::NoPage)
            }
            _ => Ok(()),
        }
    }
}

/// Converts a network error for the page's own URL.
/// Source: <https://source.chromium.org/chromium/chromium/src/+/main:net/base/net_error_list.h>.
pub(super) fn network_error(error: &str) -> PageError {
    match error {
        "net::ERR_ABORTED" => PageError::NoPage, // a download, or status 204 or 205
        "net::ERR_UNKNOWN_URL_SCHEME" | "net::ERR_DISALLOWED_URL_SCHEME" | "net::ERR_INVALID_URL" => {
            PageError::NoPage
        }
        "net::ERR_NAME_NOT_RESOLVED" => PageError::Unresolved,
        _ => PageError::Unreachable,
    }
}

/// Returns true for the media types that Chromium displays as pages: HTML, XHTML and XML, and plain text.
fn is_page_type(media_type: &str) -> bool {
    matches!(
        media_type,
        "text/html" | "application/xhtml+xml" | "application/xml" | "text/xml" | "text/plain" | ""
    )
}

#[cfg(test)]
mod tests {
    use edgezoom_content::FailureCode;

    use super::*;
    use crate::failure::of_page;

    fn code(
        url: &str,
        response: Option<(u16, &str)>,
        error: Option<&str>,
        connect_error: Option<ConnectError>,
    ) -> Option<FailureCode> {
        let document = Document {
            url: url.to_owned(),
            result: RequestResult {
                response: response.map(|(status, media_type)| (status, media_type.to_owned())),
                error: error.map(str::to_owned),
            },
            ..Document::default()
        };
        document
            .check(|host, port| connect_error.filter(|_| (host, port) == ("a.example", 80)))
            .err()
            .map(|error| of_page(&error).code)
    }

    #[test]
    fn html_with_a_successful_status_is_a_page() {
        assert_eq!(code("http://a.example/", Some((200, "text/html")), None, None), None);
        assert_eq!(code("https://a.example/", Some((200, "application/xhtml+xml")), None, None), None);
        assert_eq!(code("http://a.example/", None, None, None), None); // a document that a script wrote
    }

    #[test]
    fn the_status_of_the_response_decides_the_failure() {
        use FailureCode::*;
        for (status, expected) in [
            (401, SourceForbidden),
            (403, SourceForbidden),
            (404, SourceNotFound),
            (410, SourceNotFound),
            (429, SourceUnreachable),
            (500, SourceUnreachable),
            (503, SourceUnreachable),
        ] {
            assert_eq!(code("http://a.example/", Some((status, "text/html")), None, None), Some(expected));
        }
    }

    #[test]
    fn the_reason_recorded_by_the_proxy_takes_precedence_over_the_status() {
        use FailureCode::*;
        let error = Some("net::ERR_HTTP_RESPONSE_CODE_FAILURE");
        assert_eq!(
            code("http://a.example/", Some((403, "")), error, Some(ConnectError::Refused)),
            Some(SourceForbidden)
        );
        assert_eq!(
            code("http://a.example/", Some((502, "")), error, Some(ConnectError::Unresolved)),
            Some(SourceUnreachable)
        );
        // The host's server sent this response, although another connection to it failed.
        assert_eq!(
            code("http://a.example/", Some((404, "")), None, Some(ConnectError::Unreachable)),
            Some(SourceNotFound)
        );
        assert_eq!(
            code("http://a.example/", Some((200, "text/html")), None, Some(ConnectError::Refused)),
            None
        );
    }

    #[test]
    fn other_sources_than_pages_are_unsupported() {
        use FailureCode::*;
        assert_eq!(
            code("http://a.example/", Some((200, "application/zip")), None, None),
            Some(UnsupportedFormat)
        );
        assert_eq!(code("http://a.example/", None, Some("net::ERR_ABORTED"), None), Some(UnsupportedFormat));
        for url in ["file:///etc/passwd", "chrome://crash/", "about:blank", "data:text/html,a", ""] {
            assert_eq!(code(url, None, None, None), Some(UnsupportedFormat), "{url}");
        }
        assert_eq!(
            code("https://a.example/", None, Some("net::ERR_CERT_DATE_INVALID"), None),
            Some(SourceUnreachable)
        );
    }
}
