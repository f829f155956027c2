//! What a renderer process is told to do: its one argument, as JSON.

use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::thread::available_parallelism;

use edgezoom_content::{Dzi, Size, TileFormat};
use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use edgezoom_codecs::{Bounds, DrawingOptions};

/// The largest tile that makes sense: what viewers still load at once.
const MOST_TILE_SIZE: u32 = 4096;

/// How a picture is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderOptions {
    /// A tile's width and height in pixels without overlap, 1 to 4096.
    pub tile_size: u32,
    /// The pixels a tile carries of each neighbour, at most a tile's size.
    pub overlap: u32,
    /// The quality of JPEG, 1 to 100.
    pub quality: u8,
    /// The format of the tiles. `None`: PNG where the source has transparency, else JPEG.
    pub format: Option<TileFormat>,
    /// The threads to use. `None`: as many as the machine runs at once.
    pub threads: Option<NonZeroUsize>,
    /// The page of a document to render, counted from 1. `None`: all of them, side by side.
    pub page: Option<NonZeroU32>,
    /// The dots per inch of a PDF's pages, 1 to 10,000. 200 shows all that was made to be printed.
    pub dpi: u32,
    /// The pixels that the widest page of a PDF has at least. At 200 dpi a page of paper has 1,700, which leaves little to
    /// zoom into.
    pub page_width: u32,
    /// The pixels that the longer side of an SVG has at least.
    pub svg_side: u32,
}

/// An order for a renderer process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// How to render.
    pub options: RenderOptions,
    /// The threads to use.
    pub threads: NonZeroUsize,
    /// The pixels the picture may have.
    pub pixels: u64,
    /// The pixels a side may have.
    pub side: u32,
    /// The pages of a PDF that are drawn.
    pub pdf_pages: NonZeroUsize,
    /// The bytes that an SVG may have when unpacked.
    pub svg_bytes: u64,
    /// Where the library for PDF is. `None`: there is none.
    pub pdfium: Option<PathBuf>,
    /// The memory the process may use, in bytes.
    pub memory: u64,
    /// How long the process may compute, in seconds, all its threads together.
    pub cpu_seconds: u64,
}

impl Default for RenderOptions {
    fn default() -> Self {
        let DrawingOptions { page, dpi, page_width, svg_side } = DrawingOptions::default();
        let edgezoom_pyramid::Options { tile_size, overlap, quality, format, .. } = Default::default();
        Self { tile_size, overlap, quality, format, threads: None, page, dpi, page_width, svg_side }
    }
}

impl Order {
    /// The order for these options within these limits.
    ///
    /// # Errors
    /// When an option makes no sense.
    pub fn new(options: &RenderOptions, limits: &Limits) -> io::Result<Self> {
        let refuse = |reason| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        if !(1..=MOST_TILE_SIZE).contains(&options.tile_size) {
            return refuse("the tile size must be 1 to 4096");
        }
        if options.overlap > options.tile_size {
            return refuse("the overlap must not be more than the tile size");
        }
        if !(1..=100).contains(&options.quality) {
            return refuse("the quality must be 1 to 100");
        }
        if !(1..=10_000).contains(&options.dpi) {
            return refuse("the resolution must be 1 to 10,000 dots per inch");
        }
        // Counted and looked up here: the child has no environment to tell it.
        let threads = options.threads.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        Ok(Self {
            options: *options,
            threads,
            pixels: limits.pixels,
            side: limits.side,
            pdf_pages: limits.pdf_pages,
            svg_bytes: limits.svg_bytes,
            pdfium: edgezoom_codecs::locate_pdfium(),
            memory: limits.renderer_memory,
            // The clock ends it at the same time when all threads compute; this holds when nobody watches the clock.
            cpu_seconds: limits.renderer_time.as_secs().max(1).saturating_mul(threads.get() as u64),
        })
    }

    /// What the picture may need. A quarter of the memory is left for everything but holding it.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        Bounds {
            pixels: self.pixels,
            side: self.side,
            memory: self.memory / 4 * 3,
            pdf_pages: self.pdf_pages,
            svg_bytes: self.svg_bytes,
        }
    }

    /// How the pyramid is made.
    #[must_use]
    pub fn pyramid_options(&self) -> edgezoom_pyramid::Options {
        let RenderOptions { tile_size, overlap, quality, format, page, dpi, page_width, svg_side, .. } =
            self.options;
        let drawing = DrawingOptions { page, dpi, page_width, svg_side };
        edgezoom_pyramid::Options { tile_size, overlap, quality, format, drawing, threads: self.threads }
    }

    /// The pyramid of a picture of this size.
    #[must_use]
    pub fn dzi(&self, size: Size, tile_format: TileFormat) -> Dzi {
        self.pyramid_options().dzi(size, tile_format)
    }

    /// The bytes that a tile may have at most: twice its pixels, which no encoder comes near, and something for headers.
    #[must_use]
    pub fn most_tile_bytes(&self) -> usize {
        let side = (self.options.tile_size + 2 * self.options.overlap) as usize;
        2 * 4 * side * side + (64 << 10)
    }
}
