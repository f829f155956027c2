//! The parts of a request's URL, and the parameters in its query.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use url::form_urlencoded;

use crate::config::Signature;

/// An http or https URL that is serialized by the WHATWG URL standard, as the runtime gives it, and the places of its
/// parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestUrl {
    /// The URL without its fragment.
    text: String,
    /// Start of the path.
    path: usize,
    /// End of the path: a question mark, or the end.
    query: usize,
}

impl RequestUrl {
    pub fn new(mut text: String) -> Self {
        let end_at = |text: &str, from: usize, marks: &[u8]| {
            let found = text.bytes().skip(from).position(|byte| marks.contains(&byte));
            found.map_or(text.len(), |at| from + at)
        };
        text.truncate(end_at(&text, 0, b"#"));
        let authority = text.find("//").map_or(0, |slashes| slashes + 2);
        let path = end_at(&text, authority, b"/");
        let query = end_at(&text, path, b"?");
        Self { text, path, query }
    }

    /// Returns scheme, host and port.
    pub fn origin(&self) -> &str {
        self.text.get(..self.path).unwrap_or_default()
    }

    /// Returns the path, with its leading slash.
    pub fn path(&self) -> &str {
        self.text.get(self.path..self.query).unwrap_or_default()
    }

    /// Returns the query, without its question mark.
    pub fn query(&self) -> &str {
        self.text.get(self.query + 1..).unwrap_or_default()
    }
}

/// Returns the first value of the parameter `url`. Bytes that are not UTF-8 stay percent-encoded, as in the source's
/// URL.
pub fn url_parameter(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("url="))?.replace('+', " ");
    let bytes: Vec<u8> = percent_decode_str(&value).collect();
    let mut url = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        url.push_str(chunk.valid());
        url.extend(percent_encode(chunk.invalid(), NON_ALPHANUMERIC));
    }
    Some(url)
}

pub fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Returns the parameters of a signed request: `key`, `expires` and `signature`. Their values are never
/// percent-encoded.
pub fn signature(query: &str) -> Option<Signature<'_>> {
    let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    Some(Signature { key: value("key")?, expires: value("expires")?, signature: value("signature")? })
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn a_url_is_split_as_a_parser_does() {
        for text in [
            "http://127.0.0.1:8787/",
            "https://zoom.example.com/v1/content/?url=http://a.example/?b#c",
            "https://zoom.example.com/a//b/?",
            "http://[::1]:80/x?y=%23#z?",
            "https://user@zoom.example/é?é=#",
        ] {
            let url = Url::parse(text).unwrap();
            let split = RequestUrl::new(url.to_string());
            assert_eq!(
                (split.path(), split.query()),
                (url.path(), url.query().unwrap_or_default()),
                "{text}"
            );
            if url.username().is_empty() {
                assert_eq!(split.origin(), url.origin().ascii_serialization());
            }
        }
    }

    #[test]
    fn a_signature_has_three_parameters() {
        let Signature { key, expires, signature } =
            signature("url=a%26b&expires=12&signature=00ff&key=shop&keys=other").unwrap();
        assert_eq!((key, expires, signature), ("shop", "12", "00ff"));
        assert!(super::signature("url=a&expires=12&signature=00ff").is_none());
    }
}
