//! The operator's lists: networks in CIDR notation (RFC 4632), and hosts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use url::Host;

use crate::source_url::is_within;

/// A network in CIDR notation, such as `127.0.0.0/8` or `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    prefix: u8,
}

/// A text is not a network. The message says what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a network: write an address and a prefix length, such as 127.0.0.0/8")]
pub struct NetworkError(String);

impl Network {
    pub(super) const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Self {
        Self { base: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix }
    }

    pub(super) const fn v6([a, b, c, d]: [u16; 4], prefix: u8) -> Self {
        Self { base: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)), prefix }
    }

    /// Returns the network of the addresses that begin with the same `prefix` bits as `base`; `None` if an address has
    /// fewer.
    #[must_use]
    pub fn new(base: IpAddr, prefix: u8) -> Option<Self> {
        (prefix <= if base.is_ipv4() { 32 } else { 128 }).then_some(Self { base, prefix })
    }

    /// Returns the address that the network was made of.
    #[must_use]
    pub fn base(&self) -> IpAddr {
        self.base
    }

    /// Parses a comma-separated list.
    ///
    /// # Errors
    /// Returns the first part that is not a network.
    pub fn list(networks: &str) -> Result<Vec<Self>, NetworkError> {
        parse_list(networks)
    }

    /// Returns true if `address` is in the network. Families never mix.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let host_bits = 32 - u32::from(self.prefix);
                (base.to_bits() ^ address.to_bits()).checked_shr(host_bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let host_bits = 128 - u32::from(self.prefix);
                (base.to_bits() ^ address.to_bits()).checked_shr(host_bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let parse = || {
            let (base, prefix) = text.split_once('/')?;
            Self::new(base.parse().ok()?, prefix.parse().ok()?)
        };
        parse().ok_or_else(|| NetworkError(text.to_owned()))
    }
}

/// A host name with all names below it, or a literal address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern(Host);

/// A text is not a host. The message says what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host: write a name such as example.com, which includes www.example.com, or an address"
)]
pub struct HostError(String);

impl HostPattern {
    /// Parses a comma-separated list.
    ///
    /// # Errors
    /// Returns the first part that is not a host.
    pub fn list(hosts: &str) -> Result<Vec<Self>, HostError> {
        parse_list(hosts)
    }

    /// Returns true if `host` is this host or a name below it.
    #[must_use]
    pub fn matches<S: AsRef<str>>(&self, host: &Host<S>) -> bool {
        match (&self.0, host) {
            (Host::Domain(own), Host::Domain(name)) => is_within(name.as_ref(), own),
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

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for HostPattern {
    type Err = HostError;

    /// Reads `*.example.com` and `.example.com` as `example.com`.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let name = text.strip_prefix('*').unwrap_or(text);
        let name = name.strip_prefix('.').unwrap_or(name);
        let name = name.strip_suffix('.').unwrap_or(name);
        // In a URL, an IPv6 address has brackets; people write it without them.
        let bare = name.parse().map(Host::Ipv6);
        match bare.or_else(|_| Host::parse(name)) {
            Ok(host) if !name.contains('*') => Ok(Self(host)),
            _ => Err(HostError(text.to_owned())),
        }
    }
}

fn parse_list<T: FromStr>(list: &str) -> Result<Vec<T>, T::Err> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect()
}
