//! Where Edgezoom may connect to for a source: the public internet, at ports of the web, and what the operator allows or
//! denies besides. One policy serves the edge, which sees only literal addresses in URLs, and the tiler, which checks
//! every address it connects to.

mod host;
mod network;
mod special;

pub use host::{HostError, HostPattern};
pub use network::{Network, NetworkError};

use std::net::IpAddr;

use url::{Host, Url};

use crate::SourceUrl;
use special::{is_public_v4, is_public_v6};

/// Says which addresses, hosts and ports may be connected to: every globally reachable unicast address, the networks
/// that the operator allowed besides, and none that the operator denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    allowed: Vec<Network>,
    denied: Vec<Network>,
    /// When there are any, no other hosts are permitted.
    allowed_hosts: Vec<HostPattern>,
    denied_hosts: Vec<HostPattern>,
}

/// A source that the policy refuses. The messages are shown to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedAddress {
    /// The host is an address in a network that is not permitted, or a name that has only such addresses.
    #[error("The URL's host is in a private, reserved or denied network.")]
    Network,
    /// The port is not one of the web.
    #[error("The URL's port is that of another protocol: below 1024, only 80 and 443 are allowed.")]
    Port,
    /// The operator's lists exclude the host.
    #[error("This service does not take sources from the URL's host.")]
    Host,
}

impl AddressPolicy {
    /// The policy that allows `networks` besides the public internet: networks in CIDR notation, separated by commas.
    ///
    /// # Errors
    /// Names the first part that is not a network.
    pub fn allowing(networks: &str) -> Result<Self, NetworkError> {
        Ok(Self { allowed: Network::list(networks)?, ..Self::default() })
    }

    /// Denies networks, even if they are allowed too.
    ///
    /// # Errors
    /// Names the first part that is not a network.
    pub fn denying(self, networks: &str) -> Result<Self, NetworkError> {
        Ok(Self { denied: Network::list(networks)?, ..self })
    }

    /// Permits no hosts but these, if there are any: names, each with all names below it, and literal addresses,
    /// separated by commas.
    ///
    /// # Errors
    /// Names the first part that is not a host.
    pub fn allowing_hosts(self, hosts: &str) -> Result<Self, HostError> {
        Ok(Self { allowed_hosts: HostPattern::list(hosts)?, ..self })
    }

    /// Denies hosts, even if they are allowed too.
    ///
    /// # Errors
    /// Names the first part that is not a host.
    pub fn denying_hosts(self, hosts: &str) -> Result<Self, HostError> {
        Ok(Self { denied_hosts: HostPattern::list(hosts)?, ..self })
    }

    /// The policy that denies these hosts besides, separated by commas. What is no host is left out.
    #[must_use]
    pub fn denying_also(&self, hosts: &str) -> Self {
        let mut policy = self.clone();
        policy.denied_hosts.extend(hosts.split(',').filter_map(|host| host.parse().ok()));
        policy
    }

    /// Whether `address` may be connected to. An IPv4 address that is mapped into IPv6 counts as IPv4.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let in_any = |networks: &[Network]| networks.iter().any(|network| network.contains(address));
        let is_public = match address {
            IpAddr::V4(v4) => is_public_v4(v4),
            IpAddr::V6(v6) => is_public_v6(v6),
        };
        !in_any(&self.denied) && (is_public || in_any(&self.allowed))
    }

    /// Checks host and port before a connection. A name passes with addresses that are not permitted: those are checked
    /// where it is resolved, with [`AddressPolicy::permits`].
    ///
    /// # Errors
    /// Why there may be no connection.
    pub fn check<S: AsRef<str>>(&self, host: &Host<S>, port: u16) -> Result<(), RefusedAddress> {
        if !is_permitted_port(port) {
            return Err(RefusedAddress::Port);
        }
        let in_any = |hosts: &[HostPattern]| hosts.iter().any(|pattern| pattern.matches(host));
        if in_any(&self.denied_hosts) || !self.allowed_hosts.is_empty() && !in_any(&self.allowed_hosts) {
            return Err(RefusedAddress::Host);
        }
        let permitted = match host {
            Host::Ipv4(v4) => self.permits((*v4).into()),
            Host::Ipv6(v6) => self.permits((*v6).into()),
            Host::Domain(_) => true,
        };
        if permitted { Ok(()) } else { Err(RefusedAddress::Network) }
    }

    /// Checks host and port of a source.
    ///
    /// # Errors
    /// Why it may not be requested.
    pub fn admit(&self, source: &SourceUrl) -> Result<(), RefusedAddress> {
        let url = Url::parse(source.as_str()).map_err(|_| RefusedAddress::Network)?;
        let host = url.host().ok_or(RefusedAddress::Network)?;
        self.check(&host, url.port_or_known_default().ok_or(RefusedAddress::Port)?)
    }
}

/// Ports below 1024 are assigned to other protocols (RFC 6335, 6), except 80 and 443. Some of those take lines of a
/// request for commands, as SMTP does.
fn is_permitted_port(port: u16) -> bool {
    matches!(port, 80 | 443 | 1024..)
}

#[cfg(test)]
mod tests;
