//! The drawing as vectors, by `edgezoom-vector`, if they look like the pixels of the [`painter`](super::painter). They are
//! drawn from the same tree, so references, styles and texts are resolved as in the pixels.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use edgezoom_geometry::Size;
use edgezoom_text::Rect;
use edgezoom_vector::{Pixels, Refusal, check};
use resvg::usvg::Tree;

use super::document::STACK_BYTES;
use super::painter::{Canvas, Painter};
use crate::vectors::{SIDE, found};
use crate::{Layout, PageVectors, PixelsOnly, Vectors};

/// A drawing whose pixels have been drawn, in this size.
pub struct VectorDrawing {
    pub tree: Arc<Tree>,
    pub size: Size,
}

impl Vectors for VectorDrawing {
    fn draw(
        self: Box<Self>,
        clock: &dyn Fn() -> Duration,
        each: &mut dyn FnMut(Result<PageVectors, PixelsOnly>) -> io::Result<()>,
    ) -> io::Result<()> {
        let at = Rect::new(0, 0, self.size.width, self.size.height);
        let start = clock();
        // A thread of its own, as for the parser: the tree is dropped there, too.
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || self.svg())?;
        let drawn = thread.join().unwrap_or(Err(Refusal::Interpreter));
        each(found((0, 1), at, drawn, clock().saturating_sub(start)))
    }
}

impl VectorDrawing {
    /// Returns the SVG, which looks like the pixels. Its lines have their own width, because resvg does not widen thin ones.
    fn svg(&self) -> Result<String, Refusal> {
        let drawing = edgezoom_vector::tree(&self.tree)?;
        let scale = (SIDE / f64::from(self.size.width.max(self.size.height))).min(1.0);
        let [width, height] =
            [self.size.width, self.size.height].map(|side| (f64::from(side) * scale).round().max(1.0) as u32);
        let rgb = self.pixels(Size { width, height }).ok_or(Refusal::Unlike)?;
        let pixels = Pixels { width, height, rgb: &rgb };
        let drawing = drawing.without_unseen(pixels)?;
        let svg = drawing.svg(0.0)?;
        check(&drawing, pixels)?;
        Ok(svg)
    }

    fn pixels(&self, size: Size) -> Option<Vec<u8>> {
        // Drawings with filters are refused before.
        let canvas = Canvas::new(self.tree.clone(), size, Layout::Rgb, 0).ok()?;
        let mut painter = Painter::start(&canvas, 1).ok()?;
        let (mut rgb, bytes) = (Vec::new(), Layout::Rgb.row_bytes(size.width) * size.height as usize);
        while rgb.len() < bytes {
            rgb.extend(painter.next()?);
        }
        Some(rgb)
    }
}
