//! The operator's configuration: addresses, limits and the tilers' token, parsed from the Worker's variables.
//! `platform/environment.rs` reads those.

mod addresses;
mod tiler_token;

pub use addresses::{Addresses, shared_content};
pub use tiler_token::TilerToken;

use std::time::Duration;

use edgezoom_content::AddressPolicy;
use edgezoom_content::address::NetworkError;
use edgezoom_content::conversion::Rules;

/// The Worker's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    base: Option<String>,
    share: Option<String>,
    cache: Option<String>,
    /// The address of the operator's notice, which the home page links to.
    pub notice: Option<String>,
    /// Which literal addresses a source may have.
    pub policy: AddressPolicy,
    /// The times and counts of a conversion.
    pub rules: Rules,
    /// How many messages may wait in the queue before new contents are refused.
    pub backlog_limit: u64,
    /// Whether new contents are refused for now.
    pub maintenance: bool,
    /// The token of tilers. Without one, their calls are refused.
    pub tilers: Option<TilerToken>,
}

/// A variable is malformed. The message is for the operator: it is logged, and clients do not see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// An address is not a URL, or contains characters that would have to be escaped.
    #[error("{0}: `{1}` is not a plain http or https URL")]
    Address(&'static str, String),
    /// `ALLOW_NETWORKS` is not a list of networks.
    #[error("ALLOW_NETWORKS: {0}")]
    Networks(#[from] NetworkError),
    /// `LEASE_SECONDS` is not a whole number from 1 on.
    #[error("LEASE_SECONDS: `{0}` is not a whole number of seconds")]
    Lease(String),
    /// `RETRY_SECONDS` is not a list of three whole numbers.
    #[error("RETRY_SECONDS: `{0}` is not three whole numbers of seconds, such as 60,300,1800")]
    Retries(String),
    /// `ASK_AGAIN_SECONDS` is not a whole number from 1 on.
    #[error("ASK_AGAIN_SECONDS: `{0}` is not a whole number of seconds")]
    AskAgain(String),
    /// `BACKLOG_LIMIT` is not a whole number.
    #[error("BACKLOG_LIMIT: `{0}` is not a whole number")]
    Backlog(String),
    /// `MAINTENANCE` is neither `on` nor `off`.
    #[error("MAINTENANCE: `{0}` is neither on nor off")]
    Maintenance(String),
    /// The token is short enough to be guessed.
    #[error("TILER_TOKEN has fewer than {} characters", TilerToken::MIN_LENGTH)]
    ShortToken,
}

/// At some seconds a conversion, a queue of this length takes hours; a client does better to come back later.
const BACKLOG_LIMIT: u64 = 10_000;

impl Config {
    /// Reads the configuration; `variable` gives the value of a variable or secret, if it has one. An empty value
    /// counts as none.
    ///
    /// # Errors
    /// The first variable that is malformed.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let filled = |name| variable(name).filter(|value| !value.is_empty());
        let address = |name| {
            let read = |text: String| addresses::parse(&text).ok_or(ConfigError::Address(name, text));
            filled(name).map(read).transpose()
        };
        let mut rules = Rules::default();
        if let Some(text) = filled("LEASE_SECONDS") {
            rules = rules.with_lease(seconds(&text).ok_or(ConfigError::Lease(text))?);
        }
        if let Some(text) = filled("RETRY_SECONDS") {
            let pauses: Option<Vec<_>> = text.split(',').map(|pause| seconds(pause.trim())).collect();
            let pauses = pauses.and_then(|pauses| pauses.try_into().ok());
            rules.retries = pauses.ok_or(ConfigError::Retries(text))?;
        }
        if let Some(text) = filled("ASK_AGAIN_SECONDS") {
            rules.failed = seconds(&text).ok_or(ConfigError::AskAgain(text))?;
        }
        let backlog_limit = match filled("BACKLOG_LIMIT") {
            Some(limit) => limit.parse().map_err(|_| ConfigError::Backlog(limit))?,
            None => BACKLOG_LIMIT,
        };
        let maintenance = match filled("MAINTENANCE").as_deref() {
            Some("on") => true,
            Some("off") | None => false,
            Some(other) => return Err(ConfigError::Maintenance(other.to_owned())),
        };
        let token = || {
            let token = |text| TilerToken::new(text).ok_or(ConfigError::ShortToken);
            filled("TILER_TOKEN").map(token).transpose()
        };
        Ok(Self {
            base: address("BASE_URL")?,
            share: address("SHARE_BASE")?,
            cache: address("CACHE_URL")?,
            notice: address("NOTICE_URL")?,
            policy: AddressPolicy::allowing(&filled("ALLOW_NETWORKS").unwrap_or_default())?,
            rules,
            backlog_limit,
            maintenance,
            tilers: token()?,
        })
    }

    /// The service's public addresses. Those that are not configured follow from the origin of the request.
    #[must_use]
    pub fn addresses(&self, origin: &str) -> Addresses {
        let or_origin = |address: &Option<String>| address.clone().unwrap_or_else(|| origin.to_owned());
        Addresses {
            base: or_origin(&self.base),
            share: or_origin(&self.share),
            cache: self.cache.clone().unwrap_or_else(|| format!("{origin}/cache")),
        }
    }
}

