//! A content as it was found: kept in KV, ready to be sent, or told by its Durable Object.

use edgezoom_content::{Content, ContentId, SourceUrl};

use crate::config::Addresses;
use crate::content::cached_content::{NoRecord, Record};
use crate::content::representation::content_printed;
use crate::response::negotiation::Format;

/// A content that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// KV has it: it is finished.
    Kept(Record),
    /// Its Durable Object told it.
    Told(Content),
}

impl Known {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> ContentId {
        match self {
            Self::Kept(record) => record.id(),
            Self::Told(content) => content.id,
        }
    }

    /// Whether it is the content of this source.
    #[must_use]
    pub fn is_of(&self, url: &SourceUrl) -> bool {
        match self {
            Self::Kept(record) => record.is_of(url),
            Self::Told(content) => content.url == *url,
        }
    }

    /// Whether the conversion has ended, ready or failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Kept(_) => true,
            Self::Told(content) => content.is_finished(),
        }
    }

    /// The content object in a format; in XML, what is between the root's tags.
    #[must_use]
    pub fn printed(&self, format: Format, addresses: &Addresses) -> String {
        match self {
            Self::Kept(record) => record.splice(format, addresses),
            Self::Told(content) => content_printed(content, format, addresses),
        }
    }

    /// All that is known, for pages.
    ///
    /// # Errors
    /// KV has what another version of the Worker wrote.
    pub fn content(self) -> Result<Content, NoRecord> {
        match self {
            Self::Kept(record) => record.content(),
            Self::Told(content) => Ok(content),
        }
    }
}

impl From<Content> for Known {
    fn from(content: Content) -> Self {
        Self::Told(content)
    }
}
