//! The service's addresses as clients see them, in every representation, page and header. They are not stored with a
//! content, because the operator may change them.

use edgezoom_content::{Attempt, Coarse, ContentId, PreviewKind};
use serde::{Deserialize, Serialize};
use url::Url;

/// The service's public addresses, without a trailing slash, and without characters that JSON, XML or HTML would
/// escape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// Base of the API: `{base_url}`.
    pub base: String,
    /// Base of share pages, embed scripts and static files: `{share_base}`.
    pub share: String,
    /// Base of descriptors, tiles and coarse pictures: `{cache_url}`.
    pub cache: String,
}

impl Addresses {
    pub fn content(&self, id: ContentId) -> String {
        format!("{}/v1/content/{id}", self.base)
    }

    pub fn text(&self, id: ContentId) -> String {
        format!("{}/v1/content/{id}/text", self.base)
    }

    pub fn dzi(&self, id: ContentId) -> String {
        format!("{}/v1/dzi/{id}", self.base)
    }

    pub fn share(&self, id: ContentId) -> String {
        format!("{}/{id}", self.share)
    }

    pub fn frame(&self, id: ContentId) -> String {
        format!("{}/{id}/embed", self.share)
    }

    pub fn preview(&self, id: ContentId, kind: PreviewKind) -> String {
        format!("{}/{id}/{}.jpg", self.share, kind.name())
    }

    /// Returns the base URI of a content in IIIF's Image API.
    pub fn iiif(&self, id: ContentId) -> String {
        format!("{}/iiif/{id}", self.share)
    }

    /// Returns the base URI of a page of a document, counted from 1.
    pub fn iiif_page(&self, id: ContentId, page: usize) -> String {
        format!("{}:{page}", self.iiif(id))
    }

    pub fn asset(&self, name: &str) -> String {
        format!("{}/assets/{name}", self.share)
    }

    pub fn coarse(&self, id: ContentId, Coarse { attempt, number }: Coarse) -> String {
        format!("{}/{}", self.cache, attempt.coarse_key(id, number))
    }

    pub fn descriptor(&self, id: ContentId, attempt: Attempt) -> String {
        format!("{}/{}", self.cache, attempt.descriptor_path(id))
    }

    /// Returns the address of the places of the pages that are vectors.
    pub fn vectors(&self, id: ContentId, attempt: Attempt) -> String {
        format!("{}/{}pages.json", self.cache, attempt.vectors_path(id))
    }

    /// Returns the address that the tiles of all levels begin with.
    pub fn tiles(&self, id: ContentId, attempt: Attempt) -> String {
        format!("{}/{}", self.cache, attempt.tiles_path(id))
    }
}

/// Returns the content of a share link, or of the address of its page for frames. Share links begin with `share`; they
/// may have either scheme, a query and a fragment.
pub fn shared_content(link: &str, share: &str) -> Option<ContentId> {
    let host = share.split_once("//").map_or(share, |(_, host)| host);
    // Nearly all URLs have another host and need not be parsed.
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
