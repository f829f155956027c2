//! The `User-Agent` of requests for sources (RFC 9110, 10.1.5): product and version, where people read what it does, and how
//! they reach its operator.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// The name of the product: the token that a robots.txt addresses it by (RFC 9309, 2.2.1).
pub const PRODUCT: &str = "Edgezoom";

/// The value of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAgent(String);

/// How to reach the operator: an e-mail address or a web address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact(String);

/// The text is no contact.
#[derive(Debug, thiserror::Error)]
#[error("it has to be an e-mail address or a web address, of at most 200 characters")]
pub struct BadContact;

const MOST_CHARACTERS: usize = 200;

impl Default for UserAgent {
    /// Of a tiler that works for no service: with the address of the project.
    fn default() -> Self {
        Self::with(env!("CARGO_PKG_REPOSITORY"), None)
    }
}

impl UserAgent {
    /// Of a tiler that works for the service at `edge`, which has a page about it.
    #[must_use]
    pub fn of_service(edge: &Url, contact: Option<&Contact>) -> Self {
        Self::with(&format!("{}/bot", edge.as_str().trim_end_matches('/')), contact)
    }

    fn with(page: &str, contact: Option<&Contact>) -> Self {
        let contact = contact.map(|Contact(contact)| format!("; {contact}")).unwrap_or_default();
        Self(format!("{PRODUCT}/{} (+{page}{contact})", env!("CARGO_PKG_VERSION")))
    }

    /// The value of the header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Contact {
    type Err = BadContact;

    /// Takes what can stand in a comment of the header: a parenthesis would end it.
    fn from_str(text: &str) -> Result<Self, BadContact> {
        let is_address = text.starts_with("https://") || text.starts_with("http://");
        let is_mail = text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
        let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'(' | b')' | b'\\' | b'"' | b';');
        let is_contact = (is_address || is_mail) && text.len() <= MOST_CHARACTERS && text.bytes().all(fits);
        if is_contact { Ok(Self(text.to_owned())) } else { Err(BadContact) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_leads_to_the_page_and_to_the_operator() {
        let version = env!("CARGO_PKG_VERSION");
        let edge = Url::parse("https://zoom.example.com").unwrap();
        let contact: Contact = "zoom@example.com".parse().unwrap();
        assert_eq!(
            UserAgent::of_service(&edge, Some(&contact)).as_str(),
            format!("Edgezoom/{version} (+https://zoom.example.com/bot; zoom@example.com)")
        );
        let below = Url::parse("https://example.com/zoom/").unwrap();
        assert_eq!(
            UserAgent::of_service(&below, None).as_str(),
            format!("Edgezoom/{version} (+https://example.com/zoom/bot)")
        );
    }

    #[test]
    fn a_contact_cannot_end_the_header_or_its_comment() {
        for good in ["a@example.com", "https://example.com/contact?a=b", "first.last+zoom@sub.example.org"] {
            assert!(good.parse::<Contact>().is_ok(), "{good}");
        }
        let long = format!("{}@example.com", "a".repeat(200));
        for bad in
            ["", "me", "@example.com", "a@b.c)", "a@b.c\r\nX: y", "a b@c.d", "ä@b.c", "ftp://a.b/", &long]
        {
            assert!(bad.parse::<Contact>().is_err(), "{bad:?}");
        }
    }
}
