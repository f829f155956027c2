//! Lets the browser draw an SVG that resvg does not know, and captures it in pieces as a [screenshot
//! stream](edgezoom_codecs::formats::screenshot). The drawing has no network and no scripts. It is shown in its own size,
//! at as many device pixels for each CSS pixel as its picture needs, so that thin lines and media queries are as at 100 %.

use std::fs::File;
use std::io;

use edgezoom_codecs::formats::screenshot;
use edgezoom_content::Size;
use edgezoom_text::Text;
use serde_json::json;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::error::PageError;
use super::layout::PageLayout;
use super::limits::PageLimits;
use super::process::Browser;
use super::proxy::Proxy;
use super::screenshot::{Capturing, capture, write_png};
use super::tab::Tab;
use super::text;

/// The size of a drawing and of its picture. The scale is a fraction, so that pieces of whole CSS pixels have whole
/// device pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawingSize {
    /// Size in CSS pixels.
    css: Size,
    /// Device pixels for CSS pixels: `over / under`.
    over: u32,
    under: u32,
}

/// A drawing in its browser, ready to be captured. Dropping it closes the browser.
pub struct OpenDrawing {
    pub(super) browser: Browser,
    pub(super) tab: Tab,
    pub(super) size: DrawingSize,
    /// The words in it, if they are wanted.
    pub(super) text: Option<Text>,
    /// Number of documents that the tab has shown, this one included.
    pub(super) document: u32,
    pub(super) limits: PageLimits,
    pub(super) deadline: Instant,
    // The browser needs the proxy, and counts as open, until it is closed.
    pub(super) _proxy: Proxy,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// Maximum side of the window, in CSS pixels. A larger drawing is captured beyond the window.
const MOST_WINDOW: u32 = 4096;
/// Maximum width and height of a piece in device pixels. Chromium's textures have up to 16,384.
const MOST_PIECE: u32 = 8192;

impl DrawingSize {
    /// Chooses the scale of a drawing of this size in CSS pixels. The longer side of its picture has at least `side`
    /// pixels, as far as the picture has at most `most_pixels`, and at most `most_side` on a side.
    #[must_use]
    pub fn new(css: Size, side: u32, most_pixels: u64, most_side: u32) -> Self {
        let longest = f64::from(css.width.max(css.height).max(1));
        let most =
            (most_pixels as f64 / css.pixels().max(1) as f64).sqrt().min(f64::from(most_side) / longest);
        let wanted = (f64::from(side) / longest).max(1.0);
        let quarters = (wanted * 4.0).ceil().min((most * 4.0).floor()) as u32;
        let (over, under) = match quarters {
            0..4 => (1, (1.0 / most).ceil().clamp(1.0, f64::from(u32::MAX)) as u32),
            256.. => (quarters / 4, 1),
            quarters if quarters % 4 == 0 => (quarters / 4, 1),
            quarters if quarters % 2 == 0 => (quarters / 2, 2),
            quarters => (quarters, 4),
        };
        Self { css, over, under }
    }

    /// Returns the size of the picture in pixels.
    #[must_use]
    pub fn pixels(self) -> Size {
        Size { width: self.device(self.css.width).max(1), height: self.device(self.css.height).max(1) }
    }

    /// Returns a length in device pixels, rounded as Chromium rounds it.
    fn device(self, css: u32) -> u32 {
        let (css, over, under) = (u64::from(css), u64::from(self.over), u64::from(self.under));
        ((2 * css * over + under) / (2 * under)) as u32
    }

    /// Returns the largest number of CSS pixels that are at most `device` pixels and a whole number of them.
    fn whole(self, device: u32) -> u32 {
        let css = u64::from(device) * u64::from(self.under) / u64::from(self.over);
        ((css / u64::from(self.under)) as u32).max(1).saturating_mul(self.under)
    }

    /// Divides a length in CSS pixels into pieces: start and length. The last may be shorter; one that has no device
    /// pixel is left out.
    fn pieces(self, length: u32, piece: u32) -> impl Iterator<Item = (u32, u32)> {
        let starts = (0..length).step_by(piece.max(1) as usize);
        starts
            .map(move |start| (start, piece.min(length - start)))
            .filter(move |(_, piece)| self.device(*piece) > 0)
    }

