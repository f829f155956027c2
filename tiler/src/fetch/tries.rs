//! Counts the tries of a download within one attempt to convert its source, and chooses the pauses between them. Pure:
//! randomness comes in as an argument. The edge schedules longer waits, by another attempt minutes later that keeps no
//! tiler busy until then.

use std::time::Duration;

use super::error::FetchError;
use crate::failure::{TryAgain, of_download};
use crate::http_client::Backoff;

/// The tries of a download so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries {
    /// Consecutive failures without new bytes.
    in_vain: u32,
    failed: u32,
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
        let wish = match of_download(error).1 {
            TryAgain::After(wish) => wish,
            TryAgain::IfFurther if is_further => Duration::ZERO,
            TryAgain::IfFurther | TryAgain::No => return None,
        };
        let is_over = self.in_vain >= MOST_IN_VAIN || self.failed >= MOST || wish > LONGEST_WISH;
        (!is_over).then(|| BACKOFF.after(self.in_vain, jitter).max(wish))
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

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
}
