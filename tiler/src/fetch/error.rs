//! The reasons why a download fails. Clients see the messages, so they contain no address and no text from the source's
//! server. [`failure`](crate::failure) classifies them.

use std::error::Error;
use std::io;
use std::time::Duration;

use edgezoom_content::address::RefusedAddress;
use edgezoom_content::source_url::SourceUrlError;
use reqwest::StatusCode;

use super::resolver::NameServersDown;

/// The reason why a source could not be downloaded.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address policy refuses the host, its port, or all addresses of its name.
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
    /// The target of a redirect is not accepted as a source.
    #[error("The source redirects to a URL that is not accepted. {0}")]
    RedirectRefused(#[from] SourceUrlError),
    /// A redirect has no target, or its target is not a URL.
    #[error("The source redirects without a valid Location.")]
    RedirectsNowhere,
    /// There are more redirects than allowed.
    #[error("The source redirects more than {0} times.")]
    TooManyRedirects(u32),
    /// The server responded with an error status.
    #[error("The source's server responded with status {status}.")]
    Answered {
        /// The status.
        status: StatusCode,
        /// Wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The host name has no address.
    #[error("The source's host name could not be resolved.")]
    Unresolved,
    /// The name servers do not respond.
    #[error("The source's host name could not be resolved at the moment.")]
    NameServersDown,
    /// The server's certificate is expired, not trusted, or for another name.
    #[error("The source's server has no valid certificate.")]
    Certificate,
    /// The connection or its TLS handshake failed, or it was closed before the response.
    #[error("The source's server could not be reached.")]
    Unreachable,
    /// The response is not HTTP, or its framing is broken.
    #[error("The source's server responded with broken HTTP.")]
    BrokenHttp,
    /// The server sent a part of the source although all of it was requested.
    #[error("The source's server sent only a part of the source.")]
    OnlyPart,
    /// Other jobs are already downloading from this host, as many as allowed.
    #[error("Too many other downloads from the source's host are in progress.")]
    HostBusy,
    /// The host has asked for a pause, or for a delay between visits. Contains the remaining time.
    #[error("The source's host has asked for a pause.")]
    HostPaused(Duration),
    /// The robots.txt of the page's server disallows it.
    #[error("The site's robots.txt asks this service not to open the page.")]
    Disallowed,
    /// The robots.txt of the page's server could not be read. Contains the wait that the server asks for.
    #[error("The site's robots.txt could not be read, so the page was not opened.")]
    RobotsUnreadable(Option<Duration>),
    /// The connection was closed before the end of the body.
    #[error("The source's server closed the connection during the download.")]
    BrokenOff,
    /// The source has more bytes than allowed.
    #[error("The source is larger than {} MiB.", .0 >> 20)]
    TooLarge(u64),
    /// Connecting took longer than allowed.
    #[error("The connection to the source's server timed out.")]
    ConnectTimedOut,
    /// The server sent nothing for longer than allowed.
    #[error("The source's server sent nothing for {} s.", .0.as_secs())]
    Stalled(Duration),
    /// The download took longer than allowed.
    #[error("The download took more than {} s.", .0.as_secs())]
    TookTooLong(Duration),
    /// The temporary file could not be written.
    #[error("The source could not be stored.")]
    File(#[from] io::Error),
}

impl FetchError {
    /// Returns the reason why a request failed without a response.
    pub(super) fn before_response(error: &reqwest::Error) -> Self {
        let is_caused_by = |is_it: fn(&(dyn Error + 'static)) -> bool| causes(error).any(is_it);
        if let Some(refused) = causes(error).find_map(|cause| cause.downcast_ref::<RefusedAddress>()) {
            Self::Refused(*refused)
        } else if error.is_timeout() {
            Self::ConnectTimedOut
        } else if is_caused_by(|cause| cause.is::<NameServersDown>()) {
            Self::NameServersDown
        } else if error.is_dns() {
            Self::Unresolved
        } else if is_caused_by(|cause| {
            matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)))
        }) {
            Self::Certificate
        } else if is_caused_by(|cause| {
            cause.downcast_ref().is_some_and(|error: &hyper::Error| error.is_parse())
        }) {
            Self::BrokenHttp
        } else {
            Self::Unreachable
        }
    }

    /// Returns the reason why a body ended before it was complete: its chunks are malformed (RFC 9112, 7.1), or else the
    /// connection was closed.
    pub(super) fn in_body(error: &reqwest::Error) -> Self {
        let is_malformed = causes(error)
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|error| matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput));
        if is_malformed { Self::BrokenHttp } else { Self::BrokenOff }
    }
}

/// Iterates over an error and its causes. `io::Error::source` skips the error that it wraps, so that one is looked up
/// separately.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |cause| {
        match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => (*cause).source(),
        }
    })
}