    fn scale(self) -> f64 {
        f64::from(self.over) / f64::from(self.under)
    }
}

/// Shows a drawing and stops it. Returns the number of documents that the tab has shown, and the drawing's words.
pub(super) async fn load_drawing(
    tab: &mut Tab,
    url: &str,
    size: DrawingSize,
    limits: &PageLimits,
) -> Result<(u32, Option<Text>), PageError> {
    let deadline = tab.now() + limits.settle;
    tab.command("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await?;
    let metrics = json!({
        "width": size.css.width.min(MOST_WINDOW), "height": size.css.height.min(MOST_WINDOW),
        "deviceScaleFactor": size.scale(), "mobile": false,
    });
    tab.command("Emulation.setDeviceMetricsOverride", metrics).await?;
    tab.state.expect_source(None);
    let count = tab.state.document_count;
    tab.command_until("Page.navigate", json!({ "url": url }), deadline).await?;
    tab.wait_for_document(count, deadline).await?;
    tab.wait_until_loaded(deadline).await?;
    if !tab.state.document.parsed {
        return Err(PageError::NeverLoaded(limits.settle));
    }
    let argument = json!({ "width": size.css.width, "height": size.css.height });
    let finished = tab.call_function(include_str!("script/drawing.js"), argument, deadline).await?;
    if finished != true {
        return Err(PageError::NoPage);
    }
    tab.command("Animation.enable", json!({})).await?;
    tab.command("Animation.setPlaybackRate", json!({ "playbackRate": 0 })).await?;
    let document = tab.state.document_count;
    let text = text::read(&mut PageLayout { tab, limits }, size.pixels(), (0.0, 0.0), size.scale()).await;
    Ok((document, text))
}

impl OpenDrawing {
    /// Starts the capture into a pipe, and returns its read end.
    ///
    /// # Errors
    /// The pipe could not be created.
    pub fn stream(self) -> io::Result<(File, Capturing)> {
        Capturing::start(|mut sender| async move { self.write_screenshot(&mut sender).await })
    }

    /// Writes the picture to `out` and closes the browser.
    ///
    /// # Errors
    /// The drawing could not be captured, or `out` could not be written to.
    pub async fn write_screenshot(mut self, out: &mut (impl AsyncWrite + Unpin)) -> Result<(), PageError> {
        let (limits, deadline) = (self.limits.clone(), self.deadline);
        let written = limits.before(deadline, self.write_pieces(out)).await;
        let exit_reason = self.browser.close().await;
        written.map_err(|error| limits.explain(error, exit_reason))
    }

    async fn write_pieces(&mut self, out: &mut (impl AsyncWrite + Unpin)) -> Result<(), PageError> {
        let size = self.size;
        let Size { width, .. } = size.pixels();
        let text = self.text.take().and_then(|text| text.to_json()).unwrap_or_default();
        out.write_all(&screenshot::header(size.pixels(), &text)).await?;
        out.write_all(&text).await?;
        let rows = size.whole((self.limits.strip_pixels / width.max(1)).clamp(1, MOST_PIECE));
        let columns = size.whole(MOST_PIECE);
        for (top, height) in size.pieces(size.css.height, rows) {
            for (left, width) in size.pieces(size.css.width, columns) {
                let png = capture(&mut self.tab, (left, top), Size { width, height }).await?;
                if self.tab.state.document_count != self.document {
                    return Err(PageError::NoPage); // it navigated although it has no scripts
                }
                write_png(&png, out).await?;
            }
        }
        Ok(out.flush().await?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(width: u32, height: u32) -> DrawingSize {
        DrawingSize::new(Size { width, height }, 8192, 1_000_000_000, 1_000_000)
    }

    #[test]
    fn a_drawing_is_enlarged_to_the_wanted_side_and_reduced_to_the_limits() {
        let pixels = |width, height| {
            let Size { width, height } = size(width, height).pixels();
            (width, height)
        };
        assert_eq!(pixels(400, 200), (8200, 4100));
        assert_eq!(pixels(16, 8), (8192, 4096));
        assert_eq!(pixels(10_000, 500), (10_000, 500));
        assert_eq!(pixels(60_000, 30_000), (30_000, 15_000));
        assert_eq!(pixels(3_000_000, 3), (1_000_000, 1));
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_drawing_cover_its_picture(
            width in 1_u32..200_000, height in 1_u32..200_000, side in 1_u32..20_000,
            most_pixels in 1_000_000_u64..2_000_000_000, piece in 1_u32..9000,
        ) {
            let size = DrawingSize::new(Size { width, height }, side, most_pixels, 1_000_000);
            let whole = size.whole(piece);
            let covered: u32 = size.pieces(width, whole).map(|(_, css)| size.device(css)).sum();
            prop_assert_eq!(covered.max(1), size.pixels().width, "{:?} {}", size, whole);
            prop_assert!(size.pixels().pixels() <= most_pixels.max(u64::from(width.max(height))) + 200_000);
        }
    }
}
