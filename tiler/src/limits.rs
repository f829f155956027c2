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
    /// The pixels that a picture may have whatever the length of its file. A sheet of 33 by 47 inches at 600 dpi has as
    /// many, and a few hundred kilobytes as fax.
    pub pixels_free: u64,
    /// The pixels that a picture may have beyond those for each byte of its file, so that a small download does not become
    /// a million tiles. Deflate packs a thousand bytes of one colour into one, and nothing with detail comes near.
    pub pixels_per_byte: u64,
    /// The pixels that a document or drawing is drawn with at most: all its pages together.
    pub drawn_pixels: u64,
    /// The pixels that a page of a document is drawn with at most; a scan, which has its own, with those for each byte of
    /// its file more. A poster of 47 by 66 inches at 200 dpi has 125 million.
    pub page_pixels: u64,
    /// The longest side, in pixels. Memory is proportional to the width.
    pub side: u32,
    /// The most pages of a PDF that are drawn; the rest is left out.
    pub pdf_pages: NonZeroUsize,
    /// The largest SVG when unpacked, in bytes. It is held in memory as a tree some ten times as large.
    pub svg_bytes: u64,
    /// The most redirects that are followed.
    pub redirects: u32,
    /// The downloads from one host at once. Browsers open six connections to a host, for one page.
    pub downloads_per_host: NonZeroUsize,
    /// The shortest time between the beginnings of two downloads from one host. A person who looks through a gallery opens a
    /// few pictures a second at most.
    pub host_interval: Duration,
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
    /// The processor time of a renderer process before its first row, and between rows.
    pub renderer_cpu: Duration,
    /// The processor time that it may use beyond that for each MiB of the source: a drawing of many paths is a long file.
    pub renderer_cpu_per_mib: Duration,
    /// The processor time that it may use beyond that for each million pixels it has read, which are decoded and become
    /// tiles.
    pub renderer_cpu_per_megapixel: Duration,
    /// The longest time in which it neither computes nor writes.
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
