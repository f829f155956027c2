//! The reasons why a page is refused or fails, each with the place that decides it. Clients see the messages, so these
//! contain no address and no text from the page. [`failure`](crate::failure) assigns a failure code to each reason.

use std::io;
use std::time::Duration;

use edgezoom_content::SourceUrl;

use super::proxy::connector::ConnectError;

/// The reason why a page could not be captured.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// Chromium is not installed. Decided in [`Pages::new`](super::Pages::new).
    #[error("The source is a web page, but this service has no browser for web pages.")]
    NoBrowser,
    /// Nothing would confine the browser: the tiler runs as root without namespaces. Decided in
    /// [`Pages::new`](super::Pages::new).
    #[error("The source is a web page, but this service has no sandbox for web pages.")]
    NotContained,
    /// The browser could not be started, by [`process`](super::process).
    #[error("The browser for web pages could not be started.")]
    NotStarted(#[source] io::Error),
    /// The browser exited, or violated the DevTools protocol ([`cdp`](super::cdp)).
    #[error("The browser stopped unexpectedly.")]
    BrowserGone,
    /// The browser refused a DevTools command, or its response was invalid. Names the command.
    #[error("The browser could not capture the page.")]
    Command(String),
    /// The process that renders the page crashed, according to [`page_state`](super::page_state).
    #[error("The page crashed the browser.")]
    Crashed,
    /// The page used more memory than [`PageLimits::memory`](super::PageLimits::memory). Measured by the
    /// [`supervisor`](super::process::supervisor).
    #[error("The page uses more than {} MiB of memory.", .0 >> 20)]
    TooMuchMemory(u64),
    /// The page transferred more than [`PageLimits::traffic`](super::PageLimits::traffic), or sent more than
    /// [`PageLimits::sent`](super::PageLimits::sent), before it was loaded. Counted by
    /// [`traffic_budget`](super::proxy::traffic_budget).
    #[error("The page transfers more than {} MiB, or sends more than {} MiB.", .all >> 20, .sent >> 20)]
    TooMuchTraffic {
        /// The limit in both directions, in bytes.
        all: u64,
        /// The limit of what is sent, in bytes.
        sent: u64,
    },
    /// The address policy refuses the host or port of the page, or of a redirect. Decided by the proxy's
    /// [`connector`](super::proxy::connector).
    #[error("The page, or a redirect from it, is on a host or port that this service does not connect to.")]
    Refused,
    /// The page's host name has no address, according to the proxy's [`connector`](super::proxy::connector).
    #[error("The page's host name could not be resolved.")]
    Unresolved,
    /// The connection or its TLS handshake failed, or it was closed too early. Reported by the proxy's
    /// [`connector`](super::proxy::connector), or by the browser as a
    /// [`network_error`](super::document::network_error).
    #[error("The page's server could not be reached.")]
    Unreachable,
    /// The server responded with this error status. Decided in [`Document::check`](super::document::Document::check).
    #[error("The page's server responded with status {0}.")]
    Answered(u16),
    /// The client uploaded the page as a file, so the files that it refers to are missing. Decided in
    /// [`pipeline`](crate::pipeline).
    #[error("Submit a web page by its URL, not as a file.")]
    SentAsFile,
    /// The response is a download, or of a media type that is not displayed as a page. Decided in
    /// [`Document::check`](super::document::Document::check).
    #[error("The source cannot be displayed as a web page.")]
    NoPage,
    /// An element of the page that an option of the request names does not exist, or is not visible. Names the option.
    /// Decided in [`page_loader`](super::page_loader) and [`layout`](super::layout).
    #[error("No element of the page matches the selector of {0}.")]
    NoElement(&'static str),
    /// The value of this option of the request is not a selector. Decided in [`layout`](super::layout).
    #[error("{0} is not a CSS selector.")]
    NoSelector(&'static str),
    /// The request has options of a web page, and the source is none. Decided in [`pipeline`](crate::pipeline).
    #[error("The source is not a web page. Convert it without the web- options.")]
    OptionsWithoutPage,
    /// The page navigates by itself to the picture or document with this URL. Decided in
    /// [`interception`](super::interception).
    #[error("The page navigates to a picture or document.")]
    LeadsTo(SourceUrl),
    /// The HTML of the page did not arrive within [`PageLimits::settle`](super::PageLimits::settle), or its scripts
    /// kept it from being captured. Decided in [`page_loader`](super::page_loader) and [`tab`](super::tab).
    #[error("The page did not finish loading within {} s.", .0.as_secs())]
    NeverLoaded(Duration),
    /// The page took longer than [`PageLimits::page`](super::PageLimits::page).
    #[error("The page could not be captured within {} s.", .0.as_secs())]
    TookTooLong(Duration),
    /// The page took longer than [`PageLimits::page_in_all`](super::PageLimits::page_in_all): the browser waited for a
    /// processor, or the screenshot for its reader.
    #[error("The tiler did not capture the page within {} s.", .0.as_secs())]
    Starved(Duration),
    /// The browser used more processor time than [`PageLimits::cpu`](super::PageLimits::cpu). Decided in
    /// [`supervisor`](super::supervisor).
    #[error("The page computes for longer than {} s.", .0.as_secs())]
    TooMuchCpu(Duration),
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
