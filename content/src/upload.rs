//! Uploaded files: the URI that stands for a source's URL, and the file's key in the store until its conversion has
//! ended.
//!
//! The URI is a Named Information URI (RFC 6920) with the SHA-256 of the file, so the same file is one content. The
//! file's name is a parameter, which is not part of the content's identity. That the file has no vectors is one, which is.
//!
//! ```text
//! ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?name=old%20town.jpg
//! ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?vectors=off&name=old%20town.jpg
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use crate::titles::one_line;

/// Beginning of every file's URI. No other hash is used.
const PREFIX: &str = "ni:///sha-256;";
/// Separator between the digest and the file's name. Files without a name have none.
const NAME: &str = "?name=";
/// Follows the digest of a file that its uploader does not want as vectors, and separator before its name.
const NO_VECTORS: &str = "?vectors=off";
const NAME_AFTER: &str = "&name=";
/// Number of characters of a SHA-256 in base64url without padding (RFC 4648, section 5).
const DIGEST_LENGTH: usize = 43;
/// Maximum number of characters of a file's name. Percent-encoded, they fit into a source URL.
const NAME_LENGTH: usize = 100;

/// The key of an uploaded file in the store: `uploads/` and a random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UploadKey(u128);

/// A text is not the key of an uploaded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of a file is uploads/ and 32 hexadecimal digits")]
pub struct UploadKeyError;

/// Prefix of all keys.
const FOLDER: &str = "uploads/";

impl UploadKey {
    /// Returns the number as 32 hexadecimal digits.
    #[must_use]
    pub fn digits(self) -> String {
        format!("{:032x}", self.0)
    }

    /// Returns the key with the digits that [`UploadKey::digits`] gives.
    #[must_use]
    pub fn from_digits(digits: &str) -> Option<Self> {
        let key = u128::from_str_radix(digits, 16).map(Self).ok()?;
        // Only the printed form: all digits, no sign, lower case.
        (key.digits() == digits).then_some(key)
    }
}

impl fmt::Display for UploadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{FOLDER}{}", self.digits())
    }
}

impl FromStr for UploadKey {
    type Err = UploadKeyError;

    fn from_str(text: &str) -> Result<Self, UploadKeyError> {
        text.strip_prefix(FOLDER).and_then(Self::from_digits).ok_or(UploadKeyError)
    }
}

impl TryFrom<String> for UploadKey {
    type Error = UploadKeyError;

    fn try_from(text: String) -> Result<Self, UploadKeyError> {
        text.parse()
    }
}

impl From<UploadKey> for String {
    fn from(key: UploadKey) -> Self {
        key.to_string()
    }
}

/// Returns the URI of a file with a SHA-256 in base64url, and with its name if that has visible characters. `None`:
/// `digest` is not such a hash.
pub(crate) fn uri(digest: &str, name: &str) -> Option<String> {
    // Browsers send only the name; other clients may send a path.
    let name = name.rsplit(['/', '\\']).next().and_then(|name| one_line(name, NAME_LENGTH));
    let parameter = name.map(|name| format!("{NAME}{}", encoded(&name)));
    is_digest(digest).then(|| format!("{PREFIX}{digest}{}", parameter.unwrap_or_default()))
}

/// Returns true if a text is a URI that [`uri`] could have made.
pub(crate) fn is_uri(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(PREFIX) else { return false };
    let Some((digest, rest)) = rest.split_at_checked(DIGEST_LENGTH) else { return false };
    let (start, rest) = rest.strip_prefix(NO_VECTORS).map_or((NAME, rest), |rest| (NAME_AFTER, rest));
    let is_encoded = |byte: u8| byte == b'%' || is_unreserved(byte);
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_encoded);
    is_digest(digest) && (rest.is_empty() || rest.strip_prefix(start).is_some_and(is_name))
}

/// Returns the URI without the name.
pub(crate) fn without_name(uri: &str) -> &str {
    split(uri).map_or(uri, |(file, _)| file)
}

