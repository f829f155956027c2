//! A frozen page in its browser, ready for its screenshot.

use edgezoom_content::{Size, Title};
use tokio::io::AsyncWrite;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::error::PageError;
use super::launch::Browser;
use super::limits::PageLimits;
use super::page_loader::FrozenPage;
use super::proxy::Proxy;
use super::screenshot;
use super::supervisor::ExitReason;
use super::tab::Tab;

/// A frozen page in its browser, ready for its screenshot. Dropping it closes the browser.
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

/// The progress of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageProgress {
    /// It is being loaded.
    Loading,
    /// Strips of its screenshot are captured.
    Captured {
        /// The number of strips captured.
        strips: u32,
        /// The number of all strips.
        of: u32,
    },
}

impl OpenPage {
    /// The size of the screenshot in pixels.
    #[must_use]
    pub fn size(&self) -> Size {
        self.page.size
    }

    /// The title of the page.
    #[must_use]
    pub fn title(&self) -> Option<&Title> {
        self.page.title.as_ref()
    }

    /// The URL of the page after all redirects.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.page.url
    }

    /// Writes the screenshot to `out` as a [screenshot stream](edgezoom_codecs::formats::screenshot), and closes the
    /// browser.
    ///
    /// # Errors
    /// The page could not be captured, or `out` could not be written to.
    pub async fn write_screenshot(
        mut self,
        out: &mut (impl AsyncWrite + Unpin),
        mut on_progress: impl FnMut(PageProgress),
    ) -> Result<(), PageError> {
        let on_strip = |strips, of| on_progress(PageProgress::Captured { strips, of });
        let written = screenshot::write(&mut self.tab, &self.page, &self.limits, out, on_strip);
        let written = before(self.deadline, &self.limits, written).await;
        let exit_reason = self.browser.close().await;
        written.map_err(|error| with_exit_reason(error, exit_reason, &self.limits))
    }
}

/// Runs `work` until `deadline`, the limit for the whole page.
pub(super) async fn before<T>(
    deadline: Instant,
    limits: &PageLimits,
    work: impl Future<Output = Result<T, PageError>>,
) -> Result<T, PageError> {
    timeout_at(deadline, work).await.unwrap_or(Err(PageError::TookTooLong(limits.page)))
}

/// The error of a page, given why its supervisor exited: a browser that uses too much memory is killed, which shows
/// first as a closed connection.
pub(super) fn with_exit_reason(
    error: PageError,
    exit_reason: Option<ExitReason>,
    limits: &PageLimits,
) -> PageError {
    if let PageError::Command(error) = &error {
        tracing::warn!(error, "the browser refused a command");
    }
    match (error, exit_reason) {
        (PageError::BrowserGone | PageError::Crashed, Some(ExitReason::OutOfMemory)) => {
            PageError::TooMuchMemory(limits.memory)
        }
        (error, _) => error,
    }
}
