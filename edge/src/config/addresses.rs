//! Where the service is, as clients see it: the addresses that every representation, page and header is printed with.
//! They are not stored with a content, because the operator may change them.

use std::borrow::Cow;

use edgezoom_content::{Archive, Attempt, Coarse, ContentId, PreviewKind};
use url::{Url, form_urlencoded};

/// The service's public addresses, without a slash at the end, and without characters that are escaped in JSON, XML or
/// HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Where the interface is: `{base_url}`.
    pub base: String,
    /// Where share pages, embed scripts and static files are: `{share_base}`.
    pub share: String,
    /// Where pyramids are that are stored tile by tile: `{cache_url}`.
    pub cache: String,
}

impl Addresses {
    /// The addresses as a query, for a Durable Object.
    #[must_use]
    pub fn to_query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("base", &self.base)
            .append_pair("share", &self.share)
            .append_pair("cache", &self.cache);
        query.finish()
    }

    /// Parses what [`Addresses::to_query`] wrote.
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

    /// The address of a content object.
    #[must_use]
    pub fn content(&self, id: ContentId) -> String {
        format!("{}/v1/content/{id}", self.base)
    }

    /// The address of the `dzi` object of a content.
    #[must_use]
    pub fn dzi(&self, id: ContentId) -> String {
        format!("{}/v1/dzi/{id}", self.base)
    }

    /// The address of the share page.
    #[must_use]
    pub fn share(&self, id: ContentId) -> String {
        format!("{}/{id}", self.share)
    }

    /// The address of the page for frames.
    #[must_use]
    pub fn frame(&self, id: ContentId) -> String {
        format!("{}/{id}/embed", self.share)
    }

    /// The address of a small picture of a ready content.
    #[must_use]
    pub fn preview(&self, id: ContentId, kind: PreviewKind) -> String {
        format!("{}/{id}/{}.jpg", self.share, kind.name())
    }

    /// The base URI of a content in IIIF's Image API.
    #[must_use]
    pub fn iiif(&self, id: ContentId) -> String {
        format!("{}/iiif/{id}", self.share)
    }

    /// The address of a static file, such as the viewer.
    #[must_use]
    pub fn asset(&self, name: &str) -> String {
        format!("{}/assets/{name}", self.share)
    }

    /// Where a pyramid is. Only the Worker can read tiles from an archive.
    #[must_use]
    pub fn pyramids(&self, archive: Option<Archive>) -> Cow<'_, str> {
        match archive {
            Some(_) => format!("{}/cache", self.base).into(),
            None => self.cache.as_str().into(),
        }
    }

    /// The address of what is there so far of a picture.
    #[must_use]
    pub fn coarse(&self, id: ContentId, Coarse { attempt, number }: Coarse) -> String {
        format!("{}/cache/{}", self.base, attempt.coarse_key(id, number))
    }

    /// The address of a pyramid's descriptor.
    #[must_use]
    pub fn descriptor(&self, id: ContentId, attempt: Attempt, archive: Option<Archive>) -> String {
        format!("{}/{}", self.pyramids(archive), attempt.descriptor_key(id))
    }
}

/// The content of a share link, or of its page for frames, where share links begin with `share`. Links may have either
/// scheme, a query and a fragment.
#[must_use]
pub fn shared_content(link: &str, share: &str) -> Option<ContentId> {
    let host = share.split_once("//").map_or(share, |(_, host)| host);
    // Nearly all URLs are of other hosts; those are not parsed for this.
    let begins = |text: &str| text.get(..host.len()).is_some_and(|start| start.eq_ignore_ascii_case(host));
    if !link.split_once("//").is_some_and(|(_, rest)| begins(rest)) {
        return None;
    }
    let (link, share) = (Url::parse(link.trim()).ok()?, Url::parse(share).ok()?);
    let same = matches!(link.scheme(), "http" | "https")
        && link.host() == share.host()
        && link.port() == share.port();
    let path = link.path().strip_prefix(share.path().trim_end_matches('/'))?.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    path.strip_suffix("/embed").unwrap_or(path).parse().ok().filter(|_| same)
}

/// Parses a configured address; `None` when it is not a plain http or https URL. Addresses are written into JSON, XML
/// and HTML without escaping.
pub(super) fn parse(text: &str) -> Option<String> {
    let has_to_be_escaped = |c: char| c <= ' ' || !c.is_ascii() || "\"'<>&\\?#".contains(c);
    let is_plain = Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    (is_plain && !text.contains(has_to_be_escaped)).then(|| text.trim_end_matches('/').to_owned())
}
