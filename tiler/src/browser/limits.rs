//! The limits for a web page: one struct, with the reason for each default.

use std::num::NonZeroUsize;
use std::time::Duration;

/// The limits for capturing a page, and the size and scale of its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// The width of the window in CSS pixels. Most sites are designed for this width.
    pub width: u32,
    /// The height of the window in CSS pixels: the value of `100vh`, and the place of a fixed footer.
    pub window: u32,
    /// The device pixels per CSS pixel. At 2, text stays sharp at twice its size.
    pub scale: u32,
    /// The height up to which a page is captured, in CSS pixels. Infinite scrolling ends here.
    pub height: u32,
    /// The maximum of device pixels in a strip. Measured: with 21 million, 2,560 × 8,192, a page takes two thirds of
    /// the time that it takes with half as many. A strip is in memory several times.
    pub strip_pixels: u32,
    /// How long a page may load, from the first request. Subresources that have not arrived by then are left out; a
    /// page whose HTML has not arrived completely has failed.
    pub settle: Duration,
    /// How long no request must be pending for the network to be idle.
    pub quiet: Duration,
    /// How long a pending request is waited for: long polls never end.
    pub request: Duration,
    /// How long scrolling through the page may take.
    pub scroll: Duration,
    /// How long a page may take altogether, from the start of the browser to the last strip.
    pub page: Duration,
    /// How long the browser may take to start, and to respond to a DevTools command.
    pub command: Duration,
    /// How long connecting to a host may take, name resolution included.
    pub connect: Duration,
    /// The bytes that a page may transfer, in both directions together. Heavy pages have a tenth of it.
    pub traffic: u64,
    /// The concurrent connections of a page. Chromium opens at most 32 through a proxy, and more only for WebSockets.
    pub connections: usize,
    /// The concurrent connections of all pages to one host; what is above waits. The default is what Chromium opens for two
    /// pages by itself: six for each.
    pub connections_per_host: NonZeroUsize,
    /// The memory that the processes of a browser may use together, in bytes.
    pub memory: u64,
    /// Whether pages are opened as root without namespaces too, where Chromium has no sandbox. A page that gets hold of
    /// Chromium has all that root has then.
    pub without_sandbox: bool,
    /// The number of pages that are open at a time. Each takes about one core and 300 MiB.
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

/// The maximum height of a texture. Chromium draws a larger strip at a lower resolution, or not at all.
const MAX_TEXTURE_HEIGHT: u32 = 8192;

impl PageLimits {
    /// The height of a strip in CSS pixels.
    pub(super) fn strip_height(&self) -> u32 {
        let scale = self.scale.max(1);
        let rows = self.strip_pixels / self.width.saturating_mul(scale).max(1);
        (rows.min(MAX_TEXTURE_HEIGHT) / scale).max(1)
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
