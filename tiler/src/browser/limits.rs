//! What a web page may cost: one struct, every field settable, each default with its reason.

use std::num::NonZeroUsize;
use std::time::Duration;

/// The limits of capturing one page, and how it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// The window's width in CSS pixels. What most sites are designed for.
    pub width: u32,
    /// The window's height in CSS pixels: what `100vh` is, and how far down a fixed footer sits.
    pub window: u32,
    /// Device pixels to a CSS pixel. At 2, text is sharp when zoomed into once more.
    pub scale: u32,
    /// How much of a page is captured, from its top, in CSS pixels. Bounds endless pages.
    pub height: u32,
    /// The pixels of the picture in one capture at most. Measured: with 21 million, 2,560 × 8,192, a page takes two thirds of
    /// the time that it takes with half of them. It has to fit into memory several times.
    pub strip: u32,
    /// How long a page may take from the first request until it is at rest. What has not come by then is left out; a
    /// page whose own HTML has not come by then has failed.
    pub settle: Duration,
    /// How long nothing must be on its way for a page to be at rest.
    pub quiet: Duration,
    /// How long one request is waited for after the page's load event: long polls never end.
    pub patience: Duration,
    /// How long scrolling through the page once may take.
    pub scroll: Duration,
    /// How long all of it may take, from the browser's start to the last strip.
    pub page: Duration,
    /// How long the browser may take to start, and to answer a question of ours.
    pub answer: Duration,
    /// How long connecting to a host may take, its name look-up included.
    pub connect: Duration,
    /// The bytes a page may move over the network, up and down together. Ten times what heavy pages weigh.
    pub traffic: u64,
    /// The connections a page may hold at once. Chromium makes at most 32 to a proxy, and more only for `WebSocket`s.
    pub connections: usize,
    /// The memory that a browser's processes may use together, in bytes.
    pub memory: u64,
    /// The pages captured at once. Each keeps about a core and 300 MiB busy.
    pub at_once: NonZeroUsize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            width: 1280,
            window: 800,
            scale: 2,
            height: 30_000,
            strip: 2560 * 8192,
            settle: Duration::from_secs(30),
            quiet: Duration::from_millis(500),
            patience: Duration::from_secs(8),
            scroll: Duration::from_secs(8),
            page: Duration::from_secs(3 * 60),
            answer: Duration::from_secs(20),
            connect: Duration::from_secs(10),
            traffic: 256 << 20,
            connections: 128,
            memory: 2 << 30,
            at_once: NonZeroUsize::MIN.saturating_add(1),
        }
    }
}

/// The rows that a texture has at most, whatever its width. What is larger is drawn at a lower resolution, or not at all.
const TEXTURE: u32 = 8192;

impl PageLimits {
    /// The height of one capture, in CSS pixels.
    pub(super) fn strip_height(&self) -> u32 {
        let scale = self.scale.max(1);
        let rows = self.strip / self.width.saturating_mul(scale).max(1);
        (rows.min(TEXTURE) / scale).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_as_high_as_its_width_allows() {
        let height = |width, scale| PageLimits { width, scale, ..PageLimits::default() }.strip_height();
        assert_eq!(
            (height(1280, 2), height(1280, 1), height(2560, 2), height(8000, 8)),
            (4096, 8192, 2048, 40)
        );
    }
}
