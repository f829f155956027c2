//! The operator's configuration: addresses, limits and secrets, parsed from the Worker's variables, which
//! `platform/isolate.rs` reads.

mod addresses;
mod secrets;
mod shares;
mod uploads;

pub use addresses::{Addresses, shared_content};
pub use secrets::{OperatorTokens, Signature, SigningKeys, TilerToken, bearer};
pub use shares::{MAX_BACKLOG, Shares};
pub use uploads::Uploads;

use std::time::Duration;

use edgezoom_content::address::{HostError, NetworkError};
use edgezoom_content::conversion::Rules;
use edgezoom_content::{AddressPolicy, is_own_origin, service_address};

/// A variable is malformed. The message is logged for the operator; clients do not see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{0}: `{1}` is not a plain http or https URL")]
    Address(&'static str, String),
    #[error("{0}: {1}")]
    Networks(&'static str, NetworkError),
    #[error("{0}: {1}")]
    Hosts(&'static str, HostError),
    #[error("{0}: `{1}` is not a whole number of seconds")]
    Seconds(&'static str, String),
    #[error("RETRY_SECONDS: `{0}` is not a list of whole numbers of seconds, separated by commas")]
    Retries(String),
    #[error("{0}: `{1}` is not a whole number")]
    Number(&'static str, String),
    #[error("{0}: `{1}` is neither on nor off")]
    Switch(&'static str, String),
    #[error("UPLOAD_ORIGINS: `{0}` is not an origin, such as https://example.com")]
    UploadOrigins(String),
    #[error("TILER_TOKEN has fewer than {} characters", TilerToken::MIN_LENGTH)]
    ShortToken,
    /// A signing key is malformed, or short enough to be guessed. The message does not repeat it, because it is logged.
    #[error(
        "SIGNING_KEYS is not a list such as shop:<key>,press:<key> with keys of at least {} characters",
        SigningKeys::MIN_LENGTH
    )]
    SigningKeys,
}

/// The Worker's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    base: Option<String>,
    share: Option<String>,
    cache: Option<String>,
    /// Address of the legal notice that the home page links to.
    pub notice: Option<String>,
    /// Policy for hosts, ports and literal addresses of sources.
    pub policy: AddressPolicy,
    /// Times and counts of a conversion.
    pub rules: Rules,
    /// Shares of the queue and of the day's tiles that clients have.
    pub shares: Shares,
    /// Keys of the clients that may create contents; `None` if all clients may.
    pub signing: Option<SigningKeys>,
    pub maintenance: bool,
    /// True on a developer's machine, where requests without a client's address are the operator's.
    pub development: bool,
    /// Limits on uploaded files; `None` if there are no uploads.
    pub uploads: Option<Uploads>,
    /// Limits on rendered regions; `None` if the service renders none.
    pub regions: Option<Regions>,
    /// True if pages and their cards quote the first words in a picture.
    pub quotes: bool,
    /// Limits of the containers that run tilers; `None` if the operator's machines do.
    pub containers: Option<ContainerLimits>,
    /// Token of the tilers. Without one, their calls are refused.
    pub tilers: Option<TilerToken>,
}

/// The operator's limits on containers that run tilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerLimits {
    /// Maximum number of containers.
    pub containers: u32,
    /// Maximum time of all containers together in a day (UTC).
    pub a_day: Duration,
    /// Time without a report after which a tiler loses its job. A container has as long to start, and twice as long to
    /// be silent.
    pub lease: Duration,
}

/// The operator's limits on rendered regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regions {
    /// Maximum number of renderings per day (UTC), for all clients together. Images in a cache do not count.
    pub a_day: u64,
}

impl Regions {
    /// About half a dollar a day at Cloudflare's prices.
    const DEFAULT: Self = Self { a_day: 100_000 };
}

