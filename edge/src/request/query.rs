//! The parameters of a query.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use url::form_urlencoded;

use crate::config::Signature;

/// The first value of the parameter `url`. Bytes that are not UTF-8 stay the bytes that they are, as a URL can have them:
/// percent-encoded.
pub fn url(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("url="))?.replace('+', " ");
    let bytes: Vec<u8> = percent_decode_str(&value).collect();
    let mut url = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        url.push_str(chunk.valid());
        url.extend(percent_encode(chunk.invalid(), NON_ALPHANUMERIC));
    }
    Some(url)
}

/// The first value of a query parameter.
pub fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The parameters of a signed request: `key`, `expires` and `signature`. They have no characters that are escaped.
#[must_use]
pub fn signature(query: &str) -> Option<Signature<'_>> {
    let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    Some(Signature { key: value("key")?, expires: value("expires")?, signature: value("signature")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_has_three_parts() {
        let Signature { key, expires, signature } =
            signature("url=a%26b&expires=12&signature=00ff&key=shop&keys=other").unwrap();
        assert_eq!((key, expires, signature), ("shop", "12", "00ff"));
        assert!(super::signature("url=a&expires=12&signature=00ff").is_none());
    }
}
