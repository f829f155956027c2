//! The screenshot of a page through a pipe: the renderer works on the first strips while the browser captures the last
//! ones. Measured, this hides most of the renderer's time behind the browser's.

use std::fs::File;
use std::io;

use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::error::PageError;
use super::open_page::OpenPage;

/// A capture in progress. Dropping it cancels the capture and closes the browser.
#[derive(Debug)]
pub struct Capturing(JoinHandle<Result<(), PageError>>);

impl OpenPage {
    /// Starts the capture. The returned file is the read end of a pipe with the [screenshot
    /// stream](edgezoom_codecs::formats::screenshot).
    ///
    /// # Errors
    /// The pipe could not be created.
    pub fn stream(self) -> io::Result<(File, Capturing)> {
        let (mut sender, receiver) = pipe::pipe()?;
        let capture = async move { self.write_screenshot(&mut sender, |_| {}).await };
        Ok((File::from(receiver.into_blocking_fd()?), Capturing(tokio::spawn(capture.in_current_span()))))
    }
}

impl Capturing {
    /// Why the capture failed; `None` if it did not fail, or only because the pipe was closed. Call this after the read
    /// end of the pipe is closed: then the capture ends.
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
