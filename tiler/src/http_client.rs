//! What all HTTP clients of the tiler have in common: ring as the cryptography provider, our `User-Agent`, no proxy from
//! the environment, and no redirect followed without the address policy.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, redirect};

/// The `User-Agent` of calls to the edge and the queue: name, version, and the address of the project. Requests for sources
/// have that of the [bot](crate::bot::UserAgent).
const USER_AGENT: &str =
    concat!("Edgezoom/", env!("CARGO_PKG_VERSION"), " (+", env!("CARGO_PKG_REPOSITORY"), ")");

/// A client, to be completed with its time-outs.
pub fn builder() -> ClientBuilder {
    // reqwest is built without a cryptography provider and takes that of the process. Installing fails only when one is
    // installed already, and all callers install the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().user_agent(USER_AGENT).no_proxy().redirect(redirect::Policy::none())
}

/// An error with its causes, which it does not print itself.
pub(crate) fn causes(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| (*cause).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The longest wait that a server's wish is taken for: it is added to the time of day, which overflows with what a header
/// can say.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a server asks to wait: seconds, or a date (RFC 9110, 10.2.3). At most a day.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn the_time_to_wait_is_seconds_or_a_date() {
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
}
