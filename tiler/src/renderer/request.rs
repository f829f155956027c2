//! What a renderer process gets as its one argument, as JSON: how to render, and its limits.

use std::io;
use std::path::PathBuf;

use edgezoom_codecs::Bounds;
pub use edgezoom_pyramid::Options as RenderOptions;
use serde::{Deserialize, Serialize};

use super::watchdog::CpuAllowance;
use crate::limits::Limits;

/// What a renderer process is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderRequest {
    /// How to render.
    pub options: RenderOptions,
    /// What the source may cost.
    pub bounds: Bounds,
    /// Whether the source still arrives: standard input is then the [channel](super::channel) that tells how far it has
    /// come.
    pub arriving: Option<Arriving>,
    /// The library for PDF. `None`: there is none.
    pub pdfium: Option<PathBuf>,
    /// The memory the process may use, in bytes.
    pub memory: u64,
    /// The folder in which the process makes its temporary file, before it enters its sandbox.
    pub folder: PathBuf,
    /// The bytes that the temporary file may have.
    pub file: u64,
    /// The processor time of the process, in seconds, all its threads together.
    pub cpu_seconds: u64,
}

/// A source that still arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arriving {
    /// How long it will be, if its server says so. Should that not be true, the download fails.
    pub announced: Option<u64>,
}

impl RenderRequest {
    /// The request for these options within these limits.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn new(options: &RenderOptions, limits: &Limits) -> io::Result<Self> {
        let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        if let Err(error) = options.check() {
            return refuse(error.to_string());
        }
        if !(1..=10_000).contains(&options.drawing.dpi) {
            return refuse("the resolution must be 1 to 10,000 dots per inch".to_owned());
        }
        Ok(Self {
            options: *options,
            bounds: Bounds {
                pixels: limits.pixels,
                pixels_by_length: u64::MAX,
                drawn_pixels: limits.drawn_pixels.min(limits.pixels),
                page_pixels: limits.page_pixels,
                scan_pixels: limits.page_pixels,
                side: limits.side,
                // A quarter is left for everything but holding the picture.
                memory: limits.renderer_memory / 4 * 3,
                pdf_pages: limits.pdf_pages,
                svg_bytes: limits.svg_bytes,
            },
            arriving: None,
            // Looked up here, because the process has no environment.
            pdfium: edgezoom_codecs::locate_pdfium(),
            memory: limits.renderer_memory,
            folder: limits.renderer_folder.clone(),
            file: limits.renderer_file,
            // When all threads compute, this ends with the parent's limit of wall time. It holds when the parent is gone.
            cpu_seconds: limits.renderer_time.as_secs().max(1).saturating_mul(options.threads.get() as u64),
        })
    }

    /// The same for a source of so many bytes, if they are known.
    #[must_use]
    pub fn for_source(mut self, bytes: Option<u64>, limits: &Limits) -> Self {
        if let Some(bytes) = bytes {
            let by_length = bytes.saturating_mul(limits.pixels_per_byte);
            self.bounds.pixels_by_length = limits.pixels_free.saturating_add(by_length);
            self.bounds.scan_pixels = limits.page_pixels.saturating_add(by_length);
        }
        // The parent looks at the process less often than the kernel, and not at all while it waits for the store.
        let most = CpuAllowance::new(limits, bytes).after(limits.pixels);
        self.cpu_seconds = self.cpu_seconds.min(most.as_secs().saturating_add(1));
        self
    }

    /// The largest file that a tile may have, in bytes: twice its pixels, which no encoder comes near, and 64 KiB for
    /// headers.
    #[must_use]
    pub fn max_tile_bytes(&self) -> usize {
        let side = (self.options.tile_size + 2 * self.options.overlap) as usize;
        2 * 4 * side * side + (64 << 10)
    }
}
