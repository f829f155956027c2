//! Decides whether a download that broke off can be resumed where it ended (RFC 9110, sections 13.1.5 and 14). A range
//! fits the bytes received before only if both belong to the same version of the source, so it is requested with
//! `If-Range`, and its response is compared with the first one.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{
    ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderValue, LAST_MODIFIED,
};

/// Identifies a version of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Validator {
    /// A strong entity tag.
    Tag(HeaderValue),
    /// The date of its last change.
    Date(HeaderValue),
}

/// Meaning of the response to a request for the rest of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continuation {
    /// It contains the rest, to be appended. Contains the length of the whole source.
    Rest(u64),
    /// It contains the whole source: the source has changed, or the server does not support ranges.
    Whole,
    /// It contains neither.
    Unfit,
}

/// Minimum age of a source for its date to identify its version (RFC 9110, 8.8.2.2): two changes within a second have
/// the same date, and a minute covers clocks that differ.
const SETTLED: Duration = Duration::from_secs(60);

impl Validator {
    /// Returns the strong validator of a response, if it has one and its server supports ranges.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        if headers.get(ACCEPT_RANGES).is_some_and(|units| units == "none") {
            return None;
        }
        if let Some(tag) = headers.get(ETAG) {
            // A weak tag (`W/"…"`) is not enough, and rules out the date as well (13.1.5).
            return tag.as_bytes().starts_with(b"\"").then(|| Self::Tag(tag.clone()));
        }
        let changed = headers.get(LAST_MODIFIED)?;
        let date = |value: &HeaderValue| httpdate::parse_http_date(value.to_str().ok()?).ok();
        let age = date(headers.get(DATE)?)?.duration_since(date(changed)?).ok()?;
        (age >= SETTLED).then(|| Self::Date(changed.clone()))
    }

    /// Returns the value of `If-Range`.
    pub(super) fn if_range(&self) -> HeaderValue {
        match self {
            Self::Tag(value) | Self::Date(value) => value.clone(),
        }
    }

    /// Returns true unless the headers contradict. A 206 may leave out a validator that the client has sent (15.3.7).
    fn fits(&self, headers: &HeaderMap) -> bool {
        let (name, own) = match self {
            Self::Tag(tag) => (ETAG, tag),
            Self::Date(date) => (LAST_MODIFIED, date),
        };
        headers.get(name).is_none_or(|value| value == own)
    }
}

impl Continuation {
    /// Interprets the response to a request for all bytes from `received` on, of the version that `validator`
    /// identifies and whose length is `total`, if known.
    pub(super) fn of(
        status: StatusCode,
        headers: &HeaderMap,
        validator: &Validator,
        received: u64,
        total: Option<u64>,
    ) -> Self {
        if status != StatusCode::PARTIAL_CONTENT {
            return if status.is_success() { Self::Whole } else { Self::Unfit };
        }
        match content_range(headers) {
            Some((first, last, length))
                if first == received
                    && (first..length).contains(&last)
                    && total.is_none_or(|total| total == length)
                    && validator.fits(headers) =>
            {
                Self::Rest(length)
            }
            _ => Self::Unfit,
        }
    }
}

/// The part of a source that a response with status 206 contains although none was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unrequested {
    /// All of it, as far as the server says. Contains its length, if known.
    Whole(Option<u64>),
    /// Its beginning. Contains the length of the whole.
    Beginning(u64),
    /// Any other part.
    Other,
}

impl Unrequested {
    /// Interprets the headers of a response with status 206 to a request without `Range`. Some servers send each file so,
    /// and browsers show it.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let is_in_parts = headers.get(CONTENT_TYPE).is_some_and(|kind| {
            kind.as_bytes().to_ascii_lowercase().starts_with(b"multipart/byteranges") // RFC 9110, 14.6
        });
        match (content_range(headers), headers.get(CONTENT_RANGE)) {
            _ if is_in_parts => Self::Other,
            (Some((0, last, length)), _) if last.checked_add(1) == Some(length) => Self::Whole(Some(length)),
            (Some((0, last, length)), _) if last < length => Self::Beginning(length),
            (None, None) => Self::Whole(None),
            (None, Some(range)) if range.as_bytes().starts_with(b"bytes 0-") => Self::Whole(None),
            _ => Self::Other,
        }
    }
}

