//! Draws a tree strip by strip, with several threads that share it. Each of n threads draws every n-th strip and waits
//! until the reader takes it, so at most n strips exist at a time.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::{io, thread};

use edgezoom_geometry::Size;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::Tree;

use super::document::STACK_BYTES;
use super::filter_extent;
use super::filter_layers::FilterLayers;
use super::strip::Strip;
use crate::{Layout, SourceError};

/// The bytes of a strip. In a small strip more shapes cross an edge and are drawn twice; in a large one each group with
/// opacity needs another large buffer.
const STRIP_BYTES: u64 = 8 << 20;
/// The largest number of rows of a strip, for narrow drawings.
const MAX_ROWS: u32 = 2048;
/// The buffers of a strip that a thread may need, for groups in groups.
const BUFFERS: u64 = 4;
/// The height, in strips, of the area that resvg draws for a filter: two above, two below.
const FILTER_STRIPS: u64 = 5;

/// The threads that draw: a channel from each, and the next one to read from.
pub struct Painter {
    strips: Vec<Receiver<Vec<u8>>>,
    next: usize,
}

/// What is drawn, and how.
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

    /// The next strip from the top. `None` when its thread could not draw it.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let strip = self.strips.get(self.next)?.recv().ok();
        self.next = (self.next + 1) % self.strips.len();
        strip
    }
}

impl Canvas {
    /// A drawing whose filters may take so many bytes.
    ///
    /// # Errors
    /// The filters take more computing than is allowed.
    pub fn new(tree: Tree, size: Size, layout: Layout, filter_bytes: u64) -> Result<Self, SourceError> {
        let by_bytes = STRIP_BYTES / (u64::from(size.width) * 4);
        let (_, scale) = scale(&tree, size);
        // resvg gives a filter the pixels of two strips around, so a strip is at least half the extent high.
        let by_filters = filter_extent::of(tree.root()) * scale / 2.0;
        let strip_rows = by_bytes.max(by_filters as u64).clamp(64, MAX_ROWS.into()) as u32;
        let filters = FilterLayers::plan(&tree, to_canvas(&tree, size), size, strip_rows, filter_bytes)?;
        Ok(Self { tree: Arc::new(tree), filters: Arc::new(filters), size, layout, strip_rows })
    }

    /// The number of threads, reduced to those that there is memory for.
    pub fn threads_within(&self, memory: u64, threads: usize) -> usize {
        let strip = u64::from(self.size.width) * u64::from(self.strip_rows) * 4;
        let height = if self.tree.filters().is_empty() { 1 } else { FILTER_STRIPS };
        let most = memory / (strip * BUFFERS * height).max(1);
        threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
    }

    /// The pixels of the strip that begins at a row. `None` when there is no memory for it.
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
                pixels.iter().flat_map(|&[red, green, blue, _]| [red, green, blue]).collect()
            }
        })
    }
}

/// The transform from the tree's units to the canvas.
fn to_canvas(tree: &Tree, size: Size) -> Transform {
    let (horizontal, vertical) = scale(tree, size);
    Transform::from_scale(horizontal, vertical)
}

/// The pixels that a unit of the tree has, across and down.
fn scale(tree: &Tree, size: Size) -> (f32, f32) {
    (size.width as f32 / tree.size().width(), size.height as f32 / tree.size().height())
}
