//! Captures the screenshot of a frozen page in strips, from top to bottom, as a
//! [screenshot stream](edgezoom_codecs::formats::screenshot). The PNG files of the strips are written as the browser
//! encoded them: only the renderer process decodes them.
//!
//! Headers that stay in view while a page scrolls (`position: fixed` or `sticky`) appear once, at their initial place,
//! because the page is scrolled to its top and the strips are captured beyond the viewport.

use std::fs::File;
use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use edgezoom_codecs::formats::screenshot;
use edgezoom_content::{Size, Title};
use serde_json::json;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::Instrument;

use super::error::PageError;
use super::layout::Area;
use super::limits::PageLimits;
use super::page_loader::FrozenPage;
use super::process::Browser;
use super::proxy::Proxy;
use super::tab::Tab;

/// A frozen page in its browser, ready to be captured. Dropping it closes the browser.
pub struct OpenPage {
    pub(super) browser: Browser,
    pub(super) tab: Tab,
    pub(super) page: FrozenPage,
    pub(super) limits: PageLimits,
    pub(super) deadline: Instant,
    // The browser needs the proxy, and counts as open, until it is closed.
    pub(super) _proxy: Proxy,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// A capture in progress. Dropping it cancels the capture and closes the browser.
#[derive(Debug)]
pub struct Capturing(JoinHandle<Result<(), PageError>>);

impl OpenPage {
    /// Returns the size of the screenshot in pixels.
    #[must_use]
    pub fn size(&self) -> Size {
        self.page.size
    }

    /// Returns the title of the page.
    #[must_use]
    pub fn title(&self) -> Option<&Title> {
        self.page.title.as_ref()
    }

    /// Returns the URL of the page after all redirects.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.page.url
    }

    /// Starts the capture into a pipe, and returns its read end. The renderer then decodes the first strips while the
    /// browser captures the last ones. Measured, this hides most of the renderer's time behind the browser's.
    ///
    /// # Errors
    /// The pipe could not be created.
    pub fn stream(self) -> io::Result<(File, Capturing)> {
        Capturing::start(|mut sender| async move { self.write_screenshot(&mut sender).await })
    }

    /// Writes the screenshot to `out` and closes the browser.
    ///
    /// # Errors
    /// The page could not be captured, or `out` could not be written to.
    pub async fn write_screenshot(mut self, out: &mut (impl AsyncWrite + Unpin)) -> Result<(), PageError> {
        let (limits, deadline) = (self.limits.clone(), self.deadline);
        let written = limits.before(deadline, self.write_strips(out)).await;
        let exit_reason = self.browser.close().await;
        written.map_err(|error| limits.explain(error, exit_reason))
    }

    async fn write_strips(&mut self, out: &mut (impl AsyncWrite + Unpin)) -> Result<(), PageError> {
        let text = self.page.text.take().and_then(|text| text.to_json()).unwrap_or_default();
        out.write_all(&screenshot::header(self.page.size, &text)).await?;
        out.write_all(&text).await?;
        let Area { left, top, width, height, .. } = self.page.area;
        let strip_height = self.limits.strip_height(width);
        for row in (0..height).step_by(strip_height as usize) {
            self.tab.draw_for(self.limits.command).await?;
            let strip = Size { width, height: strip_height.min(height - row) };
            let png = capture(&mut self.tab, (left, top + row), strip).await?;
            if self.tab.state.document_count != self.page.document {
                return Err(PageError::NeverLoaded(self.limits.settle)); // it navigated in spite of being frozen
            }
            write_png(&png, out).await?;
        }
        Ok(out.flush().await?)
    }
}

/// Captures a part of a page as PNG. Everything is in CSS pixels.
pub(super) async fn capture(tab: &mut Tab, (x, y): (u32, u32), size: Size) -> Result<Vec<u8>, PageError> {
    let parameters = json!({
        "format": "png",
        "optimizeForSpeed": true, // twice as many bytes, but they are not stored
        "captureBeyondViewport": true,
        "clip": { "x": x, "y": y, "width": size.width, "height": size.height, "scale": 1 },
    });
    let captured = tab.command("Page.captureScreenshot", parameters).await?;
    let png = captured["data"].as_str().and_then(|data| BASE64_STANDARD.decode(data).ok());
    png.ok_or_else(|| PageError::Command("Page.captureScreenshot: no picture".to_owned()))
}

/// Writes a strip or a piece into a screenshot stream.
pub(super) async fn write_png(png: &[u8], out: &mut (impl AsyncWrite + Unpin)) -> Result<(), PageError> {
    let too_large = || io::Error::from(io::ErrorKind::FileTooLarge);
    out.write_all(&screenshot::strip_header(png).ok_or_else(too_large)?).await?;
    Ok(out.write_all(png).await?)
}

impl Capturing {
    /// Starts a capture into a pipe, and returns its read end.
    pub(super) fn start<F>(write: impl FnOnce(pipe::Sender) -> F) -> io::Result<(File, Self)>
    where
        F: Future<Output = Result<(), PageError>> + Send + 'static,
    {
        let (sender, receiver) = pipe::pipe()?;
        Ok((File::from(receiver.into_blocking_fd()?), Self(tokio::spawn(write(sender).in_current_span()))))
    }

    /// Returns why the capture failed; `None` if it succeeded, or failed only because the pipe was closed. Close the
    /// read end of the pipe first: that ends the capture.
    pub async fn error(mut self) -> Option<PageError> {
        match (&mut self.0).await {
            Ok(Err(PageError::File(_)) | Ok(())) | Err(_) => None,
            Ok(Err(error)) => Some(error),
        }
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        self.0.abort();
    }
}
