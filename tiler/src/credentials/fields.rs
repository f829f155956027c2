//! Headers and cookies, and which of them a user may set.

use std::fmt;

use reqwest::header::{COOKIE, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

/// Headers and cookies, each a name and a value.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fields {
    pub(super) headers: Vec<(String, String)>,
    pub(super) cookies: Vec<(String, String)>,
}

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
    pub(super) fn checked(&self) -> Result<Self, FieldError> {
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

/// Returns true for what the value of a header may be, without characters that programs encode in different ways.
fn is_text(value: &str) -> bool {
    value.is_ascii() && HeaderValue::from_str(value).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