/// A whole number of seconds from 1 on.
fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn only_the_token_has_to_be_configured() {
        let config = read(&[("BASE_URL", ""), ("LEASE_SECONDS", "")]).unwrap();
        assert_eq!(config.rules, Rules::default());
        assert!(config.tilers.is_none());
        let addresses = config.addresses("http://127.0.0.1:8787");
        assert_eq!(addresses.base, "http://127.0.0.1:8787");
        assert_eq!(addresses.share, "http://127.0.0.1:8787");
        assert_eq!(addresses.cache, "http://127.0.0.1:8787/cache");
    }

    #[test]
    fn configured_addresses_win_over_the_origin() {
        let config = read(&[
            ("BASE_URL", "https://api.example.com/"),
            ("SHARE_BASE", "https://zoom.example.com"),
            ("CACHE_URL", "https://cache.example.com/x/"),
        ]);
        let addresses = config.unwrap().addresses("http://127.0.0.1:8787");
        assert_eq!(addresses.base, "https://api.example.com");
        assert_eq!(addresses.share, "https://zoom.example.com");
        assert_eq!(addresses.cache, "https://cache.example.com/x");
        assert_eq!(Addresses::from_query(&addresses.to_query()), addresses);
    }

    #[test]
    fn a_malformed_variable_is_named() {
        let message = |variables: &[(&str, &str)]| read(variables).unwrap_err().to_string();
        for lease in ["0", "-1", "1.5", "soon"] {
            assert_eq!(
                message(&[("LEASE_SECONDS", lease)]),
                format!("LEASE_SECONDS: `{lease}` is not a whole number of seconds")
            );
        }
        for address in [
            "zoom.example.com",
            "ftp://a.example",
            "https://a.example/\"",
            "https://a.example/?a&b",
            "https://é.example",
        ] {
            assert_eq!(
                message(&[("SHARE_BASE", address)]),
                format!("SHARE_BASE: `{address}` is not a plain http or https URL")
            );
        }
        assert_eq!(message(&[("BACKLOG_LIMIT", "-1")]), "BACKLOG_LIMIT: `-1` is not a whole number");
        assert_eq!(message(&[("MAINTENANCE", "yes")]), "MAINTENANCE: `yes` is neither on nor off");
        assert!(message(&[("ALLOW_NETWORKS", "127.0.0.1")]).starts_with("ALLOW_NETWORKS: `127.0.0.1`"));
        assert_eq!(
            message(&[("TILER_TOKEN", "123456789012345")]),
            "TILER_TOKEN has fewer than 16 characters"
        );
        assert_eq!(read(&[("LEASE_SECONDS", "2")]).unwrap().rules.lease, Duration::from_secs(2));
    }

    #[test]
    fn the_times_of_retries_can_be_set() {
        let rules = read(&[("RETRY_SECONDS", "1, 2,30"), ("ASK_AGAIN_SECONDS", "9")]).unwrap().rules;
        assert_eq!(rules.retries, [1, 2, 30].map(Duration::from_secs));
        assert_eq!(rules.failed, Duration::from_secs(9));
        for pauses in ["60", "60,300", "60,300,1800,7200", "60,300,", "0,1,2", "1;2;3"] {
            let error = read(&[("RETRY_SECONDS", pauses)]).unwrap_err();
            assert_eq!(error, ConfigError::Retries(pauses.to_owned()));
        }
        assert!(read(&[("ASK_AGAIN_SECONDS", "0")]).is_err());
    }

    #[test]
    fn the_operator_can_refuse_new_contents() {
        let config = read(&[]).unwrap();
        assert_eq!((config.backlog_limit, config.maintenance), (10_000, false));
        let config = read(&[("BACKLOG_LIMIT", "0"), ("MAINTENANCE", "on")]).unwrap();
        assert_eq!((config.backlog_limit, config.maintenance), (0, true));
    }
}
