//! Networks in CIDR notation (RFC 4632).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

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

    pub(super) const fn v6(a: u16, b: u16, prefix: u8) -> Self {
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

impl Network {
    /// The networks of a list that is separated by commas.
    ///
    /// # Errors
    /// Names the first part that is not a network.
    pub fn list(networks: &str) -> Result<Vec<Self>, NetworkError> {
        networks.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect()
    }
}
