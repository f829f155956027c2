//! How often a download is tried within one attempt to convert the source, and with which pauses. Pure: randomness comes
//! in as an argument. What lasts longer is left to the edge, which begins another attempt minutes later and keeps no
//! tiler busy until then.

use std::time::Duration;

use super::error::{FetchError, is_transient_status};
use crate::backoff::Backoff;

/// The tries of a download so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries {
    /// How many failed since bytes came that no try before had.
    in_vain: u32,
    failed: u32,
}

/// How many tries in a row may bring nothing new. A server that restarts drops connections for a second or two.
const MOST_IN_VAIN: u32 = 4;
/// How many tries there may be in all: a server that sends a byte each time must not go on for ever.
const MOST: u32 = 20;
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(250), max: Duration::from_secs(5) };
/// The longest wait that a server may ask for (`Retry-After`) while a tiler is kept busy by it.
const LONGEST_WISH: Duration = Duration::from_secs(10);

impl Tries {
    /// Notes that a try failed, and gives the pause before the next one; `None` when there is none. `is_further` says
    /// whether the try brought bytes that no try before had.
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
        let wish = match error {
            FetchError::Unreachable | FetchError::NameServersDown | FetchError::BrokenOff => None,
            // A server that is silent from the start is likely to stay so.
            FetchError::Stalled(_) if is_further => None,
            // Who answers 429 has counted requests, so another one at once makes it worse.
            FetchError::Answered { status, retry_after: None } if status.as_u16() == 429 => return None,
            FetchError::Answered { status, retry_after } if is_transient_status(status.as_u16()) => {
                *retry_after
            }
            _ => return None,
        };
        let wish = wish.unwrap_or_default();
        let is_over = self.in_vain >= MOST_IN_VAIN || self.failed >= MOST || wish > LONGEST_WISH;
        (!is_over).then(|| BACKOFF.after(self.in_vain, jitter).max(wish))
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

    fn pause(error: &FetchError) -> Option<u128> {
        Tries::default().pause_after(error, false, 1.0).map(|pause| pause.as_millis())
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
    fn tries_that_bring_something_new_go_on_but_not_for_ever() {
        let mut tries = Tries::default();
        for _ in 1..MOST {
            let pause = tries.pause_after(&FetchError::BrokenOff, true, 1.0);
            assert_eq!(pause, Some(Duration::from_millis(250)));
        }
        assert_eq!(tries.pause_after(&FetchError::BrokenOff, true, 1.0), None);
    }

    #[test]
    fn a_servers_wish_is_granted_when_it_is_short() {
        assert_eq!(pause(&answered(503, None)), Some(250));
        assert_eq!(pause(&answered(503, Some(3))), Some(3000));
        assert_eq!(pause(&answered(429, Some(10))), Some(10_000));
        assert_eq!(pause(&answered(429, Some(11))), None);
        assert_eq!(pause(&answered(429, None)), None);
    }

    #[test]
    fn what_does_not_pass_in_seconds_is_not_tried_again() {
        for error in [
            answered(404, Some(1)),
            answered(403, None),
            FetchError::Refused(RefusedAddress::Network),
            FetchError::HostBusy,
            FetchError::Unresolved,
            FetchError::Certificate,
            FetchError::TooLarge(1),
            FetchError::ConnectTimedOut,
            FetchError::Stalled(Duration::ZERO),
            FetchError::TookTooLong(Duration::ZERO),
        ] {
            assert_eq!(pause(&error), None, "{error}");
        }
        let stalled = FetchError::Stalled(Duration::ZERO);
        assert!(Tries::default().pause_after(&stalled, true, 1.0).is_some(), "in the middle");
    }
}
