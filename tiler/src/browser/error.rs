//! Why a page could not be captured. The messages are shown to them, so they name no
//! address and quote nothing that the page said.

use std::io;
use std::time::Duration;

use edgezoom_content::SourceUrl;

use super::proxy::connector::Closed;

/// Why a page could not be captured.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// There is no Chromium on this machine.
    #[error("The source is a web page, and this service has no browser for web pages.")]
    NoBrowser,
    /// The browser could not be started.
    #[error("The browser for web pages could not be started.")]
    NotStarted(#[source] io::Error),
    /// The browser ended in the middle, or broke its protocol.
    #[error("The browser stopped in the middle of the page.")]
    BrowserGone,
    /// The browser refused a command of ours, or its answer made no sense. Says which.
    #[error("The browser could not capture the page.")]
    Command(String),
    /// The page made its process crash.
    #[error("The page makes the browser crash.")]
    Crashed,
    /// The page used more memory than the limit.
    #[error("The page uses more than {} MiB of memory.", .0 >> 20)]
    TooMuchMemory(u64),
    /// The page moved more bytes over the network than the limit before it could be seen.
    #[error("The page loads more than {} MiB.", .0 >> 20)]
    TooMuchTraffic(u64),
    /// The page, or where it leads, is at an address that may not be connected to.
    #[error("The page is, or leads to, a host in a private or reserved network.")]
    Refused,
    /// The page's host name has no address.
    #[error("The page's host name could not be resolved.")]
    Unresolved,
    /// No connection, or no secure one, to the page's host, or it broke.
    #[error("No connection to the page's server could be made.")]
    Unreachable,
    /// The server answered with an error instead of the page.
    #[error("The page's server answered {0}.")]
    Answered(u16),
    /// The server answered with a download, or with something else that is no page.
    #[error("The source is no page that can be shown.")]
    NoPage,
    /// The page goes on by itself to a picture or document, which is to be had here.
    #[error("The page leads to a source that is no page.")]
    LeadsTo(SourceUrl),
    /// The page's own HTML never came to an end, or its scripts never rested.
    #[error("The page did not finish loading within {} s.", .0.as_secs())]
    NeverLoaded(Duration),
    /// The whole took too long.
    #[error("The page could not be captured within {} s.", .0.as_secs())]
    TookTooLong(Duration),
    /// The captured strips could not be written.
    #[error("The captured page could not be kept.")]
    File(#[from] io::Error),
}

impl From<Closed> for PageError {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::Refused => Self::Refused,
            Closed::Unresolved => Self::Unresolved,
            Closed::Unreachable => Self::Unreachable,
        }
    }
}
