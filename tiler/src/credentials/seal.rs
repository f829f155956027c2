//! The sealed box in which a client of a service sends headers and cookies.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use edgezoom_content::capture::{BOX_BYTES, BOX_PREFIX};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};
use url::Url;

use super::fields::Fields;
use crate::secret::Secret;

/// The key of sealed boxes, which those who seal and all tilers of a service share.
#[derive(Clone, Debug)]
pub struct SealKey(LessSafeKey);

/// Why credentials could not be sealed or opened. Clients see the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The tiler has no key.
    #[error("The sealed headers cannot be opened: this service has no key for them.")]
    NoKey,
    /// The key is too short.
    #[error(
        "EDGEZOOM_SEAL_KEY has fewer than {KEY_CHARACTERS} characters. Make one with: openssl rand -hex 32"
    )]
    ShortKey,
    /// The authentication fails: another key or origin, or a changed box.
    #[error("The sealed headers cannot be opened: they are for another origin, or sealed with another key.")]
    Unopened,
    /// The box would be longer than a request may have.
    #[error("The headers and cookies are too long: sealed, they may have {} characters.", BOX_BYTES.end())]
    TooLong,
    /// The system has no random numbers.
    #[error("The headers cannot be sealed.")]
    Impossible,
}

/// Minimum length of a key, as a text.
const KEY_CHARACTERS: usize = 32;

impl SealKey {
    /// Derives the key from a text.
    ///
    /// # Errors
    /// The text is too short.
    pub fn of(text: &Secret) -> Result<Self, SealError> {
        if text.reveal().len() < KEY_CHARACTERS {
            return Err(SealError::ShortKey);
        }
        let key = UnboundKey::new(&CHACHA20_POLY1305, &Sha256::digest(text.reveal()));
        Ok(Self(LessSafeKey::new(key.map_err(|_| SealError::ShortKey)?)))
    }

    /// Seals headers and cookies for the origin of a URL: a prefix with the version, and a random nonce and the ciphertext
    /// in base64url. ChaCha20-Poly1305 authenticates the version and the origin, too.
    ///
    /// # Errors
    /// The box would be too long.
    pub fn seal(&self, fields: &Fields, url: &Url) -> Result<String, SealError> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| SealError::Impossible)?;
        let mut sealed = serde_json::to_vec(fields).map_err(|_| SealError::Impossible)?;
        let sealing = self.0.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(context(url)),
            &mut sealed,
        );
        sealing.map_err(|_| SealError::Impossible)?;
        let text = BASE64_URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat());
        let text = format!("{BOX_PREFIX}{text}");
        if text.len() > *BOX_BYTES.end() { Err(SealError::TooLong) } else { Ok(text) }
    }

    /// Opens a box that was sealed for the origin of a URL.
    pub(super) fn open(&self, text: &str, url: &Url) -> Result<Fields, SealError> {
        let opened = || {
            let sealed = BASE64_URL_SAFE_NO_PAD.decode(text.strip_prefix(BOX_PREFIX)?).ok()?;
            let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
            let mut sealed = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let plain = self.0.open_in_place(nonce, Aad::from(context(url)), &mut sealed).ok()?;
            serde_json::from_slice::<Fields>(plain).ok()?.checked().ok()
        };
        opened().ok_or(SealError::Unopened)
    }
}

/// Returns what a box is bound to: its version and the origin of a URL.
fn context(url: &Url) -> String {
    format!("{BOX_PREFIX}{}", url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> SealKey {
        SealKey::of(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_short_key_and_a_long_box_are_refused() {
        assert_eq!(SealKey::of(&"k".repeat(31).parse().unwrap()).err(), Some(SealError::ShortKey));
        let url = Url::parse("https://a.example/").unwrap();
        let sealed = |length| {
            let mut fields = Fields::default();
            fields.add_cookie(&format!("a={}", "x".repeat(length))).unwrap();
            key(&"k".repeat(32)).seal(&fields, &url)
        };
        assert_eq!(sealed(3000).map(|sealed| sealed.len()), Ok(4088));
        assert_eq!(sealed(3010), Err(SealError::TooLong));
        let empty = key(&"k".repeat(32)).seal(&Fields::default(), &url).unwrap();
        assert!(BOX_BYTES.contains(&empty.len()), "the shortest box has the form that a request may have");
    }

    #[test]
    fn a_header_that_cannot_be_set_is_refused_in_a_box_too() {
        let forbidden = Fields { headers: vec![("host".to_owned(), "b".to_owned())], cookies: vec![] };
        let (key, url) = (key(&"k".repeat(32)), Url::parse("https://a.example/").unwrap());
        assert_eq!(key.open(&key.seal(&forbidden, &url).unwrap(), &url), Err(SealError::Unopened));
    }
}
