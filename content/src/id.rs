//! The identifier of a content: a pure function of its source URL, or of the bytes of an uploaded file, so that all
//! locations of the edge agree on it without communication.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::SourceUrl;

/// The first 64 bits of a SHA-256, written as 11 characters of base 62. Case matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentId(u64);

/// A text is not the identifier of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 11 characters out of 0-9, A-Z and a-z")]
pub struct ContentIdError;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Number of ids that a URL may have, and that a client's file may have.
const SHARED: u8 = 4;
const FILES: u8 = 32;

impl ContentId {
    /// Number of characters of an id: the fewest that hold 64 bits.
    pub const LENGTH: usize = 11;

    /// Returns the ids that the content of `url` may have, in the order to try them: the next one only if another URL
    /// holds the one before, or if the uploader of a file has deleted its content.
    pub fn candidates(url: &SourceUrl) -> impl Iterator<Item = Self> {
        // With a billion contents, the chance that an id of a new URL is taken is 1 in 18 billion. Four in a row mean a
        // bug.
        Self::first(SHARED, url, "")
    }

    /// Returns the ids that the content of a client's file may have: first those that all clients share, and then the
    /// client's own. Each deletion uses an id up, so without these, one client could block a file for all others.
    pub fn candidates_of_file(url: &SourceUrl, party: &str) -> impl Iterator<Item = Self> {
        Self::first(FILES, url, party)
    }

    fn first(count: u8, url: &SourceUrl, party: &str) -> impl Iterator<Item = Self> {
        (0..count).map(move |salt| Self::salted(url, salt, if salt < SHARED { "" } else { party }))
    }

    /// Returns the first id that the content of `url` may have.
    #[must_use]
    pub fn of(url: &SourceUrl) -> Self {
        Self::salted(url, 0, "")
    }

    /// Returns the id of the content of `url` in a collection with this secret: the first one, or the one that follows
    /// the removal of `generation` others. Nobody else can compute it.
    #[must_use]
    pub fn in_collection(url: &SourceUrl, secret: &str, generation: u8) -> Self {
        // A party never begins so, and salts of 0 would be those of open contents.
        Self::salted(url, generation.saturating_add(1), &format!("%{secret}"))
    }

    fn salted(url: &SourceUrl, salt: u8, party: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(url.identity());
        if salt > 0 {
            hash.update([b' ', salt]); // a canonical URL and its options have no space
            hash.update(party);
        }
        let digest: [u8; 32] = hash.finalize().into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut digits = [DIGITS[0]; Self::LENGTH];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(rest % 62) as usize];
            rest /= 62;
        }
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for ContentId {
    type Err = ContentIdError;

    fn from_str(text: &str) -> Result<Self, ContentIdError> {
        if text.len() != Self::LENGTH {
            return Err(ContentIdError);
        }
        text.bytes()
            .try_fold(0_u64, |value, byte| {
                let digit = match byte {
                    b'0'..=b'9' => byte - b'0',
                    b'A'..=b'Z' => byte - b'A' + 10,
                    b'a'..=b'z' => byte - b'a' + 36,
                    _ => return None,
                };
                value.checked_mul(62)?.checked_add(digit.into())
            })
            .map(Self)
            .ok_or(ContentIdError)
    }
}

impl TryFrom<String> for ContentId {
    type Error = ContentIdError;

    fn try_from(text: String) -> Result<Self, ContentIdError> {
        text.parse()
    }
}

impl From<ContentId> for String {
    fn from(id: ContentId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_url_stay_what_they_are() {
        let url = SourceUrl::parse("http://example.com/a.jpg").unwrap();
        let ids: Vec<String> = ContentId::candidates(&url).map(|id| id.to_string()).collect();
        assert_eq!(ids, ["6qy4OXfXSid", "ILiFH96DkXP", "Erx23NSAkK4", "0YREbrzg65x"]);
        let file = SourceUrl::of_file("f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", "a.jpg").unwrap();
        let ids = |party| ContentId::candidates_of_file(&file, party).collect::<Vec<_>>();
        let (one, other) = (ids("203.0.113.1"), ids("203.0.113.2"));
        assert_eq!((&one[..4], &other[..4]), (&ids("")[..4], &one[..4]));
        let all: std::collections::HashSet<_> = one.iter().chain(&other).collect();
        assert_eq!((one.len(), all.len()), (32, 4 + 2 * 28), "one client uses up no other's ids");
    }

    #[test]
    fn the_ids_of_urls_without_options_stay_what_they_are() {
        let ids = |options: &str| {
            let urls = (0..1000).map(|number| match number % 4 {
                0 => format!("http://example.com/{number}"),
                1 => format!("https://{number}.example.org/a?b={number}>c"),
                2 => format!("https://example.com:81/{number}.pdf#page={number}"),
                _ => format!("https://example.com/#/{number} d"),
            });
            urls.map(|url| ContentId::of(&SourceUrl::parse(&url).unwrap().with_options(options).unwrap()))
                .collect::<Vec<_>>()
        };
        let plain = ids("width=9&web-width=");
        let digest = Sha256::digest(plain.iter().map(ToString::to_string).collect::<String>());
        assert_eq!(u64::from_be_bytes(digest[..8].try_into().unwrap()), 0x8334_4732_5d40_8a6f);
        let all: std::collections::HashSet<_> =
            ["", "web-width=390", "web-width=391", "web-scheme=dark"].into_iter().flat_map(&ids).collect();
        assert_eq!(all.len(), 4000, "the same URL with other options is another content");
    }

    #[test]
    fn the_same_url_is_another_content_in_each_collection() {
        let url = SourceUrl::parse("http://example.com/a.jpg").unwrap();
        let of = |secret: &str| {
            (0..10).map(|number| ContentId::in_collection(&url, secret, number)).collect::<Vec<_>>()
        };
        let open = ContentId::candidates(&url).chain(ContentId::candidates_of_file(&url, "203.0.113.1"));
        let all: std::collections::HashSet<_> = of("a").into_iter().chain(of("b")).chain(open).collect();
        assert_eq!(all.len(), 10 + 10 + 32);
        assert_eq!(of("a")[0].to_string(), "LMXeQ5Vye8F");
    }

    #[test]
    fn other_text_is_refused() {
        for text in
            ["", "0000000000", "000000000000", "0000000000-", "zzzzzzzzzzz", "0000000000é", "../../../etc"]
        {
            assert_eq!(text.parse::<ContentId>(), Err(ContentIdError), "{text}");
        }
        assert_eq!("LygHa16AHYF".parse::<ContentId>(), Ok(ContentId(u64::MAX)));
    }
}
