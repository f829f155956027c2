//! The secrets that authenticate callers: the tilers' token, and the keys of clients that sign their requests.

use std::fmt;
use std::time::Duration;

use edgezoom_content::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// The token that tilers share with the Worker. It is compared in constant time and never printed.
#[derive(Clone)]
pub struct TilerToken(String);

impl TilerToken {
    /// Minimum number of characters: shorter tokens can be guessed.
    pub const MIN_LENGTH: usize = 16;

    /// Returns the token; `None` if it is too short.
    pub(super) fn new(token: String) -> Option<Self> {
        (token.len() >= Self::MIN_LENGTH).then_some(Self(token))
    }

    /// Returns true if an `Authorization` header has the token.
    pub fn authorizes(&self, authorization: Option<&str>) -> bool {
        bearer(authorization).is_some_and(|token| bool::from(token.as_bytes().ct_eq(self.0.as_bytes())))
    }
}

/// Returns the token in an `Authorization` header (RFC 6750).
pub fn bearer(authorization: Option<&str>) -> Option<&str> {
    let (scheme, token) = authorization?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

impl fmt::Debug for TilerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TilerToken")
    }
}

/// The operator's tokens, by name.
pub struct OperatorTokens<'a>(Vec<(&'a str, &'a str)>);

impl<'a> OperatorTokens<'a> {
    /// Parses comma-separated `name:token` pairs; a token without a name belongs to `operator`. `None`: there is none,
    /// or one has no name or is too short.
    pub fn parse(text: &'a str) -> Option<Self> {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let pairs: Vec<_> = pairs.map(|pair| pair.split_once(':').unwrap_or(("operator", pair))).collect();
        let is_valid =
            |(name, token): &(&str, &str)| !name.is_empty() && token.len() >= TilerToken::MIN_LENGTH;
        (!pairs.is_empty() && pairs.iter().all(is_valid)).then_some(Self(pairs))
    }

    /// Returns the name of the token in an `Authorization` header. All tokens are compared, each in constant time.
    pub fn name(&self, authorization: &str) -> Option<&'a str> {
        let token = bearer(Some(authorization))?.as_bytes();
        let mut name = None;
        for (of_known, known) in &self.0 {
            if bool::from(token.ct_eq(known.as_bytes())) {
                name = Some(*of_known);
            }
        }
        name
    }
}

/// The keys of the clients of a closed service, by name: only signed requests create contents.
#[derive(Clone)]
pub struct SigningKeys(Vec<(String, String)>);

/// The parameters of a signed request.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    pub key: &'a str,
    /// End of its validity, in seconds since the Unix epoch.
    pub expires: &'a str,
    /// HMAC-SHA-256 (RFC 2104) of `expires`, a line feed, and the text of the request's route, in hexadecimal digits.
    pub signature: &'a str,
}

impl SigningKeys {
    /// Minimum number of characters of a key: shorter keys can be guessed.
    pub const MIN_LENGTH: usize = 16;

    /// Maximum time for which a request may be signed in advance. A link that leaks is worthless after that.
    pub const MAX_VALIDITY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// Parses comma-separated `name:key` pairs; `None` if one is malformed or its key is too short.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let pair = |pair: &str| {
            let (name, key) = pair.trim().split_once(':')?;
            (is_plain(name) && key.len() >= Self::MIN_LENGTH).then(|| (name.to_owned(), key.to_owned()))
        };
        text.split(',').map(pair).collect::<Option<_>>().map(Self)
    }

    /// Returns the name of the key that signed a request for `what`, the text of its route. `None`: the signature is
    /// wrong or has expired.
    pub fn signer(&self, signature: Signature<'_>, what: &str, now: Timestamp) -> Option<&str> {
        let Signature { key, expires, signature } = signature;
        let (name, secret) = self.0.iter().find(|(name, _)| name == key)?;
        let expires_at = Timestamp(expires.parse::<u64>().ok()?.checked_mul(1000)?);
        let is_valid = now < expires_at && expires_at - now <= Self::MAX_VALIDITY;
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

/// Returns the bytes of a text in hexadecimal digits.
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
    fn a_signature_is_valid_for_one_source_until_it_expires() {
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
    fn a_signature_that_would_be_valid_for_months_is_refused() {
        let [until, week] = [2_000_000_000_000, 7 * 24 * 60 * 60 * 1000];
        let of_now = |now| signer("shop", "2000000000", SIGNED, URL, now);
        assert_eq!(of_now(until - week).as_deref(), Some("shop"));
        assert_eq!(of_now(until - week - 1), None);
    }

    #[test]
    fn malformed_and_short_keys_are_refused() {
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

    #[test]
    fn an_operator_is_named_by_its_token() {
        let tokens =
            OperatorTokens::parse("anna:1234567890123456, ben:6543210987654321,0123456789abcdef").unwrap();
        for (header, name) in [
            ("Bearer 1234567890123456", Some("anna")),
            ("bearer  6543210987654321", Some("ben")),
            ("Bearer 0123456789abcdef", Some("operator")),
            ("Bearer anna:1234567890123456", None),
            ("Bearer 123456789012345", None),
            ("1234567890123456", None),
            ("", None),
        ] {
            assert_eq!(tokens.name(header), name, "{header}");
        }
        for wrong in ["", ",", "anna:short", "short", ":1234567890123456", "anna:1234567890123456,ben:short"]
        {
            assert!(OperatorTokens::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn only_the_token_itself_authorizes() {
        let token = TilerToken::new("1234567890123456".to_owned()).unwrap();
        assert!(token.authorizes(Some("Bearer 1234567890123456")));
        assert!(token.authorizes(Some("bearer 1234567890123456")));
        for wrong in
            ["", "Bearer", "Bearer ", "Bearer 1234567890123457", "Bearer 123456789012345", "1234567890123456"]
        {
            assert!(!token.authorizes(Some(wrong)), "{wrong}");
        }
        assert!(!token.authorizes(None));
        assert!(!format!("{token:?}").contains("1234"));
    }
}