impl Config {
    /// Reads the configuration. `variable` returns the value of a variable or secret; an empty one means the default.
    ///
    /// # Errors
    /// Returns the first variable that is malformed.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let filled = |name: &str| variable(name).filter(|value| !value.is_empty());
        let address = |name| {
            let read = |text: String| service_address(&text).ok_or(ConfigError::Address(name, text));
            filled(name).map(read).transpose()
        };
        let seconds = |name, default| match filled(name) {
            Some(text) => parse_seconds(&text).ok_or(ConfigError::Seconds(name, text)),
            None => Ok(default),
        };
        let number = |name, default| match filled(name) {
            Some(text) => text.parse().map_err(|_| ConfigError::Number(name, text)),
            None => Ok(default),
        };
        let mut rules = Rules::DEFAULT.with_lease(seconds("LEASE_SECONDS", Rules::DEFAULT.lease)?);
        rules.failed = seconds("ASK_AGAIN_SECONDS", rules.failed)?;
        if let Some(text) = filled("RETRY_SECONDS") {
            let pauses: Option<Vec<_>> = text.split(',').map(|pause| parse_seconds(pause.trim())).collect();
            rules.retries = pauses.ok_or(ConfigError::Retries(text))?.into();
        }
        let default = Shares::default();
        let shares = Shares {
            backlog: number("BACKLOG_LIMIT", default.backlog)?.min(MAX_BACKLOG),
            slots_percent: number("CLIENT_SLOTS_PERCENT", default.slots_percent)?,
            tiles_a_day: number("CLIENT_TILES_A_DAY", default.tiles_a_day)?,
            all_tiles_a_day: number("TILES_A_DAY", default.all_tiles_a_day)?,
            host_jobs: number("JOBS_PER_HOST", default.host_jobs)?.max(1),
        };
        let signing =
            filled("SIGNING_KEYS").map(|keys| SigningKeys::parse(&keys).ok_or(ConfigError::SigningKeys));
        let switch = |name, default| match filled(name).as_deref() {
            Some("on") => Ok(true),
            Some("off") => Ok(false),
            None => Ok(default),
            Some(other) => Err(ConfigError::Switch(name, other.to_owned())),
        };
        let containers = ContainerLimits {
            lease: rules.lease,
            containers: number("CONTAINERS", 0)?.try_into().unwrap_or(u32::MAX),
            a_day: Duration::from_secs(60 * 60)
                * number("CONTAINER_HOURS_A_DAY", 24)?.try_into().unwrap_or(u32::MAX),
        };
        let token = |text| TilerToken::new(text).ok_or(ConfigError::ShortToken);
        Ok(Self {
            base: address("BASE_URL")?,
            share: address("SHARE_BASE")?,
            cache: address("CACHE_URL")?,
            notice: address("NOTICE_URL")?,
            policy: policy(|name| filled(name).unwrap_or_default())?,
            rules,
            shares,
            signing: signing.transpose()?,
            maintenance: switch("MAINTENANCE", false)?,
            development: switch("DEVELOPMENT", false)?,
            uploads: Uploads::read(filled("UPLOAD_BYTES"), filled("UPLOAD_ORIGINS"))?,
            quotes: switch("QUOTES", true)?,
            regions: switch("REGIONS", false)?
                .then_some(Regions { a_day: number("REGIONS_A_DAY", Regions::DEFAULT.a_day)? }),
            containers: Some(containers).filter(|limits| limits.containers > 0),
            tilers: filled("TILER_TOKEN").map(token).transpose()?,
        })
    }

    /// Returns the service's public addresses. Those that are not configured follow from `BASE_URL`. Without
    /// `BASE_URL`, they follow from the request's origin, but only on the same machine and at workers.dev, where
    /// Cloudflare routes no other names to the Worker: a client can send any `Host`, and responses are cached and
    /// shared.
    pub fn addresses(&self, origin: &str) -> Option<Addresses> {
        let base = match &self.base {
            Some(base) => base.as_str(),
            None => Some(origin).filter(|origin| is_own_origin(origin))?,
        };
        Some(Addresses {
            base: base.to_owned(),
            share: self.share.as_deref().unwrap_or(base).to_owned(),
            cache: self.cache.clone().unwrap_or_else(|| format!("{base}/cache")),
        })
    }
}

/// Reads the operator's lists of networks and hosts.
fn policy(list: impl Fn(&str) -> String) -> Result<AddressPolicy, ConfigError> {
    let networks = |name| move |error: NetworkError| ConfigError::Networks(name, error);
    let hosts = |name| move |error: HostError| ConfigError::Hosts(name, error);
    AddressPolicy::allowing(&list("ALLOW_NETWORKS"))
        .map_err(networks("ALLOW_NETWORKS"))?
        .denying(&list("DENY_NETWORKS"))
        .map_err(networks("DENY_NETWORKS"))?
        .allowing_hosts(&list("ALLOW_HOSTS"))
        .map_err(hosts("ALLOW_HOSTS"))?
        .denying_hosts(&list("DENY_HOSTS"))
        .map_err(hosts("DENY_HOSTS"))
}

