//! Headers and cookies for the origin of one source, such as a page behind a login. Clients of the service seal them
//! ([`SealKey::seal`]): what is requested, stored and listed is a box that only tilers can open. This module knows which
//! URLs may have them, and nothing of how they are sent. Neither `Debug` nor an error shows a value.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use edgezoom_content::SourceUrl;
use edgezoom_content::capture::{BOX_BYTES, BOX_PREFIX};
use reqwest::header::{COOKIE, HeaderName, HeaderValue};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::{Origin, Url};

use crate::secret::Secret;

/// Headers and cookies, each a name and a value.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fields {
    headers: Vec<(String, String)>,
    cookies: Vec<(String, String)>,
}

/// Headers and cookies for one origin. A clone shares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials(Arc<Held>);

#[derive(Debug, PartialEq, Eq)]
struct Held {
    origin: Origin,
    fields: Fields,
}

/// What a tiler may send to the origin of a source.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Key of the boxes of a service's clients.
    pub key: Option<SealKey>,
    /// Headers and cookies for the origin of each source, from the tiler's own user.
    pub fields: Fields,
}

/// The key of sealed boxes, which those who seal and all tilers of a service share.
#[derive(Clone, Debug)]
pub struct SealKey(LessSafeKey);

/// Why a header or cookie is refused. The messages have no values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// It is not `Name: value`.
    #[error("a header is not of the form Name: value")]
    Header,
    /// It is not `name=value`.
    #[error("a cookie is not of the form name=value")]
    Cookie,
    /// Only the HTTP client sets this header.
    #[error("the header {0} cannot be set")]
    Forbidden(String),
}

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

/// Headers that cannot be set: those of a connection, of the form of a message, and those that servers believe to come
/// from the client itself (Fetch standard, forbidden request-headers). By `User-Agent` publishers know us.
const FORBIDDEN: [&str; 29] = [
    "accept-charset",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie2",
    "date",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "origin",
    "range",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    "x-http-method-override",
    "x-method-override",
];
/// Beginnings of further such names.
const FORBIDDEN_PREFIXES: [&str; 4] = ["access-control-", "proxy-", "sec-", "x-forwarded-"];

impl Fields {
    /// Adds a header `Name: value`. The pairs of a header `Cookie` are added as cookies.
    ///
    /// # Errors
    /// It is malformed, or cannot be set.
    pub fn add_header(&mut self, line: &str) -> Result<(), FieldError> {
        let (name, value) = line.split_once(':').ok_or(FieldError::Header)?;
        let (name, value) =
            (name.trim().parse::<HeaderName>().map_err(|_| FieldError::Header)?, value.trim());
        if name == COOKIE {
            return value.split(';').try_for_each(|pair| self.add_cookie(pair));
        }
        let begins = |prefix: &&str| name.as_str().starts_with(prefix);
        if FORBIDDEN.contains(&name.as_str()) || FORBIDDEN_PREFIXES.iter().any(begins) {
            return Err(FieldError::Forbidden(name.to_string()));
        }
        if !is_text(value) {
            return Err(FieldError::Header);
        }
        self.headers.push((name.to_string(), value.to_owned()));
        Ok(())
    }

    /// Adds a cookie `name=value` (RFC 6265, 4.2.1).
    ///
    /// # Errors
    /// It is malformed.
    pub fn add_cookie(&mut self, pair: &str) -> Result<(), FieldError> {
        let (name, value) = pair.trim().split_once('=').ok_or(FieldError::Cookie)?;
        let is_value = is_text(value) && !value.contains([';', ' ', '\t']);
        if name.parse::<HeaderName>().is_err() || !is_value {
            return Err(FieldError::Cookie);
        }
        self.cookies.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.cookies.is_empty()
    }

    /// Checks what was sealed as if it had just been written.
    fn checked(&self) -> Result<Self, FieldError> {
        let mut checked = Self::default();
        self.headers.iter().try_for_each(|(name, value)| checked.add_header(&format!("{name}:{value}")))?;
        self.cookies.iter().try_for_each(|(name, value)| checked.add_cookie(&format!("{name}={value}")))?;
        Ok(checked)
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fields({} headers, {} cookies)", self.headers.len(), self.cookies.len())
    }
}

impl Credentials {
    fn new(url: &Url, fields: Fields) -> Self {
        Self(Arc::new(Held { origin: url.origin(), fields }))
    }

    /// Returns true if a request for a URL may have them: scheme, host and port are those of the source.
    #[must_use]
    pub fn cover(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| url.origin() == self.0.origin)
    }

    /// Returns the pattern of the URLs of their origin for the DevTools protocol.
    #[must_use]
    pub fn pattern(&self) -> String {
        format!("{}/*", self.0.origin.ascii_serialization())
    }

    /// Returns the headers of a request, names in lower case, where `others` is the `Cookie` that it has already. A cookie
    /// that the server has set replaces the one of the same name.
    #[must_use]
    pub fn headers(&self, others: Option<&str>) -> Vec<(String, String)> {
        let set = || others.into_iter().flat_map(|pairs| pairs.split("; "));
        let is_set = |name: &str| set().any(|pair| pair.split('=').next() == Some(name));
        let own = self.0.fields.cookies.iter().filter(|(name, _)| !is_set(name));
        let pairs: Vec<String> =
            own.map(|(name, value)| format!("{name}={value}")).chain(set().map(str::to_owned)).collect();
        let cookie = (!pairs.is_empty()).then(|| (COOKIE.to_string(), pairs.join("; ")));
        self.0.fields.headers.iter().cloned().chain(cookie).collect()
    }
}

