//! Which IP addresses Edgezoom may connect to: the public internet, and what the operator allows besides. One policy
//! serves the edge, which sees only literal addresses in URLs, and the tiler, which checks every address it connects
//! to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use url::{Host, Url};

use crate::SourceUrl;

/// Says which addresses may be connected to: every globally reachable unicast address, and the networks that the
/// operator allowed with `EDGEZOOM_ALLOW_NETWORKS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    allowed: Vec<Network>,
}

/// A source whose host is a literal address that the policy refuses. The message is shown to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The URL's host is an address in a private or reserved network.")]
pub struct RefusedAddress;

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

impl AddressPolicy {
    /// The policy that allows `networks` besides the public internet: networks in CIDR notation, separated by commas.
    ///
    /// # Errors
    /// Names the first part that is not a network.
    pub fn allowing(networks: &str) -> Result<Self, NetworkError> {
        let parts = networks.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(Self { allowed: parts.map(str::parse).collect::<Result<_, _>>()? })
    }

    /// Whether `address` may be connected to. An IPv4 address that is mapped into IPv6 counts as IPv4.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.allowed.iter().any(|network| network.contains(address))
            || match address {
                IpAddr::V4(v4) => is_public_v4(v4),
                IpAddr::V6(v6) => is_public_v6(v6),
            }
    }

    /// Refuses a source whose host is a literal address that may not be connected to. A name passes: its addresses
    /// are checked where it is resolved.
    ///
    /// # Errors
    /// The address is not permitted.
    pub fn admit(&self, source: &SourceUrl) -> Result<(), RefusedAddress> {
        let url = Url::parse(source.as_str()).map_err(|_| RefusedAddress)?;
        let permitted = match url.host() {
            Some(Host::Ipv4(v4)) => self.permits(v4.into()),
            Some(Host::Ipv6(v6)) => self.permits(v6.into()),
            Some(Host::Domain(_)) => true,
            None => false,
        };
        if permitted { Ok(()) } else { Err(RefusedAddress) }
    }
}

impl Network {
    const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Self {
        Self { base: IpAddr::V4(Ipv4Addr::new(a, b, c, 0)), prefix }
    }

    const fn v6(a: u16, b: u16, prefix: u8) -> Self {
        Self { base: IpAddr::V6(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)), prefix }
    }

    /// Whether `address` is of the same family and in the network.
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

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let parse = || {
            let (base, prefix) = text.split_once('/')?;
            let base: IpAddr = base.parse().ok()?;
            let prefix: u8 = prefix.parse().ok()?;
            (prefix <= if base.is_ipv4() { 32 } else { 128 }).then_some(Self { base, prefix })
        };
        parse().ok_or_else(|| NetworkError(text.to_owned()))
    }
}

/// What the IANA IPv4 Special-Purpose Address Registry lists as not globally reachable, with multicast, the reserved
/// class E and the withdrawn 6to4 relays.
const SPECIAL_V4: [Network; 15] = [
    Network::v4(0, 0, 0, 8),
    Network::v4(10, 0, 0, 8),
    Network::v4(100, 64, 0, 10),
    Network::v4(127, 0, 0, 8),
    Network::v4(169, 254, 0, 16),
    Network::v4(172, 16, 0, 12),
    Network::v4(192, 0, 0, 24),
    Network::v4(192, 0, 2, 24),
    Network::v4(192, 88, 99, 24),
    Network::v4(192, 168, 0, 16),
    Network::v4(198, 18, 0, 15),
    Network::v4(198, 51, 100, 24),
    Network::v4(203, 0, 113, 24),
    Network::v4(224, 0, 0, 4),
    Network::v4(240, 0, 0, 4),
];

/// Global unicast is 2000::/3; everything else is local, translated or unassigned. NAT64 (64:ff9b::/96) is outside too:
/// it leads to IPv4 addresses that were not checked.
const GLOBAL_V6: Network = Network::v6(0x2000, 0, 3);

/// What the IANA IPv6 Special-Purpose Address Registry takes out of global unicast: IETF protocol assignments (Teredo
/// among them), documentation, 6to4.
const SPECIAL_V6: [Network; 4] = [
    Network::v6(0x2001, 0, 23),
    Network::v6(0x2001, 0xdb8, 32),
    Network::v6(0x2002, 0, 16),
    Network::v6(0x3fff, 0, 20),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4.iter().any(|network| network.contains(address.into()))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    GLOBAL_V6.contains(address.into()) && !SPECIAL_V6.iter().any(|network| network.contains(address.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(policy: &AddressPolicy, address: &str) -> bool {
        policy.permits(address.parse().unwrap())
    }

    #[test]
    fn only_public_addresses_are_permitted_by_default() {
        let policy = AddressPolicy::default();
        for public in
            ["8.8.8.8", "172.15.255.255", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]
        {
            assert!(permits(&policy, public), "{public}");
        }
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
        ] {
            assert!(!permits(&policy, private), "{private}");
        }
    }

    #[test]
    fn the_operator_can_allow_networks() {
        let policy = AddressPolicy::allowing("127.0.0.0/8, fd00::/8,10.0.0.7/32").unwrap();
        for allowed in ["127.0.0.1", "::ffff:127.9.9.9", "fd00::1", "10.0.0.7"] {
            assert!(permits(&policy, allowed), "{allowed}");
        }
        assert!(!permits(&policy, "10.0.0.8"));
        assert!(!permits(&policy, "::1"));
        assert!(permits(&AddressPolicy::allowing("0.0.0.0/0").unwrap(), "10.0.0.8"));
        for wrong in ["127.0.0.1", "127.0.0.0/33", "localhost/8", "fd00::/129", "/"] {
            assert_eq!(AddressPolicy::allowing(wrong), Err(NetworkError(wrong.to_owned())), "{wrong}");
        }
    }

    #[test]
    fn a_literal_address_is_refused_in_every_notation() {
        let policy = AddressPolicy::default();
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/latest/",
        ] {
            assert_eq!(policy.admit(&SourceUrl::parse(url).unwrap()), Err(RefusedAddress), "{url}");
        }
        for url in ["http://example.com/", "http://8.8.8.8/", "https://[2606:4700::1111]/"] {
            assert_eq!(policy.admit(&SourceUrl::parse(url).unwrap()), Ok(()), "{url}");
        }
    }
}
