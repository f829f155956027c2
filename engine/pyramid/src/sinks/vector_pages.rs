//! The pages of a picture that are stored as vectors, for viewers: where each is in the picture, and its file.

use edgezoom_codecs::PageVectors;
use edgezoom_text::Rect;
use serde::Serialize;

/// The pages of a picture, in order. A page without vectors is `null` in JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VectorPages {
    pages: Vec<Option<VectorPage>>,
}

/// Place of a page in pixels of the picture, and the URL of its SVG, which is relative.
#[derive(Clone, Debug, Serialize)]
struct VectorPage {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    url: String,
}

impl VectorPages {
    /// Adds a page whose SVG has this URL.
    pub fn add(&mut self, page: &PageVectors, url: String) {
        let Rect { left, top, width, height } = page.at;
        self.pages.resize(self.pages.len().max(page.pages as usize), None);
        if let Some(place) = self.pages.get_mut(page.page as usize) {
            *place = Some(VectorPage { x: left, y: top, width, height, url });
        }
    }

    /// Returns true if no page has vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}
