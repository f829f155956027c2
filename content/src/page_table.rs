//! The table of a document's pages, an entry of its archive.

use serde::{Deserialize, Serialize};

/// The pages of a document: where each is in the picture, and where its words are. Stored as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTable {
    /// The pages, in the order of the document.
    pub pages: Vec<StoredPage>,
}

/// A page of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPage {
    /// Left, top, width and height in pixels of the picture.
    pub at: [u32; 4],
    /// Its number as printed, if that differs from its position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Offset and length of its words within [`StoredText::json`](crate::StoredText::json): a stream of deflate without
    /// its last block, with a comma before all but the first page.
    pub words: [u32; 2],
    /// Length of its words unpacked, in bytes; 0 in an archive of an older tiler.
    #[serde(default)]
    pub bytes: u32,
}