/// Parses a positive whole number of seconds.
fn parse_seconds(text: &str) -> Option<Duration> {
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
    fn an_empty_configuration_has_the_defaults() {
        let config = read(&[("BASE_URL", ""), ("LEASE_SECONDS", "")]).unwrap();
        assert_eq!(config.rules, Rules::DEFAULT);
        assert!(config.tilers.is_none());
        let addresses = config.addresses("http://127.0.0.1:8787").unwrap();
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
        let addresses = config.unwrap().addresses("http://127.0.0.1:8787").unwrap();
        assert_eq!(addresses.base, "https://api.example.com");
        assert_eq!(addresses.share, "https://zoom.example.com");
        assert_eq!(addresses.cache, "https://cache.example.com/x");
    }

    #[test]
    fn addresses_follow_from_the_base_url_and_never_from_a_foreign_host() {
        let config = read(&[("BASE_URL", "https://api.example.com")]).unwrap();
        for origin in ["https://evil.example", "http://127.0.0.1:8787", "https://api.example.com"] {
            let Addresses { base, share, cache } = config.addresses(origin).unwrap();
            assert_eq!(base, "https://api.example.com");
            assert_eq!((share, cache), (base.clone(), format!("{base}/cache")));
        }
        let config = read(&[]).unwrap();
        for origin in [
            "http://localhost",
            "http://localhost:1",
            "http://127.0.0.9",
            "http://[::1]:8787",
            "https://edgezoom.tests.workers.dev",
            "http://[::1]",
        ] {
            assert_eq!(config.addresses(origin).unwrap().share, origin);
        }
        for origin in [
            "https://evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example:1",
            "https://edgezoom.tests.workers.dev.evil.example",
            "https://evilworkers.dev",
            "http://[2001:db8::1]",
            "",
            "http://",
        ] {
            assert_eq!(config.addresses(origin), None, "{origin}");
        }
    }

    #[test]
    fn the_operator_can_allow_and_deny_hosts_and_networks() {
        let policy = |variables: &[(&str, &str)]| read(variables).unwrap().policy;
        let permits = |policy: &AddressPolicy, url: &str| {
            policy.admit(&edgezoom_content::SourceUrl::parse(url).unwrap()).is_ok()
        };
        let denying = policy(&[
            ("ALLOW_NETWORKS", "10.0.0.0/8"),
            ("DENY_NETWORKS", "10.0.0.1/32"),
            ("DENY_HOSTS", "a.example"),
        ]);
        for (url, permitted) in
            [("http://10.0.0.2/", true), ("http://10.0.0.1/", false), ("http://b.a.example/", false)]
        {
            assert_eq!(permits(&denying, url), permitted, "{url}");
        }
        let allowing = policy(&[("ALLOW_HOSTS", "a.example")]);
        assert!(permits(&allowing, "http://a.example/") && !permits(&allowing, "http://b.example/"));
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
        for name in [
            "BACKLOG_LIMIT",
            "CLIENT_SLOTS_PERCENT",
            "CLIENT_TILES_A_DAY",
            "TILES_A_DAY",
            "JOBS_PER_HOST",
            "REGIONS_A_DAY",
            "CONTAINERS",
            "CONTAINER_HOURS_A_DAY",
        ] {
            assert_eq!(message(&[(name, "-1")]), format!("{name}: `-1` is not a whole number"));
        }
        for (name, wrong) in
            [("DENY_NETWORKS", "8.8.8.8"), ("ALLOW_HOSTS", "http://a.example"), ("DENY_HOSTS", "*")]
        {
            assert!(message(&[(name, wrong)]).starts_with(&format!("{name}: `{wrong}` is not a ")), "{name}");
        }
        assert!(message(&[("SIGNING_KEYS", "shop:short")]).starts_with("SIGNING_KEYS is not a list"));
        assert_eq!(message(&[("MAINTENANCE", "yes")]), "MAINTENANCE: `yes` is neither on nor off");
        assert_eq!(message(&[("DEVELOPMENT", "1")]), "DEVELOPMENT: `1` is neither on nor off");
        assert!(message(&[("ALLOW_NETWORKS", "127.0.0.1")]).starts_with("ALLOW_NETWORKS: `127.0.0.1`"));
        assert_eq!(
            message(&[("TILER_TOKEN", "123456789012345")]),
            "TILER_TOKEN has fewer than 16 characters"
        );
        assert_eq!(read(&[("LEASE_SECONDS", "2")]).unwrap().rules.lease, Duration::from_secs(2));
    }

    #[test]
    fn words_are_quoted_unless_the_operator_says_no() {
        let quotes = |switch| read(&[("QUOTES", switch)]).map(|config| config.quotes);
        assert_eq!((quotes(""), quotes("on"), quotes("off")), (Ok(true), Ok(true), Ok(false)));
        assert_eq!(quotes("no").unwrap_err(), ConfigError::Switch("QUOTES", "no".into()));
    }

    #[test]
    fn containers_run_tilers_only_if_the_operator_says_so() {
        let containers = |number, hours| {
            read(&[("CONTAINERS", number), ("CONTAINER_HOURS_A_DAY", hours)]).unwrap().containers
        };
        let of = |containers, hours: u64| {
            Some(ContainerLimits {
                containers,
                a_day: Duration::from_secs(hours * 3600),
                lease: Rules::DEFAULT.lease,
            })
        };
        assert_eq!(containers("", "9"), None);
        assert_eq!(containers("0", ""), None);
        assert_eq!(containers("2", ""), of(2, 24));
        assert_eq!(containers("1", "9"), of(1, 9));
        assert_eq!(read(&[("TILES_A_DAY", "9")]).unwrap().shares.all_tiles_a_day, 9);
    }

    #[test]
    fn regions_are_rendered_only_if_the_operator_says_so() {
        let regions = |switch, a_day| read(&[("REGIONS", switch), ("REGIONS_A_DAY", a_day)]).unwrap().regions;
        assert_eq!(regions("", ""), None);
        assert_eq!(regions("off", "9"), None);
        assert_eq!(regions("on", ""), Some(Regions { a_day: 100_000 }));
        assert_eq!(regions("on", "9"), Some(Regions { a_day: 9 }));
        let wrong = ConfigError::Switch("REGIONS", "yes".into());
        assert_eq!(read(&[("REGIONS", "yes")]).unwrap_err(), wrong);
    }

    #[test]
    fn the_times_of_retries_can_be_set() {
        let rules = read(&[("RETRY_SECONDS", "1, 2,30"), ("ASK_AGAIN_SECONDS", "9")]).unwrap().rules;
        assert_eq!(*rules.retries, [1, 2, 30].map(Duration::from_secs));
        assert_eq!(rules.failed, Duration::from_secs(9));
        let rules = read(&[("RETRY_SECONDS", "60")]).unwrap().rules;
        assert_eq!(*rules.retries, [Duration::from_secs(60)]);
        for pauses in [",", "60,300,", "0,1,2", "1;2;3"] {
            let error = read(&[("RETRY_SECONDS", pauses)]).unwrap_err();
            assert_eq!(error, ConfigError::Retries(pauses.to_owned()));
        }
        assert!(read(&[("ASK_AGAIN_SECONDS", "0")]).is_err());
    }

    #[test]
    fn the_operator_can_refuse_new_contents() {
        let config = read(&[]).unwrap();
        assert_eq!((config.shares, config.maintenance), (Shares::default(), false));
        let config = read(&[("BACKLOG_LIMIT", "0"), ("MAINTENANCE", "on")]).unwrap();
        assert_eq!((config.shares.backlog, config.maintenance), (0, true));
        assert_eq!(read(&[("BACKLOG_LIMIT", "1000000")]).unwrap().shares.backlog, MAX_BACKLOG);
        assert!(config.signing.is_none());
        let config = read(&[
            ("CLIENT_TILES_A_DAY", "9"),
            ("JOBS_PER_HOST", "0"),
            ("SIGNING_KEYS", "a:0123456789abcdef"),
        ]);
        let Config { shares, signing, .. } = config.unwrap();
        assert_eq!((shares.tiles_a_day, shares.host_jobs, signing.is_some()), (9, 1, true));
    }
}
