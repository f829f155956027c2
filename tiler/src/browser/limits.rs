//! The limits for a web page: one struct, with the reason for each default.

use std::num::NonZeroUsize;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::error::PageError;

/// Limits for one page, and the size and scale of its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// Window width in CSS pixels. Most sites are designed for the default.
    pub width: u32,
    /// Window height in CSS pixels: the value of `100vh`, and where a fixed footer is placed.
    pub window: u32,
    /// Device pixels per CSS pixel. At 2, text stays sharp when zoomed to twice its size.
    pub scale: u32,
    /// Maximum height of the screenshot in CSS pixels. Infinite scrolling ends here.
    pub height: u32,
    /// Maximum number of device pixels in a strip. Measured: with 21 million (2,560 × 8,192) a page takes two thirds of
    /// the time that it takes with half as many. A strip is held in memory several times.
    pub strip_pixels: u32,
    /// Time for loading, from the first request. Subresources that arrive later are left out; a page whose HTML is still
    /// incomplete fails.
    pub settle: Duration,
    /// Time without a pending request after which the network counts as idle.
    pub quiet: Duration,
    /// Age after which a pending request is ignored: long polls never end.
    pub request: Duration,
    /// Time for scrolling through the page.
    pub scroll: Duration,
    /// Total time for a page, from starting the browser to the last strip.
    pub page: Duration,
    /// Time for the browser to start, and to respond to one DevTools command.
    pub command: Duration,
    /// Time for connecting to a host, name resolution included.
    pub connect: Duration,
    /// Bytes that a page may transfer, in both directions together. Heavy pages need a tenth of the default.
    pub traffic: u64,
    /// Concurrent connections of a page. Chromium opens at most 32 through a proxy, and more only for WebSockets.
    pub connections: usize,
    /// Concurrent connections of all pages to one host; further ones wait. The default is what Chromium opens for two
    /// pages: six each.
    pub connections_per_host: NonZeroUsize,
    /// Memory for all processes of a browser together, in bytes.
    pub memory: u64,
    /// True to open pages even as root without namespaces. Chromium has no sandbox then: a page that takes over Chromium
    /// has all of root's rights.
    pub without_sandbox: bool,
    /// Maximum number of open pages. Each takes about one core and 300 MiB.
    pub at_once: NonZeroUsize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            width: 1280,
            window: 800,
            scale: 2,
            height: 30_000,
            strip_pixels: 2560 * 8192,
            settle: Duration::from_secs(30),
            quiet: Duration::from_millis(500),
            request: Duration::from_secs(8),
            scroll: Duration::from_secs(8),
            page: Duration::from_secs(3 * 60),
            command: Duration::from_secs(20),
            connect: Duration::from_secs(10),
            traffic: 256 << 20,
            connections: 128,
            connections_per_host: const { NonZeroUsize::new(12).unwrap() },
            memory: 2 << 30,
            without_sandbox: false,
            at_once: NonZeroUsize::MIN.saturating_add(1),
        }
    }
}

/// Maximum height of a texture. Chromium draws a higher strip at a lower resolution, or not at all.
const MAX_TEXTURE_HEIGHT: u32 = 8192;

impl PageLimits {
    /// Returns the height of a strip in CSS pixels.
    pub(super) fn strip_height(&self) -> u32 {
        let scale = self.scale.max(1);
        let rows = self.strip_pixels / self.width.saturating_mul(scale).max(1);
        (rows.min(MAX_TEXTURE_HEIGHT) / scale).max(1)
    }

    /// Runs `work` until `deadline`, when the page has used up its total time.
    pub(super) async fn before<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = Result<T, PageError>>,
    ) -> Result<T, PageError> {
        timeout_at(deadline, work).await.unwrap_or(Err(PageError::TookTooLong(self.page)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_height_of_a_strip_depends_on_the_width_of_the_page() {
        let height = |width, scale| PageLimits { width, scale, ..PageLimits::default() }.strip_height();
        assert_eq!(
            (height(1280, 2), height(1280, 1), height(2560, 2), height(8000, 8)),
            (4096, 8192, 2048, 40)
        );
    }
}