/// Returns the first byte, the last byte and the length of the whole from `Content-Range`. The unknown length `*` is
/// not accepted: nothing would tell when the download is complete.
fn content_range(headers: &HeaderMap) -> Option<(u64, u64, u64)> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (bytes, length) = range.split_once('/')?;
    let (first, last) = bytes.split_once('-')?;
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?, length.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reqwest::header::HeaderName;

    use super::*;

    fn headers(fields: &[(HeaderName, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    const DAY: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const MINUTE_LATER: &str = "Sun, 06 Nov 1994 08:50:37 GMT";
    const SECOND_LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    #[test]
    fn only_a_value_that_changes_with_each_version_is_a_validator() {
        let of = |fields: &[_]| Validator::of(&headers(fields)).map(|validator| validator.if_range());
        assert_eq!(of(&[(ETAG, "\"a\"")]).unwrap(), "\"a\"");
        assert_eq!(of(&[(ETAG, "\"a\""), (LAST_MODIFIED, DAY)]).unwrap(), "\"a\"");
        assert_eq!(of(&[(LAST_MODIFIED, DAY), (DATE, MINUTE_LATER)]).unwrap(), DAY);
        assert_eq!(of(&[(LAST_MODIFIED, DAY), (DATE, SECOND_LATER)]), None, "it may change again");
        assert_eq!(of(&[(LAST_MODIFIED, MINUTE_LATER), (DATE, DAY)]), None);
        assert_eq!(of(&[(LAST_MODIFIED, DAY)]), None);
        assert_eq!(of(&[(ETAG, "W/\"a\"")]), None);
        assert_eq!(of(&[(ETAG, "W/\"a\""), (LAST_MODIFIED, DAY), (DATE, MINUTE_LATER)]), None);
        assert_eq!(of(&[(ETAG, "\"a\""), (ACCEPT_RANGES, "none")]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_range_is_appended_only_where_it_fits() {
        let tag = Validator::Tag(HeaderValue::from_static("\"a\""));
        let of = |status: u16, total, fields: &[_]| {
            let status = StatusCode::from_u16(status).unwrap();
            Continuation::of(status, &headers(fields), &tag, 300, total)
        };
        assert_eq!(of(206, Some(1000), &[(CONTENT_RANGE, "bytes 300-999/1000")]), Continuation::Rest(1000));
        assert_eq!(of(206, None, &[(CONTENT_RANGE, "bytes 300-400/1000")]), Continuation::Rest(1000));
        assert_eq!(
            of(206, None, &[(CONTENT_RANGE, "bytes 300-999/1000"), (ETAG, "\"a\"")]),
            Continuation::Rest(1000)
        );
        assert_eq!(of(200, Some(1000), &[]), Continuation::Whole);
        for (range, tag) in [
            ("bytes 299-999/1000", "\"a\""),
            ("bytes 300-999/1001", "\"a\""),
            ("bytes 300-1000/1000", "\"a\""),
            ("bytes 300-299/1000", "\"a\""),
            ("bytes 300-999/*", "\"a\""),
            ("bytes 300-999/1000", "\"b\""),
            ("lines 300-999/1000", "\"a\""),
            ("", "\"a\""),
        ] {
            let fields = [(CONTENT_RANGE, range), (ETAG, tag)];
            assert_eq!(of(206, Some(1000), &fields), Continuation::Unfit, "{range} {tag}");
        }
        for status in [304, 403, 404, 416] {
            assert_eq!(of(status, Some(1000), &[]), Continuation::Unfit, "{status}");
        }
    }

    #[test]
    fn an_unrequested_part_is_the_whole_if_its_range_says_so() {
        let of = |fields: &[_]| Unrequested::of(&headers(fields));
        assert_eq!(of(&[(CONTENT_RANGE, "bytes 0-999/1000")]), Unrequested::Whole(Some(1000)));
        assert_eq!(of(&[(CONTENT_RANGE, "bytes 0-998/1000")]), Unrequested::Beginning(1000));
        assert_eq!(of(&[(CONTENT_RANGE, "bytes 0-999/*")]), Unrequested::Whole(None));
        assert_eq!(of(&[]), Unrequested::Whole(None));
        for range in ["bytes 1-999/1000", "bytes 0-1000/1000", "bytes */1000", "lines 0-9/10", ""] {
            assert_eq!(of(&[(CONTENT_RANGE, range)]), Unrequested::Other, "{range}");
        }
        let parts = (CONTENT_TYPE, "multipart/byteranges; boundary=a");
        assert_eq!(of(&[parts]), Unrequested::Other);
    }

    proptest! {
        #[test]
        fn an_appended_range_begins_where_the_download_ended(
            first in 0..6_u64, last in 0..6_u64, length in 0..6_u64, received in 0..6_u64,
        ) {
            let range = format!("bytes {first}-{last}/{length}");
            let tag = Validator::Tag(HeaderValue::from_static("\"a\""));
            let headers = headers(&[(CONTENT_RANGE, &range)]);
            let continuation = Continuation::of(StatusCode::PARTIAL_CONTENT, &headers, &tag, received, None);
            let fits = first == received && first <= last && last < length;
            prop_assert_eq!(continuation == Continuation::Rest(length), fits);
        }

        #[test]
        fn any_content_range_is_parsed_or_ignored(range in "(bytes )?[ -~]{0,40}") {
            content_range(&headers(&[(CONTENT_RANGE, &range)]));
        }
    }
}
