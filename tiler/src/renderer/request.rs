//! The only argument of a renderer process, as JSON: how to render, and its limits.

use std::io;
use std::path::PathBuf;

use edgezoom_codecs::{Bounds, Mosaic};
pub use edgezoom_pyramid::Options as RenderOptions;
use serde::{Deserialize, Serialize};

use super::watchdog::allowed_cpu_time;
use crate::limits::Limits;

/// The task of a renderer process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderRequest {
    /// Options for rendering.
    pub options: RenderOptions,
    /// Limits for the decoder.
    pub bounds: Bounds,
    /// Set if the source is still being downloaded: standard input is then the [channel](super::channel).
    pub arriving: Option<Arriving>,
    /// Set if the source is a file with the tiles of a picture.
    pub mosaic: Option<Mosaic>,
    /// PDF library; `None` if none is installed.
    pub pdfium: Option<PathBuf>,
    /// Memory for the process, in bytes.
    pub memory: u64,
    /// Directory in which the process creates its temporary file, before it enters its sandbox.
    pub folder: PathBuf,
    /// Maximum size of the temporary file, in bytes.
    pub file: u64,
    /// Processor time for all threads of the process together, in seconds.
    pub cpu_seconds: u64,
}

/// A source that is still being downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arriving {
    /// Length announced by its server. The download fails if the length turns out to be different.
    pub announced: Option<u64>,
}

impl RenderRequest {
    /// Returns the request for these options and limits, and a source of `bytes` if its length is known.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn new(options: &RenderOptions, limits: &Limits, bytes: Option<u64>) -> io::Result<Self> {
        let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        if let Err(error) = options.check() {
            return refuse(error.to_string());
        }
        if !(1..=10_000).contains(&options.drawing.dpi) {
            return refuse("the resolution must be 1 to 10,000 dots per inch".to_owned());
        }
        let by_length = bytes.map(|bytes| bytes.saturating_mul(limits.pixels_per_byte));
        // With all threads computing, this ends at the parent's limit for wall time. It also holds if the parent dies.
        let wall_time = limits.renderer_time.as_secs().max(1).saturating_mul(options.threads.get() as u64);
        // The kernel checks more often than the parent, which does not check at all while it waits for the store.
        let allowed = allowed_cpu_time(limits, bytes.unwrap_or(0), limits.pixels).as_secs().saturating_add(1);
        Ok(Self {
            options: *options,
            bounds: Bounds {
                pixels: limits.pixels,
                pixels_by_length: by_length
                    .map_or(u64::MAX, |by_length| limits.pixels_free.saturating_add(by_length)),
                drawn_pixels: limits.drawn_pixels.min(limits.pixels),
                page_pixels: limits.page_pixels,
                scan_pixels: limits.page_pixels.saturating_add(by_length.unwrap_or(0)),
                side: limits.side,
                // A quarter is left for everything except holding the picture.
                memory: limits.renderer_memory / 4 * 3,
                pdf_pages: limits.pdf_pages,
                svg_bytes: limits.svg_bytes,
            },
            arriving: None,
            mosaic: None,
            // Found here, because the process has no environment variables.
            pdfium: edgezoom_codecs::locate_pdfium(),
            memory: limits.renderer_memory,
            folder: limits.renderer_folder.clone(),
            file: limits.renderer_file,
            cpu_seconds: wall_time.min(allowed),
        })
    }

    /// Returns the maximum size of a tile's file in bytes: twice the size of its pixels, which no encoder comes near,
    /// plus 64 KiB for headers.
    #[must_use]
    pub fn max_tile_bytes(&self) -> usize {
        let side = (self.options.tile_size + 2 * self.options.overlap) as usize;
        2 * 4 * side * side + (64 << 10)
    }
}
