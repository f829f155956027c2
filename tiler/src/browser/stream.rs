//! A page's strips as a stream: the renderer works on the first while the browser takes the last. Measured, that hides most
//! of the renderer's time behind the browser's.

use std::fs::File;
use std::io;

use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::{OpenPage, PageError};

/// A page that is being captured. Dropped, it is given up on and its browser closed.
#[derive(Debug)]
pub struct Capturing(JoinHandle<Result<(), PageError>>);

impl OpenPage {
    /// Starts to capture the page. Its strips come out of the file, a pipe, as fast as they are read.
    ///
    /// # Errors
    /// No pipe could be made.
    pub fn stream(self) -> io::Result<(File, Capturing)> {
        let (mut sender, receiver) = pipe::pipe()?;
        let capture = async move { self.write_strips(&mut sender, |_| {}).await };
        Ok((File::from(receiver.into_blocking_fd()?), Capturing(tokio::spawn(capture))))
    }
}

impl Capturing {
    /// Why the capture failed; `None` when it did not, or only because the pipe's reader is gone. To be called after the
    /// reader has closed the pipe, as the capture ends then.
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
