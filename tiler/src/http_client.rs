//! Shared parts of the tiler's HTTP clients and of the loops that retry their calls: ring as the cryptography provider,
//! our `User-Agent`, no proxy from the environment, no redirects (each would bypass the address policy), `Retry-After`,
//! and exponential backoff.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, redirect};

/// `User-Agent` of calls to the edge and the queue. Requests for sources have that of the
/// [bot](crate::bot::UserAgent).
const USER_AGENT: &str =
    concat!("Edgezoom/", env!("CARGO_PKG_VERSION"), " (+", env!("CARGO_PKG_REPOSITORY"), ")");

/// Upper bound for `Retry-After`. The value is added to the current time, which would overflow with the largest numbers
/// that a header can contain.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns a builder without time-outs; the caller sets them.
pub fn builder() -> ClientBuilder {
    // reqwest is built without a cryptography provider and uses the one of the process. Installing fails only if one is
    // installed already, and all callers install the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().user_agent(USER_AGENT).no_proxy().redirect(redirect::Policy::none())
}

/// Formats an error together with its causes, which reqwest's `Display` leaves out.
pub(crate) fn causes(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| (*cause).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Returns the wait that `Retry-After` asks for, given in seconds or as a date (RFC 9110, 10.2.3); at most a day.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(LONGEST_WAIT))
}

/// Pauses after consecutive failures: they double from `first` up to `max`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    /// Longest pause after the first failure.
    pub first: Duration,
    /// Upper bound of all pauses.
    pub max: Duration,
}

impl Backoff {
    /// Returns the pause after `failures` consecutive failures. `jitter`, a random number from 0 to 1, spreads it over
    /// the upper half of its range, so that tilers do not retry in step.
    pub fn after(&self, failures: u32, jitter: f64) -> Duration {
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(20));
        doubled.min(self.max).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777); // the date of RFC 9110, 5.6.7
        for (text, seconds) in [
            ("120", Some(120)),
            ("0", Some(0)),
            ("18446744073709551615", Some(86_400)),
            (" 7 ", Some(7)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            ("99999999999999999999", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), max: Duration::from_secs(5) };

    #[test]
    fn pauses_double_up_to_the_bound() {
        let pauses =
            [1, 2, 3, 4, 6, 7, 50, u32::MAX].map(|failures| BACKOFF.after(failures, 1.0).as_millis());
        assert_eq!(pauses, [100, 200, 400, 800, 3200, 5000, 5000, 5000]);
    }

    #[test]
    fn jitter_shortens_a_pause_by_at_most_half() {
        assert_eq!(BACKOFF.after(1, 0.0).as_millis(), 50);
        assert_eq!(BACKOFF.after(1, 0.5).as_millis(), 75);
        assert_eq!(BACKOFF.after(50, 0.0).as_millis(), 2500);
    }
}