/// Returns the name in a URI.
pub(crate) fn name(uri: &str) -> Option<String> {
    let (_, name) = split(uri)?;
    form_urlencoded::parse(name.as_bytes()).next().map(|(name, _)| name.into_owned())
}

/// Returns the URI of the same file without vectors.
pub(crate) fn without_vectors(uri: &str) -> String {
    match split(uri) {
        Some((file, name)) => format!("{file}{NO_VECTORS}{NAME_AFTER}{name}"),
        None => format!("{uri}{NO_VECTORS}"),
    }
}

/// Returns true if the file of a URI may have vectors.
pub(crate) fn has_vectors(uri: &str) -> bool {
    !uri.contains(NO_VECTORS)
}

/// Splits a URI before and after what is between file and name. Names are encoded, so they have none of these marks.
fn split(uri: &str) -> Option<(&str, &str)> {
    uri.split_once(NAME_AFTER).or_else(|| uri.split_once(NAME))
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_LENGTH
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Percent-encodes all but unreserved characters (RFC 3986, section 2.3).
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if is_unreserved(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk";

    #[test]
    fn a_key_is_stored_as_its_text() {
        let text = "uploads/00112233445566778899aabbccddeeff";
        assert_eq!(String::from(text.parse::<UploadKey>().unwrap()), text);
    }

    #[test]
    fn a_uri_has_the_digest_and_the_name() {
        for (name, uri) in [
            ("", "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk"),
            ("old town.jpg", "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?name=old%20town.jpg"),
            (
                "C:\\a\\ä#?.png",
                "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?name=%C3%A4%23%3F.png",
            ),
            ("../..\u{202e}/\n\u{fdd0}", "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk"),
        ] {
            assert_eq!(super::uri(DIGEST, name).as_deref(), Some(uri));
            assert!(is_uri(uri));
            assert_eq!(without_name(uri), &uri[..57]);
            assert!(has_vectors(uri));
            let without = without_vectors(uri);
            assert!(is_uri(&without) && !has_vectors(&without), "{without}");
            assert_eq!(without_name(&without), format!("{}?vectors=off", &uri[..57]));
            assert_eq!(super::name(&without), super::name(uri));
        }
        let name = "a&b=c+d %20.jpg";
        assert_eq!(uri(DIGEST, name).as_deref().and_then(super::name).as_deref(), Some(name));
        assert!(uri(DIGEST, &"ä".repeat(1000)).is_some_and(|uri| uri.len() < 1000));
        for digest in ["", &DIGEST[1..], "f4OxZX/x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk"] {
            assert_eq!(uri(digest, "a.jpg"), None);
        }
    }

    #[test]
    fn other_uris_are_refused() {
        for text in ["", "ni:///", "ni:///sha-256;", "ni:///sha-256;x?name=a", "http://a.example/"] {
            assert!(!is_uri(text), "{text}");
        }
        for rest in [
            "?name=",
            "?name=a b",
            "?name=<b>",
            "?x=a",
            "#a",
            "/",
            "&name=a",
            "?vectors=on",
            "?vectors=off&name=",
            "?vectors=off?name=a",
            "?vectors=off?vectors=off",
            "?name=a&vectors=off",
            "?name=a?vectors=off",
        ] {
            assert!(!is_uri(&format!("{PREFIX}{DIGEST}{rest}")), "{rest}");
        }
    }

    #[test]
    fn only_the_printed_form_of_a_key_is_read() {
        let key = "uploads/00112233445566778899aabbccddeeff";
        assert_eq!(key.parse::<UploadKey>().unwrap().to_string(), key);
        for text in [
            "",
            "uploads/",
            "uploads/00112233445566778899AABBCCDDEEFF",
            "uploads/+0112233445566778899aabbccddeeff",
            "uploads/00112233445566778899aabbccddeeff0",
            "00112233445566778899aabbccddeeff",
            "../00112233445566778899aabbccddeeff",
        ] {
            assert_eq!(text.parse::<UploadKey>(), Err(UploadKeyError), "{text}");
        }
    }
}
