//! Files that clients send instead of the address of a source: the name by which a content knows such a file, and where
//! the file lies until its conversion has ended.
//!
//! The source of such a content is a Named Information URI (RFC 6920): the SHA-256 of its bytes, so that the same file is
//! one content. The name that it had is a parameter, which tells no contents apart.
//!
//! ```text
//! ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?name=old%20town.jpg
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::title::one_line;

/// What the URI of a file begins with: this hash is the only one that is used.
const PREFIX: &str = "ni:///sha-256;";
/// What follows the hash, if the file has a name.
const NAME: &str = "?name=";
/// The characters of a SHA-256 in base64url without padding (RFC 4648, section 5).
const DIGEST_LENGTH: usize = 43;
/// The characters of a file's name that are kept. Percent-encoded, they fit into the URL of a source.
const NAME_LENGTH: usize = 100;

/// Where a file lies in the store until its conversion has ended: `uploads/` and a random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UploadKey(u128);

/// A text is not the key of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of a file is uploads/ and 32 hexadecimal digits")]
pub struct UploadKeyError;

/// The folder of files in the store.
const FOLDER: &str = "uploads/";

impl UploadKey {
    /// The number alone: 32 hexadecimal digits.
    #[must_use]
    pub fn digits(self) -> String {
        format!("{:032x}", self.0)
    }

    /// The key with these digits, as [`UploadKey::digits`] gives them.
    #[must_use]
    pub fn from_digits(digits: &str) -> Option<Self> {
        let key = u128::from_str_radix(digits, 16).map(Self).ok()?;
        // Only as it is printed: all digits, without a sign, and in lower case.
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

/// The URI of a file by its SHA-256 in base64url, with its name if that has visible characters. `None`: the text is no
/// such hash.
pub(crate) fn uri(digest: &str, name: &str) -> Option<String> {
    // Browsers send the name alone, other clients may send a path.
    let name = name.rsplit(['/', '\\']).next().and_then(|name| one_line(name, NAME_LENGTH));
    let parameter = name.map(|name| format!("{NAME}{}", encoded(&name)));
    is_digest(digest).then(|| format!("{PREFIX}{digest}{}", parameter.unwrap_or_default()))
}

/// Whether a text is the URI of a file, as [`uri`] makes it.
pub(crate) fn is_uri(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(PREFIX) else { return false };
    let (digest, name) = rest.split_once(NAME).unwrap_or((rest, "-"));
    let is_encoded = |byte: u8| byte == b'%' || is_unreserved(byte);
    is_digest(digest) && !name.is_empty() && name.bytes().all(is_encoded)
}

/// The URI without the name.
pub(crate) fn without_name(uri: &str) -> &str {
    uri.split_once(NAME).map_or(uri, |(file, _)| file)
}

/// The name in a URI, percent-encoded.
pub(crate) fn name(uri: &str) -> Option<&str> {
    uri.split_once(NAME).map(|(_, name)| name)
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
    fn a_file_is_named_by_its_bytes_and_keeps_its_name() {
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
        }
        assert!(uri(DIGEST, &"ä".repeat(1000)).is_some_and(|uri| uri.len() < 1000));
        for digest in ["", &DIGEST[1..], "f4OxZX/x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk"] {
            assert_eq!(uri(digest, "a.jpg"), None);
        }
    }

    #[test]
    fn what_is_no_such_uri_is_refused() {
        for text in ["", "ni:///", "ni:///sha-256;", "ni:///sha-256;x?name=a", "http://a.example/"] {
            assert!(!is_uri(text), "{text}");
        }
        for rest in ["?name=", "?name=a b", "?name=<b>", "?x=a", "#a", "/"] {
            assert!(!is_uri(&format!("{PREFIX}{DIGEST}{rest}")), "{rest}");
        }
    }

    #[test]
    fn the_key_of_a_file_is_a_number_in_a_folder() {
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
