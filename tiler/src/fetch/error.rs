//! Why a source could not be downloaded. The messages are shown to clients, so they name no address and quote nothing
//! that the source's host said.

use std::error::Error;
use std::io;
use std::time::Duration;

use edgezoom_content::address::RefusedAddress;
use edgezoom_content::source_url::SourceUrlError;
use reqwest::StatusCode;

/// Why a source could not be downloaded.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The host is, or resolves to, addresses that may not be connected to.
    #[error("The source's host is in a private or reserved network.")]
    Refused,
    /// A redirect leads to what is no source.
    #[error("The source redirects to a URL that is not accepted. {0}")]
    RedirectRefused(#[from] SourceUrlError),
    /// A redirect has no target, or one that does not parse.
    #[error("The source redirects without saying where to.")]
    RedirectsNowhere,
    /// More redirects than the limit.
    #[error("The source redirects more than {0} times.")]
    TooManyRedirects(u32),
    /// The host answered, but not with the source.
    #[error("The source's server answered {0}.")]
    Answered(StatusCode),
    /// The host name has no address.
    #[error("The source's host name could not be resolved.")]
    Unresolved,
    /// No connection, or no secure one, or it was broken off before the answer.
    #[error("No connection to the source's server could be made.")]
    Unreachable,
    /// The connection broke in the middle, or there were fewer bytes than announced.
    #[error("The source's server broke the download off.")]
    BrokenOff,
    /// The source has more bytes than the limit.
    #[error("The source has more than {} MiB.", .0 >> 20)]
    TooLarge(u64),
    /// The host did not take the connection in time.
    #[error("The source's server did not take the connection in time.")]
    ConnectTimedOut,
    /// Nothing came for longer than the limit.
    #[error("The source's server sent nothing for {} s.", .0.as_secs())]
    Stalled(Duration),
    /// The whole took longer than the limit.
    #[error("The download took more than {} s.", .0.as_secs())]
    TookTooLong(Duration),
    /// The fault is ours: the temporary file could not be written.
    #[error("The source could not be kept.")]
    File(#[from] io::Error),
}

impl FetchError {
    /// What an error means that came instead of an answer.
    pub(super) fn before_answer(error: &reqwest::Error) -> Self {
        let mut causes = std::iter::successors(Some(error as &dyn Error), |cause| (*cause).source());
        if causes.any(|cause| cause.is::<RefusedAddress>()) {
            Self::Refused
        } else if error.is_timeout() {
            Self::ConnectTimedOut
        } else if error.is_dns() {
            Self::Unresolved
        } else {
            Self::Unreachable
        }
    }

    /// Whether it is worth asking once more without further ado.
    pub(super) fn may_pass_at_once(&self) -> bool {
        matches!(self, Self::Unreachable | Self::Unresolved)
    }
}

impl From<RefusedAddress> for FetchError {
    fn from(_: RefusedAddress) -> Self {
        Self::Refused
    }
}
