//! Counts the tries of a download within one attempt to convert its source, and chooses the pauses between them. Pure:
//! randomness comes in as an argument. The edge schedules longer waits, by another attempt minutes later that keeps no
//! tiler busy until then.

use std::time::Duration;

use super::error::FetchError;
use crate::http_client::Backoff;

/// The tries of a download so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries {
    /// Consecutive failures without new bytes.
    in_vain: u32,
    failed: u32,
}

/// Decision about another try of a download within its attempt, a few seconds later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TryAgain {
    /// No: the cause does not pass in seconds.
    No,
    /// Only if this try received bytes that no earlier try had received.
    IfFurther,
    /// Yes, after at least the time that the server asks for.
    After(Duration),
}

/// Maximum number of consecutive tries without new bytes. A server that restarts drops connections for a second or two.
const MOST_IN_VAIN: u32 = 4;
/// Maximum number of tries altogether, for servers that send one byte each time.
const MOST: u32 = 20;
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(250), max: Duration::from_secs(5) };
/// Longest `Retry-After` that is waited for within an attempt, because the wait keeps a tiler busy.
const LONGEST_WISH: Duration = Duration::from_secs(10);

impl Tries {
    /// Records a failed try and returns the pause before the next one; `None` if the download must end. `is_further` is
    /// true if the try received bytes that no earlier try had received.
    pub(super) fn pause_after(
        &mut self,
        error: &FetchError,
        is_further: bool,
        jitter: f64,
    ) -> Option<Duration> {
        if is_further {
            self.in_vain = 0;
        }
        self.in_vain += 1;
        self.failed += 1;
        let wish = match TryAgain::after(error) {
            TryAgain::After(wish) => wish,
            TryAgain::IfFurther if is_further => Duration::ZERO,
            TryAgain::IfFurther | TryAgain::No => return None,
        };
        let is_over = self.in_vain >= MOST_IN_VAIN || self.failed >= MOST || wish > LONGEST_WISH;
        (!is_over).then(|| BACKOFF.after(self.in_vain, jitter).max(wish))
    }
}

/// Returns true for a status that may pass: the server is busy or has a fault of its own. Other errors last until the
/// source changes.
#[must_use]
pub fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

impl TryAgain {
    /// Decides after an error. One match of all errors, as in [`failure`](crate::failure).
    fn after(error: &FetchError) -> Self {
        match error {
            FetchError::Unreachable | FetchError::NameServersDown | FetchError::BrokenOff => {
                Self::After(Duration::ZERO)
            }
            // A server that is silent from the start is likely to stay so.
            FetchError::Stalled(_) => Self::IfFurther,
            // The server counts requests, so that another one at once would make it worse.
            FetchError::Answered { status, retry_after: None } if status.as_u16() == 429 => Self::No,
            FetchError::Answered { status, retry_after } if is_transient_status(status.as_u16()) => {
                Self::After(retry_after.unwrap_or_default())
            }
            FetchError::Answered { .. }
            | FetchError::RobotsUnreadable(_)
            | FetchError::HostPaused(_)
            | FetchError::HostBusy
            | FetchError::ConnectTimedOut
            | FetchError::File(_)
            | FetchError::TookTooLong(_)
            | FetchError::Refused(_)
            | FetchError::RedirectRefused(_)
            | FetchError::Disallowed
            | FetchError::TooManyRedirects(_)
            | FetchError::RedirectsNowhere
            | FetchError::Unresolved
            | FetchError::Certificate
            | FetchError::TooLarge(_)
            | FetchError::BrokenHttp
            | FetchError::OnlyPart => Self::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_content::address::RefusedAddress;
    use reqwest::StatusCode;

    use super::*;

    fn answered(status: u16, seconds: Option<u64>) -> FetchError {
        let retry_after = seconds.map(Duration::from_secs);
        FetchError::Answered { status: StatusCode::from_u16(status).unwrap(), retry_after }
    }

    #[test]
    fn a_server_that_drops_connections_gets_four_tries() {
        let mut tries = Tries::default();
        let pauses = [(); 4].map(|()| tries.pause_after(&FetchError::Unreachable, false, 1.0));
        assert_eq!(
            pauses.map(|pause| pause.map(|pause| pause.as_millis())),
            [Some(250), Some(500), Some(1000), None]
        );
    }

    #[test]
    fn a_download_that_advances_is_tried_again_but_not_forever() {
        let mut tries = Tries::default();
        for _ in 1..MOST {
            let pause = tries.pause_after(&FetchError::BrokenOff, true, 1.0);
            assert_eq!(pause, Some(Duration::from_millis(250)));
        }
        assert_eq!(tries.pause_after(&FetchError::BrokenOff, true, 1.0), None);
    }

    #[test]
    fn only_a_short_retry_after_is_waited_for() {
        let pause = |status: u16, seconds: Option<u64>| {
            let retry_after = seconds.map(Duration::from_secs);
            let error = FetchError::Answered { status: StatusCode::from_u16(status).unwrap(), retry_after };
            Tries::default().pause_after(&error, false, 1.0).map(|pause| pause.as_millis())
        };
        assert_eq!(pause(503, None), Some(250));
        assert_eq!(pause(503, Some(3)), Some(3000));
        assert_eq!(pause(429, Some(10)), Some(10_000));
        assert_eq!(pause(429, Some(11)), None);
        assert_eq!(pause(429, None), None);
    }

    #[test]
    fn a_server_that_stalls_in_the_middle_is_tried_again() {
        let stalled = FetchError::Stalled(Duration::ZERO);
        assert_eq!(Tries::default().pause_after(&stalled, false, 1.0), None);
        assert!(Tries::default().pause_after(&stalled, true, 1.0).is_some());
    }

    #[test]
    fn only_what_passes_in_seconds_is_tried_again_within_an_attempt() {
        let again = TryAgain::after;
        assert_eq!(again(&answered(503, None)), TryAgain::After(Duration::ZERO));
        assert_eq!(again(&answered(503, Some(3))), TryAgain::After(Duration::from_secs(3)));
        assert_eq!(again(&FetchError::Stalled(Duration::ZERO)), TryAgain::IfFurther);
        for error in [
            answered(404, Some(1)),
            answered(403, None),
            answered(429, None),
            FetchError::Refused(RefusedAddress::Network),
            FetchError::HostBusy,
            FetchError::Unresolved,
            FetchError::Certificate,
            FetchError::TooLarge(1),
            FetchError::ConnectTimedOut,
            FetchError::TookTooLong(Duration::ZERO),
        ] {
            assert_eq!(again(&error), TryAgain::No, "{error}");
        }
    }
}
