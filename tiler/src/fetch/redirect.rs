//! Finds the target of a redirect (RFC 9110, 15.4). It is parsed like a URL from a client, so its scheme is http or
//! https, and it has neither credentials nor a private host.

use edgezoom_content::SourceUrl;
use percent_encoding::{AsciiSet, percent_encode};
use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use url::Url;

use super::error::FetchError;

/// Returns the target of a redirect; `None` for other responses.
pub(super) fn target<'a>(
    from: &SourceUrl,
    status: StatusCode,
    location: impl IntoIterator<Item = &'a HeaderValue>,
) -> Result<Option<SourceUrl>, FetchError> {
    use StatusCode as S;
    let redirects =
        [S::MOVED_PERMANENTLY, S::FOUND, S::SEE_OTHER, S::TEMPORARY_REDIRECT, S::PERMANENT_REDIRECT];
    if !redirects.contains(&status) {
        return Ok(None);
    }
    let from = Url::parse(from.as_str()).map_err(|_| FetchError::RedirectsNowhere)?;
    // An empty value does not count (Chromium: HttpResponseHeaders::IsRedirect).
    let location = location.into_iter().find(|location| !location.is_empty());
    let location = location.ok_or(FetchError::RedirectsNowhere)?;
    let mut to = from.join(&escaped(location.as_bytes())).map_err(|_| FetchError::RedirectsNowhere)?;
    if to.fragment().is_none() {
        to.set_fragment(from.fragment()); // RFC 9110, 10.2.2
    }
    Ok(Some(SourceUrl::parse(to.as_str())?))
}

/// Escapes the bytes of a `Location` that are not ASCII, as browsers do. So they arrive as the server has sent them, in
/// UTF-8, in Latin-1 or in any other encoding.
fn escaped(location: &[u8]) -> String {
    percent_encode(location, &AsciiSet::EMPTY).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(from: &str, status: u16, location: &[u8]) -> Result<Option<String>, FetchError> {
        let location = HeaderValue::from_bytes(location).unwrap();
        let from = SourceUrl::parse(from).unwrap();
        let target = target(&from, StatusCode::from_u16(status).unwrap(), [&location])?;
        Ok(target.map(String::from))
    }

    #[test]
    fn a_target_is_relative_to_the_redirecting_url() {
        let followed = |location: &str| follow("https://a.example/b/c?d", 302, location.as_bytes()).unwrap();
        assert_eq!(followed("e").unwrap(), "https://a.example/b/e");
        assert_eq!(followed("/e#f").unwrap(), "https://a.example/e");
        assert_eq!(followed("//e.example/").unwrap(), "https://e.example/");
        assert_eq!(followed("http://E.example:80/ä").unwrap(), "http://e.example/%C3%A4");
    }

    #[test]
    fn a_target_has_the_bytes_that_the_server_has_sent() {
        let followed = |location: &[u8]| follow("http://a.example/b/", 301, location).unwrap().unwrap();
        assert_eq!(followed(b"/\xe4 b.jpg"), "http://a.example/%E4%20b.jpg");
        assert_eq!(followed("/ä.jpg?ö".as_bytes()), "http://a.example/%C3%A4.jpg?%C3%B6");
        assert_eq!(followed("http://ä.example/".as_bytes()), "http://xn--4ca.example/");
        assert_eq!(followed(b"  \\\\c.example\\d\\..\\e "), "http://c.example/e");
    }

    #[test]
    fn the_fragment_of_a_hash_routed_page_survives() {
        assert_eq!(
            follow("http://a.example/#/map", 301, b"/new").unwrap().unwrap(),
            "http://a.example/new#/map"
        );
        assert_eq!(
            follow("http://a.example/#/map", 301, b"/new#/plan").unwrap().unwrap(),
            "http://a.example/new#/plan"
        );
    }

    #[test]
    fn a_target_that_is_not_accepted_as_a_source_is_refused() {
        for location in [
            "file:///etc/passwd",
            "ftp://a.example/",
            "javascript:1",
            "http://intranet/",
            "http://u:p@a.example/",
        ] {
            let refused = follow("http://a.example/", 301, location.as_bytes());
            assert!(matches!(refused, Err(FetchError::RedirectRefused(_))), "{location}: {refused:?}");
        }
    }

    #[test]
    fn a_redirect_needs_a_valid_location() {
        for location in [&b"http://"[..], b"http://[", b"http://\xff/", b""] {
            let result = follow("http://a.example/", 301, location);
            assert!(matches!(result, Err(FetchError::RedirectsNowhere)), "{result:?}");
        }
        let from = SourceUrl::parse("http://a.example/").unwrap();
        assert!(matches!(target(&from, StatusCode::FOUND, []), Err(FetchError::RedirectsNowhere)));
    }

    #[test]
    fn other_responses_do_not_redirect() {
        for status in [200, 201, 300, 304, 404] {
            assert_eq!(follow("http://a.example/", status, b"/b").unwrap(), None);
        }
    }
}
