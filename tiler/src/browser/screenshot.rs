//! Takes the screenshot of a frozen page in strips, from top to bottom.
//!
//! Headers that stay in view while a page scrolls (`position: fixed` or `sticky`) appear once, at their initial place:
//! the page is scrolled to its top, and the strips are captured beyond the viewport.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::error::PageError;
use super::limits::PageLimits;
use super::page_loader::FrozenPage;
use super::screenshot_stream;
use super::tab::Tab;

/// Writes the screenshot of `page` to `out`. Calls `on_strip` after each strip, with the number of strips written and
/// their total.
pub(super) async fn write(
    tab: &mut Tab,
    page: &FrozenPage,
    limits: &PageLimits,
    out: &mut (impl AsyncWrite + Unpin),
    mut on_strip: impl FnMut(u32, u32),
) -> Result<(), PageError> {
    screenshot_stream::write_header(out, page.size).await?;
    let strip_height = limits.strip_height();
    let strips = page.height.div_ceil(strip_height);
    for strip in 0..strips {
        let top = strip * strip_height;
        let png = capture(tab, limits.width, top, strip_height.min(page.height - top)).await?;
        if tab.state.document_count != page.document {
            return Err(PageError::NeverLoaded(limits.settle)); // the page navigated in spite of being frozen
        }
        screenshot_stream::write_strip(out, &png).await?;
        on_strip(strip + 1, strips);
    }
    out.flush().await?;
    Ok(())
}

/// One strip as PNG. `width`, `top` and `height` are in CSS pixels.
async fn capture(tab: &mut Tab, width: u32, top: u32, height: u32) -> Result<Vec<u8>, PageError> {
    let parameters = json!({
        "format": "png",
        "optimizeForSpeed": true, // twice as many bytes, but they are not stored
        "captureBeyondViewport": true,
        "clip": { "x": 0, "y": top, "width": width, "height": height, "scale": 1 },
    });
    let captured = tab.command("Page.captureScreenshot", parameters).await?;
    let png = captured["data"].as_str().and_then(|data| BASE64_STANDARD.decode(data).ok());
    png.ok_or_else(|| PageError::Command("Page.captureScreenshot: no picture".to_owned()))
}
