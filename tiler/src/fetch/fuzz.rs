//! Fuzz targets for what servers send before a source's bytes: robots.txt and the headers of responses. Each function
//! takes any bytes and panics if an invariant is violated. The test below runs them briefly on mutated seeds, and the
//! programs in `tests/fuzz/` run them under libFuzzer.

use std::time::{Duration, Instant, SystemTime};

use edgezoom_content::SourceUrl;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};

use super::redirect;
use super::resumption::{Continuation, Validator};
use super::robots::Rules;
use crate::bot::PRODUCT;
use crate::http_client;

/// Parses a path in the first line and a robots.txt after it.
///
/// # Panics
/// The file disallows itself, or its delay exceeds a day.
pub fn robots(bytes: &[u8]) {
    let (path, file) = split(bytes);
    let rules = Rules::parse(file, PRODUCT);
    let _ = rules.allow(&String::from_utf8_lossy(path));
    assert!(rules.allow("/robots.txt"));
    assert!(
        rules.delay().is_none_or(|delay| delay <= Duration::from_secs(24 * 60 * 60)),
        "{:?}",
        rules.delay()
    );
}

/// Parses a status in the first line and the headers of a response after it: redirect target, resumption, `Retry-After`
/// and the publisher's reservations.
///
/// # Panics
/// A redirect leads to a URL that is not a source, or a range that does not fit is appended.
pub fn response_headers(bytes: &[u8]) {
    let (status, lines) = split(bytes);
    let status = std::str::from_utf8(status)
        .ok()
        .and_then(|status| status.parse().ok())
        .unwrap_or(StatusCode::PARTIAL_CONTENT);
    let headers = headers(lines);
    let Ok(from) = SourceUrl::parse("https://a.example/b/c?d#page=2") else { unreachable!() };
    if let Ok(Some(to)) = redirect::target(&from, status, headers.get_all(LOCATION)) {
        assert_eq!(SourceUrl::parse(to.as_str()), Ok(to));
    }
    let validator = Validator::of(&headers).unwrap_or(Validator::Tag(HeaderValue::from_static("\"a\"")));
    for (received, total) in [(300, Some(1000)), (300, None), (0, None)] {
        if let Continuation::Rest(length) = Continuation::of(status, &headers, &validator, received, total) {
            assert!(length > received && total.is_none_or(|total| total == length));
        }
    }
    let wait = http_client::retry_after(&headers, SystemTime::now());
    assert!(wait.is_none_or(|wait| Instant::now().checked_add(wait).is_some()), "{wait:?}");
}

/// Splits off the first line.
fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

fn headers(lines: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default().trim_ascii();
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn any_robots_and_headers_are_parsed_or_refused() {
        hunt(&[
            Target {
                name: "robots",
                run: robots,
                seeds: &[
                    b"/a/b?c=%41\nUser-agent: *\nDisallow: /a*b$\nAllow: /a/%62*\nCrawl-delay: 1.5\n",
                    b"/\n\xef\xbb\xbfuser-agent: Edgezoom/1 # us\r\nuser-agent: b\r\ndisallow:\r\n\r\nUser\
                        -Agent: c\r\nDisallow: /",
                    // Once overflowed when added to the current time.
                    b"/\nUser-agent: *\nCrawl-delay: 1e19",
                ],
            },
            Target {
                name: "response_headers",
                run: response_headers,
                seeds: &[
                    b"302\nLocation: //b.example:8080/../d?e#f",
                    b"308\nLocation: http://\xc3\xa4.example/\xc3\xa4",
                    b"206\nContent-Range: bytes 300-999/1000\nETag: \"a\"",
                    b"206\nContent-Range: bytes 300-18446744073709551615/18446744073709551615\nETag: \"a\"",
                    b"200\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\nDate: Sunday, 06-Nov-94 08:50:37 \
                        GMT\nAccept-Ranges: none",
                    b"429\nRetry-After: Sun, 06 Nov 2044 08:49:37 GMT\nRetry-After: 18446744073709551615",
                ],
            },
        ]);
    }
}
