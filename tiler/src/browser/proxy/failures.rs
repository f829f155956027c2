//! Remembers for each host why the last connection to it failed. The page sees only an empty response; the message to
//! the client needs the reason.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::connector::ConnectError;

/// The hosts that the page could not connect to.
#[derive(Debug, Default)]
pub(in crate::browser) struct ConnectFailures(Mutex<HashMap<(String, u16), ConnectError>>);

/// The number of hosts remembered. Further ones are not recorded.
const MAX_HOSTS: usize = 1000;

impl ConnectFailures {
    /// Why the last connection to this host failed, if it did.
    pub(in crate::browser) fn get(&self, host: &str, port: u16) -> Option<ConnectError> {
        self.hosts().get(&(host.to_owned(), port)).copied()
    }

    /// Records the result of a connection to a host.
    pub(super) fn record(&self, host: &str, port: u16, error: Option<ConnectError>) {
        let mut hosts = self.hosts();
        let key = (host.to_owned(), port);
        match error {
            None => {
                hosts.remove(&key);
            }
            Some(error) if hosts.len() < MAX_HOSTS || hosts.contains_key(&key) => {
                hosts.insert(key, error);
            }
            Some(_) => {}
        }
    }

    fn hosts(&self) -> std::sync::MutexGuard<'_, HashMap<(String, u16), ConnectError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_result_of_a_host_counts() {
        let failures = ConnectFailures::default();
        failures.record("a.example", 80, Some(ConnectError::Unreachable));
        failures.record("a.example", 80, Some(ConnectError::Refused));
        assert_eq!(failures.get("a.example", 80), Some(ConnectError::Refused));
        assert_eq!(failures.get("a.example", 443), None);
        failures.record("a.example", 80, None);
        assert_eq!(failures.get("a.example", 80), None);
    }
}
