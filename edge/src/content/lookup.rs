//! The result of looking a content up: from KV, with its representations printed already, or from its Durable Object.

use edgezoom_content::{Content, ContentId, SourceUrl};

use crate::config::Addresses;
use crate::content::cached_content::{CachedContent, InvalidCachedContent};
use crate::content::representation::content_printed;
use crate::response::negotiation::Format;

/// A content that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundContent {
    /// From KV: the conversion is finished.
    Cached(CachedContent),
    /// From its Durable Object, as it is now.
    Current(Content),
}

impl FoundContent {
    /// The content's id.
    #[must_use]
    pub fn id(&self) -> ContentId {
        match self {
            Self::Cached(cached) => cached.id(),
            Self::Current(content) => content.id,
        }
    }

    /// Whether the content has this source.
    #[must_use]
    pub fn has_source(&self, url: &SourceUrl) -> bool {
        match self {
            Self::Cached(cached) => cached.has_source(url),
            Self::Current(content) => content.url == *url,
        }
    }

    /// Whether the conversion has ended, ready or failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Cached(_) => true,
            Self::Current(content) => content.is_finished(),
        }
    }

    /// The content object in a format; in XML, what is between the root's tags.
    #[must_use]
    pub fn printed(&self, format: Format, addresses: &Addresses) -> String {
        match self {
            Self::Cached(cached) => cached.printed(format, addresses),
            Self::Current(content) => content_printed(content, format, addresses),
        }
    }

    /// The content as a value, for pages.
    ///
    /// # Errors
    /// Another version of the Worker wrote the value in KV.
    pub fn content(self) -> Result<Content, InvalidCachedContent> {
        match self {
            Self::Cached(cached) => cached.content(),
            Self::Current(content) => Ok(content),
        }
    }
}

impl From<Content> for FoundContent {
    fn from(content: Content) -> Self {
        Self::Current(content)
    }
}
