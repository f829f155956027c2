//! The limits for a web page, flags and constants, with the reason for each default.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, value_parser};
use edgezoom_content::Capture;
use edgezoom_content::capture::Wait;
use edgezoom_text::MAX_PAGE_WORDS;
use tokio::time::{Instant, timeout_at};

use super::error::PageError;
use super::process::supervisor::ExitReason;
use crate::credentials::Credentials;
use crate::limits::{defaults, mebibytes};

/// Limits for one page, the size and scale of its window, and the options of its capture.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(next_help_heading = "Web pages")]
pub struct PageLimits {
    /// Width of a web page, in CSS pixels
    ///
    /// Most sites are designed for the default.
    #[arg(long = "web-width", value_name = "PIXELS", env = "EDGEZOOM_WEB_WIDTH", default_value = "1280", value_parser = value_parser!(u32).range(100..=8_000))]
    pub width: u32,
    /// Maximum width of a page whose content is wider than the window, in CSS pixels; the rest is cut off.
    #[arg(skip = 5_000_u32)]
    pub max_width: u32,
    /// Window height in CSS pixels: the value of `100vh`, and where a fixed footer is placed.
    #[arg(skip = 800_u32)]
    pub window: u32,
    /// Device pixels per CSS pixel
    ///
    /// At 2, text stays sharp when zoomed to twice its size.
    #[arg(long = "web-scale", value_name = "PIXELS", env = "EDGEZOOM_WEB_SCALE", default_value = "2", value_parser = value_parser!(u32).range(1..=8))]
    pub scale: u32,
    /// Maximum height of a web page, in CSS pixels; the rest is cut off
    ///
    /// Infinite scrolling ends here.
    #[arg(long = "max-web-height", value_name = "PIXELS", env = "EDGEZOOM_MAX_WEB_HEIGHT", default_value = "30000", value_parser = value_parser!(u32).range(1..=100_000))]
    pub height: u32,
    /// Maximum number of device pixels in a strip. Measured: with 21 million (2,560 × 8,192) a page takes two thirds of
    /// the time that it takes with half as many. A strip is held in memory several times.
    #[arg(skip = 2560_u32 * 8192)]
    pub strip_pixels: u32,
    /// Time for loading, from the first request. Subresources that arrive later are left out; a page whose HTML is
    /// still incomplete fails.
    #[arg(skip = Duration::from_secs(30))]
    pub settle: Duration,
    /// Time on the page's clock after it has loaded, for what it does by timers: preloaders that go, applications that
    /// draw late. Takes some tens of milliseconds, and longer only for requests.
    #[arg(skip = Duration::from_secs(5))]
    pub virtual_time: Duration,
    /// Time on the page's clock after that in which an element that is waited for has to appear.
    #[arg(skip = Duration::from_secs(30))]
    pub appear: Duration,
    /// Time for the window to come to rest after that. Charts take up to 1.5 s, and more on a busy machine.
    #[arg(skip = Duration::from_millis(2500))]
    pub rest: Duration,
    /// Time without a pending request after which the network counts as idle.
    #[arg(skip = Duration::from_millis(500))]
    pub quiet: Duration,
    /// Age after which a pending request is ignored: long polls never end.
    #[arg(skip = Duration::from_secs(8))]
    pub request: Duration,
    /// Time on the page's clock for all stops of scrolling together. A long page gets at least 0.45 s at each.
    #[arg(skip = Duration::from_secs(30))]
    pub scroll_time: Duration,
    /// Time for scrolling through the page; half of it for what moves at the stops.
    #[arg(skip = Duration::from_secs(8))]
    pub scroll: Duration,
    /// Total time for a page, from starting the browser to the last strip, without that in which the browser waits for
    /// a processor.
    #[arg(skip = Duration::from_secs(3 * 60))]
    pub page: Duration,
    /// The same with that time, and that in which the screenshot waits for its reader: the last resort on a busy machine.
    #[arg(skip = Duration::from_secs(10 * 60))]
    pub page_in_all: Duration,
    /// Time for the browser to start.
    #[arg(skip = Duration::from_secs(60))]
    pub start: Duration,
    /// Time for the browser to respond to one DevTools command.
    #[arg(skip = Duration::from_secs(20))]
    pub command: Duration,
    /// Time for connecting to a host, name resolution included.
    #[arg(skip = Duration::from_secs(10))]
    pub connect: Duration,
    /// Bytes that a page may transfer, in both directions together. Heavy pages need a tenth of the default.
    #[arg(skip = 256_u64 << 20)]
    pub traffic: u64,
    /// Bytes of these that it may send. A request takes half a kibibyte, and heavy pages have some hundreds: what is more
    /// is meant for another browser.
    #[arg(skip = 4_u64 << 20)]
    pub sent: u64,
    /// Requests and redirects of a page, after which it is offline. Heavy pages have some hundreds.
    #[arg(skip = 3000_u32)]
    pub requests: u32,
    /// Concurrent connections of a page. Chromium opens at most 32 through a proxy, and more only for WebSockets.
    #[arg(skip = 128_usize)]
    pub connections: usize,
    /// Concurrent look-ups of host names for a page. Each takes a thread until the name servers respond.
    #[arg(skip = 16_usize)]
    pub look_ups: usize,
    /// Concurrent connections of all pages to one host; further ones wait. The default is what Chromium opens for two
    /// pages: six each.
    #[arg(skip = const { NonZeroUsize::new(12).unwrap() })]
    pub connections_per_host: NonZeroUsize,
    /// Maximum memory of a web page's browser, all its processes together, in MiB
    #[arg(long = "web-memory-mib", value_name = "MIB", env = "EDGEZOOM_WEB_MEMORY_MIB", default_value = "2048", value_parser = mebibytes)]
    pub memory: u64,
    /// Maximum processor time of a web page's browser, all its processes together. Pages run at low priority, but workers
    /// of one page would occupy all cores for the whole time.
    #[arg(skip = Duration::from_secs(120))]
    pub cpu: Duration,
    /// Priority of a web page's browser, from 0 to 19 as of nice(1): a page that computes on all cores does not slow down
    /// renderers, which have 0
    #[arg(long = "web-nice", value_name = "NICE", env = "EDGEZOOM_WEB_NICE", default_value_t = 10, value_parser = value_parser!(i32).range(0..=19))]
    pub nice: i32,
    /// Open web pages even as root without namespaces, in a Chromium without its sandbox: a page that escapes the
    /// browser controls the whole machine
    #[arg(long = "web-pages-without-sandbox", env = "EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX")]
    pub without_sandbox: bool,
    /// Maximum number of words of a page that are read; 0 reads none.
    #[arg(skip = MAX_PAGE_WORDS)]
    pub words: usize,
    /// The capture of a page whose source states no options.
    #[arg(skip)]
    pub capture: Capture,
    /// Headers and cookies for the origin of the page.
    #[arg(skip)]
    pub credentials: Option<Credentials>,
    /// Maximum number of open pages. Each takes about one core and 300 MiB.
    #[arg(skip = NonZeroUsize::MIN.saturating_add(1))]
    pub at_once: NonZeroUsize,
}

