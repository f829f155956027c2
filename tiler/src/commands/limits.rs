//! The limits of a conversion as flags and environment variables. [`Limits`] documents each, with the reason for its
//! default.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::value_parser;
use edgezoom_tiler::limits::Limits;

const MIB: u64 = 1 << 20;

/// A flag for each of [`Limits`], in the units of daily use.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
#[group(id = "limits")] // the default is the type's name, `Args`, which all groups have
pub struct Args {
    /// The largest source, in MiB
    #[arg(long, env = "EDGEZOOM_MAX_SOURCE_MIB", default_value_t = Limits::default().source_bytes / MIB)]
    max_source_mib: u64,
    /// The largest picture, in millions of pixels
    #[arg(long, env = "EDGEZOOM_MAX_MEGAPIXELS", default_value_t = Limits::default().pixels / 1_000_000)]
    max_megapixels: u64,
    /// The pixels that a picture may have whatever the length of its file, in millions
    #[arg(long, env = "EDGEZOOM_FREE_MEGAPIXELS", default_value_t = Limits::default().pixels_free / 1_000_000)]
    free_megapixels: u64,
    /// The pixels that a picture may have beyond those for each byte of its file
    #[arg(long, env = "EDGEZOOM_PIXELS_PER_BYTE", default_value_t = Limits::default().pixels_per_byte)]
    pixels_per_byte: u64,
    /// The pixels that a document is drawn with at most, in millions; it is drawn smaller if it would have more
    #[arg(long, env = "EDGEZOOM_MAX_DRAWN_MEGAPIXELS", default_value_t = Limits::default().drawn_pixels / 1_000_000)]
    max_drawn_megapixels: u64,
    /// The pixels that a page of a document is drawn with at most, in millions
    #[arg(long, env = "EDGEZOOM_MAX_PAGE_MEGAPIXELS", default_value_t = Limits::default().page_pixels / 1_000_000)]
    max_page_megapixels: u64,
    /// The longest side of a picture, in pixels
    #[arg(long, env = "EDGEZOOM_MAX_SIDE", default_value_t = Limits::default().side)]
    max_side: u32,
    /// The most pages of a PDF that are drawn; the rest is left out
    #[arg(long, env = "EDGEZOOM_MAX_PDF_PAGES", default_value_t = Limits::default().pdf_pages)]
    max_pdf_pages: NonZeroUsize,
    /// The largest SVG when unpacked, in MiB
    #[arg(long, env = "EDGEZOOM_MAX_SVG_MIB", default_value_t = Limits::default().svg_bytes / MIB)]
    max_svg_mib: u64,
    /// The most redirects that are followed
    #[arg(long, env = "EDGEZOOM_MAX_REDIRECTS", default_value_t = Limits::default().redirects)]
    max_redirects: u32,
    /// The downloads from one host at once; web pages have three times as many connections to one
    #[arg(long, env = "EDGEZOOM_DOWNLOADS_PER_HOST", default_value_t = Limits::default().downloads_per_host)]
    downloads_per_host: NonZeroUsize,
    /// The shortest time between the beginnings of two downloads from one host, in milliseconds
    #[arg(long, env = "EDGEZOOM_HOST_INTERVAL_MS", default_value_t = Limits::default().host_interval.as_millis() as u64)]
    host_interval_ms: u64,
    /// The longest time to connect to a source's server, in seconds
    #[arg(long, env = "EDGEZOOM_CONNECT_SECONDS", default_value_t = Limits::default().connect.as_secs())]
    connect_seconds: u64,
    /// The longest time without a byte of a download, in seconds
    #[arg(long, env = "EDGEZOOM_STALL_SECONDS", default_value_t = Limits::default().stall.as_secs())]
    stall_seconds: u64,
    /// The longest download, in seconds
    #[arg(long, env = "EDGEZOOM_DOWNLOAD_SECONDS", default_value_t = Limits::default().download.as_secs())]
    download_seconds: u64,
    /// The most memory of a renderer process, in MiB
    #[arg(long, env = "EDGEZOOM_MEMORY_MIB", default_value_t = Limits::default().renderer_memory / MIB, value_parser = value_parser!(u64).range(64..=1 << 20))]
    memory: u64,
    /// The most that a renderer process may keep in a temporary file, in MiB
    #[arg(long, env = "EDGEZOOM_RENDERER_FILE_MIB", default_value_t = Limits::default().renderer_file / MIB)]
    renderer_file_mib: u64,
    /// The longest rendering, in seconds
    #[arg(long, env = "EDGEZOOM_RENDER_SECONDS", default_value_t = Limits::default().renderer_time.as_secs())]
    render_seconds: u64,
    /// The processor time of a rendering, in seconds; it grows with the source's bytes and pixels
    #[arg(long, env = "EDGEZOOM_CPU_SECONDS", default_value_t = Limits::default().renderer_cpu.as_secs())]
    cpu_seconds: u64,
    /// The processor time that a MiB of the source adds, in milliseconds
    #[arg(long, env = "EDGEZOOM_CPU_MS_PER_MIB", default_value_t = Limits::default().renderer_cpu_per_mib.as_millis() as u64)]
    cpu_ms_per_mib: u64,
    /// The processor time that a million pixels add once they are read, in milliseconds
    #[arg(long, env = "EDGEZOOM_CPU_MS_PER_MEGAPIXEL", default_value_t = Limits::default().renderer_cpu_per_megapixel.as_millis() as u64)]
    cpu_ms_per_megapixel: u64,
    /// The longest time in which a rendering stands still, in seconds
    #[arg(long, env = "EDGEZOOM_IDLE_SECONDS", default_value_t = Limits::default().renderer_idle.as_secs())]
    idle_seconds: u64,
}

impl From<&Args> for Limits {
    fn from(args: &Args) -> Self {
        Self {
            source_bytes: args.max_source_mib.saturating_mul(MIB),
            pixels: args.max_megapixels.saturating_mul(1_000_000),
            pixels_free: args.free_megapixels.saturating_mul(1_000_000),
            pixels_per_byte: args.pixels_per_byte,
            drawn_pixels: args.max_drawn_megapixels.saturating_mul(1_000_000),
            page_pixels: args.max_page_megapixels.saturating_mul(1_000_000),
            side: args.max_side,
            pdf_pages: args.max_pdf_pages,
            svg_bytes: args.max_svg_mib.saturating_mul(MIB),
            redirects: args.max_redirects,
            downloads_per_host: args.downloads_per_host,
            host_interval: Duration::from_millis(args.host_interval_ms),
            connect: Duration::from_secs(args.connect_seconds),
            stall: Duration::from_secs(args.stall_seconds),
            download: Duration::from_secs(args.download_seconds),
            renderer_memory: args.memory.saturating_mul(MIB),
            renderer_file: args.renderer_file_mib.saturating_mul(MIB),
            renderer_time: Duration::from_secs(args.render_seconds),
            renderer_cpu: Duration::from_secs(args.cpu_seconds),
            renderer_cpu_per_mib: Duration::from_millis(args.cpu_ms_per_mib),
            renderer_cpu_per_megapixel: Duration::from_millis(args.cpu_ms_per_megapixel),
            renderer_idle: Duration::from_secs(args.idle_seconds),
            ..Self::default()
        }
    }
}
