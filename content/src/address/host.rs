//! Hosts in the operator's lists.

use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

/// A host name, which stands for all names below it too, or a literal address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern(Host);

/// A text is not a host. The message says what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host: write a name such as example.com, which includes www.example.com, or an address"
)]
pub struct HostError(String);

impl HostPattern {
    /// The hosts of a list that is separated by commas.
    ///
    /// # Errors
    /// Names the first part that is not a host.
    pub fn list(hosts: &str) -> Result<Vec<Self>, HostError> {
        hosts.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect()
    }

    /// Whether `host` is this host, or a name below it. A dot at the end of a name makes no difference (RFC 1034, 3.1).
    #[must_use]
    pub fn matches<S: AsRef<str>>(&self, host: &Host<S>) -> bool {
        match (&self.0, host) {
            (Host::Domain(own), Host::Domain(name)) => {
                let name = name.as_ref();
                let name = name.strip_suffix('.').unwrap_or(name);
                name.strip_suffix(own.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            (own, host) => address(own).is_some_and(|own| address(host) == Some(own)),
        }
    }
}

fn address<S>(host: &Host<S>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(v4) => Some((*v4).into()),
        Host::Ipv6(v6) => Some(IpAddr::from(*v6).to_canonical()),
    }
}

impl FromStr for HostPattern {
    type Err = HostError;

    /// `*.example.com` and `.example.com` are read as `example.com`.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let name = text.strip_prefix('*').unwrap_or(text);
        let name = name.strip_prefix('.').unwrap_or(name);
        let name = name.strip_suffix('.').unwrap_or(name);
        // A literal address of IPv6 has brackets in a URL, and is written without them as often.
        let bare = name.parse().map(Host::Ipv6);
        match bare.or_else(|_| Host::parse(name)) {
            Ok(host) if !name.contains('*') => Ok(Self(host)),
            _ => Err(HostError(text.to_owned())),
        }
    }
}
