//! The tiler's behaviour towards the servers of sources: the `User-Agent` that it sends, and whether it obeys
//! robots.txt. The edge explains both to publishers at `/bot`.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// Name of the product, and the token for it in a robots.txt (RFC 9309, 2.2.1).
pub const PRODUCT: &str = "Edgezoom";

/// Maximum length of a contact.
const MAX_CONTACT_CHARACTERS: usize = 200;

/// The tiler's behaviour towards the servers of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotSettings {
    /// The `User-Agent` to send.
    pub user_agent: UserAgent,
    /// True to open a web page only if its server's robots.txt allows it (RFC 9309). This does not concern a picture or
    /// document that a client names: a robot follows links, and the tiler follows none.
    pub respects_robots: bool,
}

impl Default for BotSettings {
    fn default() -> Self {
        Self { user_agent: UserAgent::default(), respects_robots: true }
    }
}

/// The value of `User-Agent` in requests for sources (RFC 9110, 10.1.5): product and version, a page about the service,
/// and its operator's contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAgent(String);

impl Default for UserAgent {
    /// Names the project's page, for a tiler without a service.
    fn default() -> Self {
        Self::with(env!("CARGO_PKG_REPOSITORY"), None)
    }
}

impl UserAgent {
    /// Names the page about the service at `edge`.
    #[must_use]
    pub fn of_service(edge: &Url, contact: Option<&Contact>) -> Self {
        Self::with(&format!("{}/bot", edge.as_str().trim_end_matches('/')), contact)
    }

    fn with(page: &str, contact: Option<&Contact>) -> Self {
        let contact = contact.map(|Contact(contact)| format!("; {contact}")).unwrap_or_default();
        Self(format!("{PRODUCT}/{} (+{page}{contact})", env!("CARGO_PKG_VERSION")))
    }

    /// Returns the value of the header.
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

/// The operator's e-mail address or web address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact(String);

/// The text is not a contact.
#[derive(Debug, thiserror::Error)]
#[error("give an e-mail address or a web address, with at most {MAX_CONTACT_CHARACTERS} characters")]
pub struct BadContact;

impl FromStr for Contact {
    type Err = BadContact;

    /// Accepts characters that a comment in the header can contain: a parenthesis would end it.
    fn from_str(text: &str) -> Result<Self, BadContact> {
        let is_address = text.starts_with("https://") || text.starts_with("http://");
        let is_mail = text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
        let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'(' | b')' | b'\\' | b'"' | b';');
        let is_contact =
            (is_address || is_mail) && text.len() <= MAX_CONTACT_CHARACTERS && text.bytes().all(fits);
        if is_contact { Ok(Self(text.to_owned())) } else { Err(BadContact) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_the_page_and_the_operator() {
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
