//! The pages of a document as vectors, which stay sharp where its pixels end.

use std::io;
use std::time::Duration;

use edgezoom_text::Rect;

/// A page as vectors.
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
