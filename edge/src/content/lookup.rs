//! The result of looking a content up: from KV, with its representations printed already, or from its Durable Object.

use edgezoom_content::{Content, ContentId, SourceUrl, Timestamp};

use crate::config::Addresses;
use crate::content::cached_content::{CachedContent, InvalidCachedContent};
use crate::content::representation::content_printed;
use crate::response::CachePolicy;
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

    /// How long a response with the content may be cached.
    #[must_use]
    pub fn cache_policy(&self, now: Timestamp) -> CachePolicy {
        match self {
            Self::Cached(cached) => {
                cached.retry_at().map_or(CachePolicy::OneHour, |retry_at| CachePolicy::until(retry_at, now))
            }
            Self::Current(content) => CachePolicy::of(&content.status, now),
        }
    }

    /// The content object in a format; in XML, what is between the root's tags.
    #[must_use]
    pub fn printed(&self, format: Format, addresses: &Addresses, now: Timestamp) -> String {
        match self {
            Self::Cached(cached) => cached.printed(format, addresses, now),
            Self::Current(content) => content_printed(content, format, addresses, now),
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
