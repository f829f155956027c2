//! Signed requests, for the operators of closed services: new contents are for clients that have a key.

use std::fmt;

use edgezoom_content::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The keys of the clients, by their names.
#[derive(Clone)]
pub struct SigningKeys(Vec<(String, String)>);

/// What a signed request says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    /// The name of the key.
    pub key: &'a str,
    /// Until when it is valid, in seconds since the Unix epoch.
    pub expires: &'a str,
    /// HMAC-SHA-256 (RFC 2104) of `expires`, a line feed, and what is asked for, with the key; in hexadecimal digits.
    pub signature: &'a str,
}

/// Shorter keys can be guessed.
const MIN_LENGTH: usize = 16;

impl SigningKeys {
    /// Reads `name:key` pairs, separated by commas; `None` when one is malformed, or has a key that is short enough to be
    /// guessed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let pair = |pair: &str| {
            let (name, key) = pair.trim().split_once(':')?;
            (is_plain(name) && key.len() >= MIN_LENGTH).then(|| (name.to_owned(), key.to_owned()))
        };
        text.split(',').map(pair).collect::<Option<_>>().map(Self)
    }

    /// The name of the key that signed a request for `what`: the URL of a source as the client wrote it, or an id. `None`
    /// when the signature is not valid, or not any more.
    #[must_use]
    pub fn signer(&self, signature: Signature<'_>, what: &str, now: Timestamp) -> Option<&str> {
        let Signature { key, expires, signature } = signature;
        let (name, secret) = self.0.iter().find(|(name, _)| name == key)?;
        let is_valid = expires.parse::<u64>().ok()?.checked_mul(1000)? > now.0;
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
        mac.update(expires.as_bytes());
        mac.update(b"\n");
        mac.update(what.as_bytes());
        (is_valid && mac.verify_slice(&bytes(signature)?).is_ok()).then_some(name)
    }
}

impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKeys")
    }
}

/// The bytes of a text in hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair.first()?)? * 16 + digit(pair.get(1)?)?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://example.com/a b.jpg";
    /// printf '2000000000\nhttp://example.com/a b.jpg' | openssl dgst -sha256 -hmac 0123456789abcdef
    const SIGNED: &str = "ee4587426d08c37363050a51ff410ee942f4a03aad93e6922bdd9753d4427b20";

    fn signer(key: &str, expires: &str, signature: &str, what: &str, now: u64) -> Option<String> {
        let keys = SigningKeys::parse("shop:0123456789abcdef, press:fedcba9876543210").unwrap();
        keys.signer(Signature { key, expires, signature }, what, Timestamp(now)).map(str::to_owned)
    }

    #[test]
    fn a_signature_holds_for_one_source_until_its_time() {
        let until = 2_000_000_000_000;
        assert_eq!(signer("shop", "2000000000", SIGNED, URL, until - 1).as_deref(), Some("shop"));
        let upper = SIGNED.to_uppercase();
        for (key, expires, signature, what, now) in [
            ("shop", "2000000000", SIGNED, URL, until),
            ("shop", "2000000001", SIGNED, URL, 0),
            ("press", "2000000000", SIGNED, URL, 0),
            ("other", "2000000000", SIGNED, URL, 0),
            ("shop", "2000000000", SIGNED, "http://example.com/b.jpg", 0),
            ("shop", "2000000000", &SIGNED[..62], URL, 0),
            ("shop", "2000000000", &SIGNED[..63], URL, 0),
            ("shop", "2000000000", &upper[..1], URL, 0),
            ("shop", "2000000000", "", URL, 0),
            ("shop", "2000000000", "zz", URL, 0),
            ("shop", "2e9", SIGNED, URL, 0),
            ("shop", "99999999999999999999", SIGNED, URL, 0),
        ] {
            assert_eq!(
                signer(key, expires, signature, what, now),
                None,
                "{key} {expires} {signature} {what} {now}"
            );
        }
    }

    #[test]
    fn a_key_that_can_be_guessed_is_refused() {
        for wrong in [
            "",
            "shop",
            "shop:",
            "shop:0123456789abcde",
            ":0123456789abcdef",
            "a b:0123456789abcdef",
            "@a:0123456789abcdef",
            "shop:0123456789abcdef,",
        ] {
            assert!(SigningKeys::parse(wrong).is_none(), "{wrong}");
        }
        assert!(!format!("{:?}", SigningKeys::parse("shop:0123456789abcdef")).contains("0123"));
    }
}
