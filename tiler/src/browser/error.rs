//! The reasons why a page cannot be captured. Clients see the messages, so they contain no address and no text from the
//! page.

use std::io;
use std::time::Duration;

use edgezoom_content::SourceUrl;

use super::proxy::connector::ConnectError;
use crate::bot::Reservation;

/// Why a page could not be captured.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// Chromium is not installed.
    #[error("The source is a web page, and this service has no browser for web pages.")]
    NoBrowser,
    /// Nothing would contain the browser: the service runs as root, and has no namespaces.
    #[error("The source is a web page, and this service has no sandbox for web pages.")]
    NotContained,
    /// The browser could not be started.
    #[error("The browser for web pages could not be started.")]
    NotStarted(#[source] io::Error),
    /// The browser exited, or violated the DevTools protocol.
    #[error("The browser stopped unexpectedly.")]
    BrowserGone,
    /// The browser refused a DevTools command, or its response was invalid. Names the command.
    #[error("The browser could not capture the page.")]
    Command(String),
    /// The process that renders the page crashed.
    #[error("The page crashes the browser.")]
    Crashed,
    /// The page used more memory than the limit.
    #[error("The page uses more than {} MiB of memory.", .0 >> 20)]
    TooMuchMemory(u64),
    /// The page transferred more bytes than the limit before it was loaded.
    #[error("The page loads more than {} MiB.", .0 >> 20)]
    TooMuchTraffic(u64),
    /// The address policy refuses the host or port of the page, or of a redirect.
    #[error("The page, or its redirect, is on a host or port that this service does not connect to.")]
    Refused,
    /// A tag of the page reserves it, and the operator honours that.
    #[error("The page's publisher has reserved it ({0}).")]
    Reserved(Reservation),
    /// The page's host name has no address.
    #[error("The page's host name could not be resolved.")]
    Unresolved,
    /// The connection or its TLS handshake failed, or it was closed too early.
    #[error("No connection to the page's server could be made.")]
    Unreachable,
    /// The server responded with this error status.
    #[error("The page's server answered {0}.")]
    Answered(u16),
    /// The page was sent as a file, without what is beside it.
    #[error("Web pages are taken by their addresses, not as files.")]
    SentAsFile,
    /// The response is a download, or of a media type that is not displayed as a page.
    #[error("The source is not a web page that can be displayed.")]
    NoPage,
    /// The page navigates by itself to the picture or document with this URL.
    #[error("The page navigates to a source that is not a page.")]
    LeadsTo(SourceUrl),
    /// The HTML of the page did not arrive completely, or its scripts did not let it be captured.
    #[error("The page did not finish loading within {} s.", .0.as_secs())]
    NeverLoaded(Duration),
    /// The page took longer than the limit altogether.
    #[error("The page could not be captured within {} s.", .0.as_secs())]
    TookTooLong(Duration),
    /// The screenshot could not be written.
    #[error("The screenshot of the page could not be stored.")]
    File(#[from] io::Error),
}

impl From<ConnectError> for PageError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused => Self::Refused,
            ConnectError::Unresolved => Self::Unresolved,
            ConnectError::Unreachable => Self::Unreachable,
        }
    }
}