impl Default for PageLimits {
    fn default() -> Self {
        defaults()
    }
}

/// Width and height of a phone's window in CSS pixels, and its device pixels per CSS pixel: what most phones have.
const PHONE: (u32, u32, u32) = (390, 844, 3);

/// Maximum height of a texture. Chromium draws a higher strip at a lower resolution, or not at all.
const MAX_TEXTURE_HEIGHT: u32 = 8192;

impl PageLimits {
    /// Returns the limits for a page with these options of its capture.
    pub(super) fn captured(&self, capture: Capture) -> Self {
        let mut limits = self.clone();
        if capture.is_phone() {
            (limits.width, limits.window, limits.scale) = PHONE;
        }
        limits.width = capture.width().unwrap_or(limits.width);
        if let Some(Wait::Time(time)) = capture.wait() {
            limits.virtual_time += time;
        }
        Self { capture, ..limits }
    }

    /// Returns the height of a strip of this width, both in CSS pixels.
    pub(super) fn strip_height(&self, width: u32) -> u32 {
        let scale = self.scale.max(1);
        let rows = self.strip_pixels / width.saturating_mul(scale).max(1);
        (rows.min(MAX_TEXTURE_HEIGHT) / scale).max(1)
    }

    /// Returns `error`, or a more precise one given why the supervisor exited: a browser that uses too much memory or
    /// processor time is killed, and the tiler first notices only a closed connection.
    pub(super) fn explain(&self, error: PageError, exit_reason: Option<ExitReason>) -> PageError {
        if let PageError::Command(error) = &error {
            tracing::warn!(error, "the browser refused a command");
        }
        match (error, exit_reason) {
            (PageError::BrowserGone | PageError::Crashed, Some(ExitReason::OutOfMemory)) => {
                PageError::TooMuchMemory(self.memory)
            }
            (PageError::BrowserGone | PageError::Crashed, Some(ExitReason::OutOfCpu)) => {
                PageError::TooMuchCpu(self.cpu)
            }
            (error, _) => error,
        }
    }

    /// Runs `work` until `deadline`, when the page has used up [`Self::page_in_all`].
    pub(super) async fn before<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = Result<T, PageError>>,
    ) -> Result<T, PageError> {
        timeout_at(deadline, work).await.unwrap_or(Err(PageError::Starved(self.page_in_all)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_height_of_a_strip_depends_on_the_width_of_the_page() {
        let height = |width, scale| PageLimits { scale, ..PageLimits::default() }.strip_height(width);
        assert_eq!(
            (height(1280, 2), height(1280, 1), height(2560, 2), height(8000, 8)),
            (4096, 8192, 2048, 40)
        );
    }
}
