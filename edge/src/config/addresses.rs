//! Where the service is, as clients see it: the addresses that every representation, page and header is printed with. They are not stored
//! with a content, because the operator may change them.

use edgezoom_content::{Attempt, ContentId};
use url::{Url, form_urlencoded};

/// The service's public addresses, none with a slash at its end, and none with a character that is escaped in JSON, XML or
/// HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Where the interface is: `{base_url}`.
    pub base: String,
    /// Where share pages, embed scripts and our own assets are: `{share_base}`.
    pub share: String,
    /// Where pyramids are: `{cache_url}`.
    pub cache: String,
}

impl Addresses {
    /// As a query, to be handed on to an object.
    #[must_use]
    pub fn to_query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("base", &self.base)
            .append_pair("share", &self.share)
            .append_pair("cache", &self.cache);
        query.finish()
    }

    /// What [`Addresses::to_query`] wrote.
    #[must_use]
    pub fn from_query(query: &str) -> Self {
        let mut addresses = Self { base: String::new(), share: String::new(), cache: String::new() };
        for (name, address) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "base" => addresses.base = address.into_owned(),
                "share" => addresses.share = address.into_owned(),
                "cache" => addresses.cache = address.into_owned(),
                _ => {}
            }
        }
        addresses
    }

    /// Where a content's description is for good.
    #[must_use]
    pub fn content(&self, id: ContentId) -> String {
        format!("{}/v1/content/{id}", self.base)
    }

    /// A content's short URL.
    #[must_use]
    pub fn share(&self, id: ContentId) -> String {
        format!("{}/{id}", self.share)
    }

    /// A content as a page for frames.
    #[must_use]
    pub fn framed(&self, id: ContentId) -> String {
        format!("{}/{id}/embed", self.share)
    }

    /// A small picture of a ready content.
    #[must_use]
    pub fn preview(&self, id: ContentId) -> String {
        format!("{}/{id}/preview.jpg", self.share)
    }

    /// A file of the browser's side.
    #[must_use]
    pub fn asset(&self, name: &str) -> String {
        format!("{}/assets/{name}", self.share)
    }

    /// A pyramid's descriptor.
    #[must_use]
    pub fn descriptor(&self, id: ContentId, attempt: Attempt) -> String {
        format!("{}/{}", self.cache, attempt.descriptor_key(id))
    }
}

/// An address that the operator chose; `None` when it is no plain http or https URL. Addresses are written into JSON, XML and HTML
/// as they are.
pub(super) fn parse(text: &str) -> Option<String> {
    let has_to_be_escaped = |c: char| c <= ' ' || !c.is_ascii() || "\"'<>&\\?#".contains(c);
    let is_plain = Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    (is_plain && !text.contains(has_to_be_escaped)).then(|| text.trim_end_matches('/').to_owned())
}
