//! Whether what the main frame shows is the page that was asked for, as a pure function of what the browser and the proxy
//! know of it.

use url::Url;

use super::error::PageError;
use super::page_state::Document;
use super::proxy::connector::Closed;

/// Whether `document` is a page to be captured. `closed` tells why the proxy could not reach a host, if it could not.
pub(super) fn on(document: &Document, closed: impl Fn(&str, u16) -> Option<Closed>) -> Result<(), PageError> {
    let url = Url::parse(&document.url).map_err(|_| PageError::NoPage)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(PageError::NoPage);
    }
    let status = document.answer.as_ref().map(|(status, _)| *status);
    if document.error.is_some() || matches!(status, Some(403 | 502)) {
        // It may be the proxy that answered so, and then it has noted why.
        let host = url.host_str().zip(url.port_or_known_default());
        if let Some(closed) = host.and_then(|(host, port)| closed(host, port)) {
            return Err(closed.into());
        }
    }
    match (status, &document.error) {
        (Some(status), _) if status >= 400 => Err(PageError::Answered(status)),
        (_, Some(error)) => Err(of_error(error)),
        _ if document.answer.as_ref().is_some_and(|(_, kind)| !is_page(kind)) => Err(PageError::NoPage),
        _ => Ok(()),
    }
}

/// What one of Chromium's `net::ERR_…` means for the page's own URL.
pub(super) fn of_error(error: &str) -> PageError {
    match error {
        "net::ERR_ABORTED" => PageError::NoPage, // a download, or an answer without content
        "net::ERR_UNKNOWN_URL_SCHEME" | "net::ERR_DISALLOWED_URL_SCHEME" | "net::ERR_INVALID_URL" => {
            PageError::NoPage
        }
        "net::ERR_NAME_NOT_RESOLVED" => PageError::Unresolved,
        _ => PageError::Unreachable,
    }
}

/// HTML in its two forms, the second under its general names too, and text, which Chromium shows as it is.
fn is_page(kind: &str) -> bool {
    matches!(kind, "text/html" | "application/xhtml+xml" | "application/xml" | "text/xml" | "text/plain" | "")
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{Failure, FailureCode};

    use super::*;

    fn code(
        url: &str,
        answer: Option<(u16, &str)>,
        error: Option<&str>,
        closed: Option<Closed>,
    ) -> Option<FailureCode> {
        let document = Document {
            url: url.to_owned(),
            answer: answer.map(|(status, kind)| (status, kind.to_owned())),
            error: error.map(str::to_owned),
            ..Document::default()
        };
        on(&document, |host, port| closed.filter(|_| (host, port) == ("a.example", 80)))
            .err()
            .map(|error| Failure::from(error).code)
    }

    #[test]
    fn a_page_is_html_that_was_answered_well() {
        assert_eq!(code("http://a.example/", Some((200, "text/html")), None, None), None);
        assert_eq!(code("https://a.example/", Some((200, "application/xhtml+xml")), None, None), None);
        assert_eq!(code("http://a.example/", None, None, None), None); // a document that a script wrote
    }

    #[test]
    fn what_the_server_says_decides_the_failure() {
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
    fn the_proxys_reason_counts_before_its_answer() {
        use FailureCode::*;
        let error = Some("net::ERR_HTTP_RESPONSE_CODE_FAILURE");
        assert_eq!(
            code("http://a.example/", Some((403, "")), error, Some(Closed::Refused)),
            Some(SourceForbidden)
        );
        assert_eq!(
            code("http://a.example/", Some((502, "")), error, Some(Closed::Unresolved)),
            Some(SourceUnreachable)
        );
        // Something else of the same host could not be had, but this is what its server answered.
        assert_eq!(
            code("http://a.example/", Some((404, "")), None, Some(Closed::Unreachable)),
            Some(SourceNotFound)
        );
        assert_eq!(code("http://a.example/", Some((200, "text/html")), None, Some(Closed::Refused)), None);
    }

    #[test]
    fn what_is_no_page_is_told_so() {
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
