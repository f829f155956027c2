//! How web pages are captured and what they may cost, as flags and environment variables. [`PageLimits`] documents each,
//! with the reason for its default.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::value_parser;
use edgezoom_tiler::browser::PageLimits;
use edgezoom_tiler::limits::Limits;

const MIB: u64 = 1 << 20;

/// The browser, and flags for [`PageLimits`].
#[derive(clap::Args)]
#[command(next_help_heading = "Web pages")]
#[group(id = "pages")]
pub struct Args {
    /// The Chromium for web pages [default: the first of the usual ones that is installed]
    #[arg(long, env = "EDGEZOOM_CHROMIUM")]
    pub chromium: Option<PathBuf>,
    /// The width of a web page, in CSS pixels
    #[arg(long, env = "EDGEZOOM_WEB_WIDTH", default_value_t = PageLimits::default().width, value_parser = value_parser!(u32).range(100..=8_000))]
    web_width: u32,
    /// The device pixels to a CSS pixel
    #[arg(long, env = "EDGEZOOM_WEB_SCALE", default_value_t = PageLimits::default().scale, value_parser = value_parser!(u32).range(1..=8))]
    web_scale: u32,
    /// The greatest height of a web page, in CSS pixels; what is below is left out
    #[arg(long, env = "EDGEZOOM_MAX_WEB_HEIGHT", default_value_t = PageLimits::default().height, value_parser = value_parser!(u32).range(1..=100_000))]
    max_web_height: u32,
    /// The longest time until a web page has loaded and nothing moves in it, in seconds
    #[arg(long, env = "EDGEZOOM_WEB_SETTLE_SECONDS", default_value_t = PageLimits::default().settle.as_secs(), value_parser = value_parser!(u64).range(1..))]
    web_settle_seconds: u64,
    /// The longest time for a web page in all, in seconds
    #[arg(long, env = "EDGEZOOM_WEB_SECONDS", default_value_t = PageLimits::default().page.as_secs(), value_parser = value_parser!(u64).range(1..))]
    web_seconds: u64,
    /// The most network traffic of a web page, in MiB
    #[arg(long, env = "EDGEZOOM_MAX_WEB_MIB", default_value_t = PageLimits::default().traffic / MIB)]
    max_web_mib: u64,
    /// The most memory of a web page's browser, in MiB
    #[arg(long, env = "EDGEZOOM_WEB_MEMORY_MIB", default_value_t = PageLimits::default().memory / MIB)]
    web_memory_mib: u64,
    /// Open web pages even as root without namespaces, in a Chromium without its sandbox: a page that breaks out of it has
    /// the whole machine
    #[arg(long, env = "EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX")]
    web_pages_without_sandbox: bool,
}

/// The connections of web pages to a host, for each download from it that there may be.
const CONNECTIONS_PER_DOWNLOAD: NonZeroUsize = const { NonZeroUsize::new(3).unwrap() };

/// The limits for web pages; how gentle they are with one host follows from that of downloads.
pub fn limits(args: &Args, limits: &Limits) -> PageLimits {
    PageLimits {
        width: args.web_width,
        scale: args.web_scale,
        height: args.max_web_height,
        settle: Duration::from_secs(args.web_settle_seconds),
        page: Duration::from_secs(args.web_seconds),
        traffic: args.max_web_mib.saturating_mul(MIB),
        connections_per_host: limits.downloads_per_host.saturating_mul(CONNECTIONS_PER_DOWNLOAD),
        memory: args.web_memory_mib.saturating_mul(MIB),
        without_sandbox: args.web_pages_without_sandbox,
        ..PageLimits::default()
    }
}
