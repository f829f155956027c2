//! The pace of many requests to one host, for the tiles of a picture.

use std::time::Duration;

use super::error::FetchError;

/// Longest pause between two requests that a server's refusals lead to.
const SLOWEST: Duration = Duration::from_secs(30);

/// The shortest pause between the starts of two requests. It doubles with each refusal, and never falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pause: Duration,
}

impl Pace {
    /// Returns a pace with this pause.
    #[must_use]
    pub fn new(pause: Duration) -> Self {
        Self { pause }
    }

    /// Returns the pause.
    #[must_use]
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Slows down if the error is a refusal to do more work at the moment: 429 or 503.
    pub(super) fn note(&mut self, error: &FetchError) {
        if matches!(error, FetchError::Answered { status, .. } if [429, 503].contains(&status.as_u16())) {
            self.pause = self.pause.max((self.pause * 2).min(SLOWEST));
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    #[test]
    fn refusals_double_the_pause_and_other_errors_do_not() {
        let mut pace = Pace::new(Duration::from_secs(1));
        let mut after = |status: u16| {
            let status = StatusCode::from_u16(status).unwrap();
            pace.note(&FetchError::Answered { status, retry_after: None });
            pace.pause().as_secs()
        };
        assert_eq!([404, 500, 429, 503, 404, 429].map(&mut after), [1, 1, 2, 4, 4, 8]);
        assert_eq!([429; 4].map(&mut after), [16, 30, 30, 30]);
        pace.note(&FetchError::BrokenOff);
        assert_eq!(pace.pause(), SLOWEST);
        let mut patient = Pace::new(Duration::from_secs(60));
        let status = StatusCode::TOO_MANY_REQUESTS;
        patient.note(&FetchError::Answered { status, retry_after: None });
        assert_eq!(patient.pause().as_secs(), 60, "a longer Crawl-delay stays");
    }
}
