//! The pages of a document, or a drawing, as vectors, which stay sharp where its pixels end.

use std::io;
use std::time::Duration;

use edgezoom_text::Rect;
#[cfg(feature = "vector")]
use edgezoom_vector::Refusal;

/// Time for a page, with its check. Those that take more are slow in a browser, too.
#[cfg(feature = "vector")]
const PAGE_TIME: Duration = Duration::from_secs(2);
/// Maximum side of the pixels that a page is compared with.
#[cfg(feature = "vector")]
pub(crate) const SIDE: f64 = 2048.0;

/// A page as vectors. A drawing has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageVectors {
    /// Number of the page in the picture, from 0.
    pub page: u32,
    /// Number of pages of the picture.
    pub pages: u32,
    /// Place of the page in the picture, in pixels: the whole area of the SVG.
    pub at: Rect,
    /// An SVG without scripts and references, as `edgezoom-vector` writes it.
    pub svg: String,
}

/// A page without vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PixelsOnly {
    /// Number of the page in the picture, from 0.
    pub page: u32,
    /// A sentence without its full stop, for a log.
    pub reason: String,
}

/// The pages of an open document, to be drawn as vectors.
pub trait Vectors {
    /// Returns true if the picture has half its resolution because all pages may have vectors: it must be drawn again without
    /// [`halved`](crate::DrawingOptions::halved) if one has none.
    fn are_needed(&self) -> bool {
        false
    }

    /// Passes on each page, in order: its vectors if they look like its pixels, otherwise its number and why it has none. `clock`
    /// returns the time that has been used for the document: vectors add a part of that.
    ///
    /// Call it after the last row, in a process that may end: a document takes memory here that is not counted.
    ///
    /// # Errors
    /// Those of `each`.
    fn draw(
        self: Box<Self>,
        clock: &dyn Fn() -> Duration,
        each: &mut dyn FnMut(Result<PageVectors, PixelsOnly>) -> io::Result<()>,
    ) -> io::Result<()>;
}

/// Returns what is passed on of a page that took this time, by its number and that of all pages.
#[cfg(feature = "vector")]
pub(crate) fn found(
    (page, pages): (u32, u32),
    at: Rect,
    drawn: Result<String, Refusal>,
    took: Duration,
) -> Result<PageVectors, PixelsOnly> {
    match drawn.and_then(|svg| if took <= PAGE_TIME { Ok(svg) } else { Err(Refusal::Time) }) {
        Ok(svg) => Ok(PageVectors { page, pages, at, svg }),
        Err(refusal) => Err(PixelsOnly { page, reason: refusal.to_string() }),
    }
}
