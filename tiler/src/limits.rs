//! What a conversion may cost: one struct, every field settable, each default with its reason.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use edgezoom_codecs::Bounds;

/// The limits of one conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest source, in bytes. Enough for scanned maps as TIFF; a picture of 20 gigapixels as JPEG is about as large.
    pub source_bytes: u64,
    /// The largest picture, in pixels.
    pub pixels: u64,
    /// The longest side, in pixels. Memory is proportional to the width.
    pub side: u32,
    /// The most pages of a PDF that are drawn; the rest is left out.
    pub pdf_pages: NonZeroUsize,
    /// The largest SVG when unpacked, in bytes. It is held in memory as a tree some ten times as large.
    pub svg_bytes: u64,
    /// The most redirects that are followed.
    pub redirects: u32,
    /// The longest time to connect to a source's server, name resolution included.
    pub connect: Duration,
    /// The longest time without a byte of a download.
    pub stall: Duration,
    /// The longest download, redirects included: 2 GiB at a little over a megabyte a second. Without it, a server that
    /// sends a byte every half minute would keep a job's slot for years.
    pub download: Duration,
    /// The most memory of a renderer process, in bytes.
    pub renderer_memory: u64,
    /// The most bytes of the temporary file that a renderer process may use in place of memory. The coefficients of a
    /// progressive JPEG of a gigapixel take 3 GB, without chroma subsampling 6.
    pub renderer_file: u64,
    /// The folder of that file, which has no name there.
    pub renderer_folder: PathBuf,
    /// The longest time of a renderer process, as wall time.
    pub renderer_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let bounds = Bounds::default();
        Self {
            source_bytes: 2 << 30,
            pixels: bounds.pixels,
            side: bounds.side,
            pdf_pages: bounds.pdf_pages,
            svg_bytes: bounds.svg_bytes,
            redirects: 5,
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            download: Duration::from_secs(30 * 60),
            renderer_memory: 1 << 30,
            renderer_file: 8 << 30,
            renderer_folder: std::env::temp_dir(),
            renderer_time: Duration::from_secs(30 * 60),
        }
    }
}