impl Access {
    /// Returns the headers and cookies for a source's origin, if there are any.
    ///
    /// # Errors
    /// The source's box cannot be opened.
    pub fn to(&self, source: &SourceUrl) -> Result<Option<Credentials>, SealError> {
        let url = Url::parse(source.address()).map_err(|_| SealError::Unopened)?;
        match source.capture().sealed() {
            Some(text) => self.key.as_ref().ok_or(SealError::NoKey)?.open(text, &url).map(Some),
            None if self.fields.is_empty() => Ok(None),
            None => Ok(Some(Credentials::new(&url, self.fields.clone()))),
        }
    }
}

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

    fn open(&self, text: &str, url: &Url) -> Result<Credentials, SealError> {
        let opened = || {
            let sealed = BASE64_URL_SAFE_NO_PAD.decode(text.strip_prefix(BOX_PREFIX)?).ok()?;
            let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
            let mut sealed = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let plain = self.0.open_in_place(nonce, Aad::from(context(url)), &mut sealed).ok()?;
            serde_json::from_slice::<Fields>(plain).ok()?.checked().ok()
        };
        opened().map(|fields| Credentials::new(url, fields)).ok_or(SealError::Unopened)
    }
}

/// Returns true for what the value of a header may be, without characters that programs encode in different ways.
fn is_text(value: &str) -> bool {
    value.is_ascii() && HeaderValue::from_str(value).is_ok()
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

    fn fields() -> Fields {
        let mut fields = Fields::default();
        fields.add_header("Authorization:  Basic c2VjcmV0 ").unwrap();
        fields.add_header("cookie: a=1; b=\"2\"").unwrap();
        fields.add_cookie("c=x=y,z").unwrap();
        fields
    }

    #[test]
    fn a_box_opens_with_its_key_for_its_origin_alone() {
        let (own, other) = (key(&"k".repeat(32)), key(&"K".repeat(32)));
        let sealed = own.seal(&fields(), &Url::parse("https://a.example/b").unwrap()).unwrap();
        assert!(
            !sealed.contains("secret")
                && sealed != own.seal(&fields(), &Url::parse("https://a.example/").unwrap()).unwrap()
        );
        let open = |url: &str, text: &str, key: Option<&SealKey>| {
            let options = format!("web-width=390&web-sealed={text}");
            let source = SourceUrl::parse(url).unwrap().with_options(&options).unwrap();
            Access { key: key.cloned(), fields: Fields::default() }.to(&source)
        };
        let credentials = open("https://A.example:443/c?d", &sealed, Some(&own)).unwrap().unwrap();
        let expected = [("authorization", "Basic c2VjcmV0"), ("cookie", "a=1; b=\"2\"; c=x=y,z")];
        assert_eq!(
            credentials.headers(None),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        for url in
            ["http://a.example/", "https://b.example/", "https://a.example:8443/", "https://www.a.example/"]
        {
            assert_eq!(open(url, &sealed, Some(&own)), Err(SealError::Unopened), "{url}");
            assert!(!credentials.cover(url), "{url}");
        }
        assert!(credentials.cover("https://a.example/") && !credentials.cover("data:text/html,"));
        assert_eq!(open("https://a.example/", &sealed, Some(&other)), Err(SealError::Unopened));
        assert_eq!(open("https://a.example/", &sealed, None), Err(SealError::NoKey));
        for at in BOX_PREFIX.len()..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(open("https://a.example/", &changed, Some(&own)), Err(SealError::Unopened), "{at}");
        }
        assert!(!format!("{credentials:?}{own:?}").contains("c2VjcmV0"));
        let plain = SourceUrl::parse("https://a.example/").unwrap();
        assert_eq!(Access::default().to(&plain), Ok(None));
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
    fn headers_of_the_connection_and_malformed_ones_are_refused() {
        for name in
            ["Host", "content-length", "Transfer-Encoding", "Proxy-Authorization", "Range", "Sec-Fetch-Site"]
        {
            let refused = Fields::default().add_header(&format!("{name}: a")).unwrap_err();
            assert_eq!(refused, FieldError::Forbidden(name.to_lowercase()));
        }
        for line in ["a", ": a", "a b: c", "a: b\r\nc: d", "a: \0", "a: ü"] {
            assert_eq!(Fields::default().add_header(line), Err(FieldError::Header), "{line}");
        }
        for pair in ["a", "=a", "a b=c", "a=b;c", "a=b\tc", "a=b c"] {
            assert_eq!(Fields::default().add_cookie(pair), Err(FieldError::Cookie), "{pair}");
        }
        let forbidden = Fields { headers: vec![("host".to_owned(), "b".to_owned())], cookies: vec![] };
        let url = Url::parse("https://a.example/").unwrap();
        let sealed = key(&"k".repeat(32)).seal(&forbidden, &url).unwrap();
        assert_eq!(
            key(&"k".repeat(32)).open(&sealed, &url),
            Err(SealError::Unopened),
            "whoever has sealed it"
        );
    }

    #[test]
    fn a_cookie_of_the_server_replaces_one_of_its_name() {
        let credentials = Credentials::new(&Url::parse("https://a.example/").unwrap(), fields());
        let cookie = |others| credentials.headers(Some(others)).pop().unwrap().1;
        assert_eq!(cookie("b=3; d=4"), "a=1; c=x=y,z; b=3; d=4");
    }
}
