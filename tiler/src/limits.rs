//! The limits of a conversion: one struct with a reason for each default. Each field has a flag.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use edgezoom_codecs::Bounds;

/// The limits of one conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a source in bytes. Enough for scanned maps in TIFF; a JPEG of 20 gigapixels has about this size.
    pub source_bytes: u64,
    /// Maximum size of a picture in pixels.
    pub pixels: u64,
    /// Pixels that a picture may have regardless of its file's size. A sheet of 33 by 47 inches has this number at 600 dpi,
    /// and only a few hundred kilobytes in fax compression.
    pub pixels_free: u64,
    /// Additional pixels that a picture may have per byte of its file, so that a small download does not become a million
    /// tiles. Deflate compresses a thousand bytes of one colour to one byte, and detailed pictures far less.
    pub pixels_per_byte: u64,
    /// Maximum size of a drawn document or SVG in pixels, all pages together.
    pub drawn_pixels: u64,
    /// Maximum size of a drawn page of a document in pixels. A scanned page, which has its own pixels, may have the additional
    /// pixels per byte. A poster of 47 by 66 inches at 200 dpi has 125 million.
    pub page_pixels: u64,
    /// Maximum width and height in pixels. Memory is proportional to the width.
    pub side: u32,
    /// Maximum number of PDF pages to draw; the others are left out.
    pub pdf_pages: NonZeroUsize,
    /// Maximum size of an uncompressed SVG in bytes. Its tree in memory is about ten times as large.
    pub svg_bytes: u64,
    /// Maximum number of redirects.
    pub redirects: u32,
    /// Maximum number of concurrent downloads from one host. A browser opens six connections to a host for one page.
    pub downloads_per_host: NonZeroUsize,
    /// Minimum time between the starts of two downloads from one host. A person who browses a gallery opens at most a few
    /// pictures per second.
    pub host_interval: Duration,
    /// Maximum time to connect to a source's server, name resolution included.
    pub connect: Duration,
    /// Maximum time without data during a download.
    pub stall: Duration,
    /// Maximum time of a download, redirects included: enough for 2 GiB at a little over a megabyte per second. Without it, a
    /// server that sends a byte every half minute would occupy a job's slot for years.
    pub download: Duration,
    /// Maximum memory of a renderer process in bytes.
    pub renderer_memory: u64,
    /// Maximum size in bytes of the temporary file that a renderer process uses in place of memory. Half of an interlaced PNG
    /// of a gigapixel takes 2 GB.
    pub renderer_file: u64,
    /// Directory of that file (unlinked).
    pub renderer_folder: PathBuf,
    /// Maximum wall time of a renderer process.
    pub renderer_time: Duration,
    /// Processor time of a renderer process before its first row and between rows.
    pub renderer_cpu: Duration,
    /// Additional processor time per MiB of the source: an SVG with many paths is a large file.
    pub renderer_cpu_per_mib: Duration,
    /// Additional processor time per million pixels read, which are decoded and cut into tiles.
    pub renderer_cpu_per_megapixel: Duration,
    /// Maximum time in which it neither computes nor writes.
    pub renderer_idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let bounds = Bounds::default();
        Self {
            source_bytes: 2 << 30,
            pixels: bounds.pixels,
            pixels_free: 500_000_000,
            pixels_per_byte: 1_000,
            drawn_pixels: bounds.drawn_pixels,
            page_pixels: bounds.page_pixels,
            side: bounds.side,
            pdf_pages: bounds.pdf_pages,
            svg_bytes: bounds.svg_bytes,
            redirects: 5,
            downloads_per_host: const { NonZeroUsize::new(4).unwrap() },
            host_interval: Duration::from_millis(100),
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            download: Duration::from_secs(30 * 60),
            renderer_memory: 1 << 30,
            renderer_file: 8 << 30,
            renderer_folder: std::env::temp_dir(),
            renderer_time: Duration::from_secs(30 * 60),
            renderer_cpu: Duration::from_secs(20),
            renderer_cpu_per_mib: Duration::from_secs(2),
            renderer_cpu_per_megapixel: Duration::from_millis(100),
            renderer_idle: Duration::from_secs(20),
        }
    }
}
