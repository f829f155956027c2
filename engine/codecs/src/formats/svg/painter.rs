//! Draws a tree strip by strip, with several threads that share the tree. Each of n threads draws every n-th strip and
//! waits until it is read, so at most n strips exist at a time.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::{io, thread};

use edgezoom_geometry::Size;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::Tree;

use super::document::STACK_BYTES;
use super::filter_cost;
use super::filter_layers::FilterLayers;
use super::strip::Strip;
use crate::{Layout, SourceError};

/// Bytes of a strip. With smaller strips more shapes cross an edge and are drawn twice. With larger ones each group
/// with opacity needs a larger buffer.
const STRIP_BYTES: u64 = 8 << 20;
/// The largest number of rows of a strip, for narrow drawings.
const MAX_ROWS: u32 = 2048;
/// Number of buffers of a strip's size that a thread may need for nested groups.
const BUFFERS: u64 = 4;
/// The height, in strips, of the area that resvg draws for a filter: two strips above and two below.
const FILTER_STRIPS: u64 = 5;

/// The drawing threads: a channel from each, and the next one to read from.
pub struct Painter {
    strips: Vec<Receiver<Vec<u8>>>,
    next: usize,
}

/// The drawing and its parameters.
#[derive(Clone)]
pub struct Canvas {
    tree: Arc<Tree>,
    filters: Arc<FilterLayers>,
    size: Size,
    layout: Layout,
    strip_rows: u32,
}

impl Painter {
    pub fn start(canvas: &Canvas, threads: usize) -> io::Result<Self> {
        let strips = (0..threads)
            .map(|thread| {
                let (sender, receiver) = mpsc::sync_channel(0);
                let canvas = canvas.clone();
                let draw = move || {
                    let tops = (0..canvas.size.height).step_by(canvas.strip_rows as usize);
                    for top in tops.skip(thread).step_by(threads) {
                        let Some(strip) = canvas.draw(top) else { return };
                        if sender.send(strip).is_err() {
                            return;
                        }
                    }
                };
                thread::Builder::new().stack_size(STACK_BYTES).spawn(draw)?;
                Ok(receiver)
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { strips, next: 0 })
    }

    /// Returns the next strip, or `None` if it could not be drawn.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let strip = self.strips.get(self.next)?.recv().ok();
        self.next = (self.next + 1) % self.strips.len();
        strip
    }
}

impl Canvas {
    /// Plans a drawing whose filters may take `filter_bytes` bytes.
    ///
    /// # Errors
    /// The filters take more computing than is allowed.
    pub fn new(tree: Arc<Tree>, size: Size, layout: Layout, filter_bytes: u64) -> Result<Self, SourceError> {
        let by_bytes = STRIP_BYTES / (u64::from(size.width) * 4);
        let (_, scale) = scale(&tree, size);
        // resvg gives a filter the pixels of two strips around it, so a strip is at least half as high as the extent.
        let by_filters = filter_cost::extent(tree.root()) * scale / 2.0;
        let strip_rows = by_bytes.max(by_filters as u64).clamp(64, MAX_ROWS.into()) as u32;
        let filters = FilterLayers::plan(&tree, to_canvas(&tree, size), size, strip_rows, filter_bytes)?;
        Ok(Self { tree, filters: Arc::new(filters), size, layout, strip_rows })
    }

    /// Returns the number of threads, reduced to those that memory allows.
    pub fn threads_within(&self, memory: u64, threads: usize) -> usize {
        let strip = u64::from(self.size.width) * u64::from(self.strip_rows) * 4;
        let height = if self.tree.filters().is_empty() { 1 } else { FILTER_STRIPS };
        let most = memory / (strip * BUFFERS * height).max(1);
        threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
    }

    /// Draws the strip that begins at a row. Returns `None` if there is not enough memory.
    fn draw(&self, top: u32) -> Option<Vec<u8>> {
        let rows = self.strip_rows.min(self.size.height - top);
        let mut pixmap = Pixmap::new(self.size.width, rows)?;
        if self.layout == Layout::Rgb {
            pixmap.fill(Color::WHITE);
        }
        let strip = Strip::of(&pixmap, top, &self.filters);
        strip.draw(self.tree.root(), to_canvas(&self.tree, self.size), &mut pixmap)?;
        Some(match self.layout {
            Layout::Rgba => pixmap.take_demultiplied(),
            _ => {
                let (pixels, _) = pixmap.data().as_chunks::<4>();
                let mut opaque = vec![0; pixels.len() * 3];
                for (to, &[red, green, blue, _]) in opaque.as_chunks_mut().0.iter_mut().zip(pixels) {
                    *to = [red, green, blue];
                }
                opaque
            }
        })
    }
}

/// Returns the transform from the tree's units to the canvas.
fn to_canvas(tree: &Tree, size: Size) -> Transform {
    let (horizontal, vertical) = scale(tree, size);
    Transform::from_scale(horizontal, vertical)
}

/// Returns the pixels per unit of the tree, horizontally and vertically.
fn scale(tree: &Tree, size: Size) -> (f32, f32) {
    (size.width as f32 / tree.size().width(), size.height as f32 / tree.size().height())
}
