//! The parts of a request's URL. The runtime gives the URL as the WHATWG URL standard serializes it, so splitting it is
//! enough.

/// The parts of a serialized http or https URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestUrl<'a> {
    /// Scheme, host and port.
    pub origin: &'a str,
    /// The path, with its slash.
    pub path: &'a str,
    /// The query, without its question mark.
    pub query: &'a str,
}

impl<'a> RequestUrl<'a> {
    /// Splits a URL.
    #[must_use]
    pub fn split(url: &'a str) -> Self {
        let url = url.split('#').next().unwrap_or_default();
        let authority = url.find("//").map_or(0, |slashes| slashes + 2);
        let path =
            url.bytes().skip(authority).position(|byte| byte == b'/').map_or(url.len(), |at| authority + at);
        let (origin, rest) = url.split_at(path);
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Self { origin, path, query }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn it_splits_as_a_parser_does() {
        for text in [
            "http://127.0.0.1:8787/",
            "https://zoom.example.com/v1/content/?url=http://a.example/?b#c",
            "https://zoom.example.com/a//b/?",
            "http://[::1]:80/x?y=%23#z?",
            "https://user@zoom.example/é?é=#",
        ] {
            let url = Url::parse(text).unwrap();
            let split = RequestUrl::split(url.as_str());
            assert_eq!((split.path, split.query), (url.path(), url.query().unwrap_or_default()), "{text}");
            if url.username().is_empty() {
                assert_eq!(split.origin, url.origin().ascii_serialization());
            }
        }
    }
}
