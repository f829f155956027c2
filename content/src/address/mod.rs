//! Which addresses Edgezoom may connect to for a source: the public internet on web ports, with the operator's
//! exceptions. One policy serves the edge, which sees only literal addresses in URLs, and the tiler, which checks every
//! address that it connects to.

mod lists;

pub use lists::{HostError, HostPattern, Network, NetworkError};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, PoisonError, RwLock};

use url::{Host, Url};

use crate::SourceUrl;
use crate::source_url::is_within;

/// The policy: every globally reachable unicast address outside of the machine's own networks, and every network that
/// the operator allows, except for those that the operator denies.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    allowed: Vec<Network>,
    local: LocalNetworks,
    denied: Vec<Network>,
    /// If not empty, no other hosts are permitted.
    allowed_hosts: Vec<HostPattern>,
    denied_hosts: Vec<HostPattern>,
}

/// The networks that the machine itself is in: its addresses and those of its links. They may be global, as IPv6
/// addresses usually are, but what listens there trusts the machine. All clones share one list, because addresses
/// change while a program runs.
#[derive(Clone, Debug, Default)]
pub struct LocalNetworks(Arc<RwLock<Vec<Network>>>);

impl LocalNetworks {
    /// Replaces the list.
    pub fn replace(&self, networks: Vec<Network>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = networks;
    }

    fn contain(&self, address: IpAddr) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().any(|network| network.contains(address))
    }
}

/// Why the policy refuses a source. Clients see the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedAddress {
    /// The host is an address in a network that is not permitted, or a name that resolves only to such addresses.
    #[error("The URL's host is in a private, reserved or denied network.")]
    Network,
    /// The port is not a web port.
    #[error("The URL's port is reserved for another protocol. Below 1024, only 80 and 443 are allowed.")]
    Port,
    /// The operator's lists exclude the host.
    #[error("This service does not accept sources from this host.")]
    Host,
}

impl AddressPolicy {
    /// Returns the policy that allows the public internet and `networks`, a comma-separated list.
    ///
    /// # Errors
    /// Returns the first part that is not a network.
    pub fn allowing(networks: &str) -> Result<Self, NetworkError> {
        Ok(Self { allowed: Network::list(networks)?, ..Self::default() })
    }

    /// Denies networks, even if they are also allowed.
    ///
    /// # Errors
    /// Returns the first part that is not a network.
    pub fn denying(self, networks: &str) -> Result<Self, NetworkError> {
        Ok(Self { denied: Network::list(networks)?, ..self })
    }

    /// Refuses the addresses in `local` unless they are in an allowed network.
    #[must_use]
    pub fn refusing_local(self, local: LocalNetworks) -> Self {
        Self { local, ..self }
    }

    /// Permits only these hosts, if the comma-separated list is not empty: names, with all names below them, and
    /// literal addresses.
    ///
    /// # Errors
    /// Returns the first part that is not a host.
    pub fn allowing_hosts(self, hosts: &str) -> Result<Self, HostError> {
        Ok(Self { allowed_hosts: HostPattern::list(hosts)?, ..self })
    }

    /// Denies hosts, even if they are also allowed.
    ///
    /// # Errors
    /// Returns the first part that is not a host.
    pub fn denying_hosts(self, hosts: &str) -> Result<Self, HostError> {
        Ok(Self { denied_hosts: HostPattern::list(hosts)?, ..self })
    }

    /// Returns the policy with more denied hosts, separated by commas. Parts that are not hosts are ignored.
    #[must_use]
    pub fn denying_also(&self, hosts: &str) -> Self {
        let mut policy = self.clone();
        policy.denied_hosts.extend(hosts.split(',').filter_map(|host| host.parse().ok()));
        policy
    }

    /// Returns true if `address` may be connected to. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let in_any = |networks: &[Network]| networks.iter().any(|network| network.contains(address));
        let is_public = match address {
            IpAddr::V4(v4) => is_public_v4(v4),
            IpAddr::V6(v6) => is_public_v6(v6),
        };
        !in_any(&self.denied) && (is_public && !self.local.contain(address) || in_any(&self.allowed))
    }

    /// Checks host and port before a connection. Of a name, only the name is checked; the resolver checks its addresses
    /// with [`AddressPolicy::permits`]. `localhost` is this machine (RFC 6761, 6.3), so it is permitted where a
    /// loopback address is.
    ///
    /// # Errors
    /// Returns the reason for a refusal.
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
            Host::Domain(name) if is_within(name.as_ref(), "localhost") => {
                self.permits(Ipv4Addr::LOCALHOST.into()) || self.permits(Ipv6Addr::LOCALHOST.into())
            }
            Host::Domain(_) => true,
        };
        if permitted { Ok(()) } else { Err(RefusedAddress::Network) }
    }

    /// Checks host and port of a source.
    ///
    /// # Errors
    /// Returns the reason for a refusal.
    pub fn admit(&self, source: &SourceUrl) -> Result<(), RefusedAddress> {
        let url = Url::parse(source.address()).map_err(|_| RefusedAddress::Network)?;
        let host = url.host().ok_or(RefusedAddress::Network)?;
        self.check(&host, url.port_or_known_default().ok_or(RefusedAddress::Port)?)
    }
}

/// Ports below 1024, except 80 and 443, are assigned to other protocols (RFC 6335, section 6). Some, such as SMTP, take
/// the lines of a request for commands.
fn is_permitted_port(port: u16) -> bool {
    matches!(port, 80 | 443 | 1024..)
}

/// The networks that the IANA IPv4 Special-Purpose Address Registry lists as not globally reachable, with multicast,
/// the reserved class E and the withdrawn 6to4 relays.
const SPECIAL_V4: [Network; 15] = [
    Network::v4(0, 0, 0, 0, 8),
    Network::v4(10, 0, 0, 0, 8),
    Network::v4(100, 64, 0, 0, 10),
    Network::v4(127, 0, 0, 0, 8),
    Network::v4(169, 254, 0, 0, 16),
    Network::v4(172, 16, 0, 0, 12),
    Network::v4(192, 0, 0, 0, 24),
    Network::v4(192, 0, 2, 0, 24),
    Network::v4(192, 88, 99, 0, 24),
    Network::v4(192, 168, 0, 0, 16),
    Network::v4(198, 18, 0, 0, 15),
    Network::v4(198, 51, 100, 0, 24),
    Network::v4(203, 0, 113, 0, 24),
    Network::v4(224, 0, 0, 0, 4),
    Network::v4(240, 0, 0, 0, 4),
];

/// Global unicast. All other addresses are local, translated or unassigned; NAT64 (64:ff9b::/96) leads to IPv4
/// addresses that were not checked.
const GLOBAL_V6: Network = Network::v6([0x2000, 0, 0, 0], 3);

/// The exceptions that the IANA IPv6 Special-Purpose Address Registry makes from global unicast: IETF protocol
/// assignments, which include Teredo, documentation, 6to4.
const SPECIAL_V6: [Network; 4] = [
    Network::v6([0x2001, 0, 0, 0], 23),
    Network::v6([0x2001, 0xdb8, 0, 0], 32),
    Network::v6([0x2002, 0, 0, 0], 16),
    Network::v6([0x3fff, 0, 0, 0], 20),
];

/// Addresses that look public but lead to services inside a cloud, which trust the machine that asks. Those of all
/// other clouds are link-local, private or shared; the tests list them with their documents.
///
/// Sources: <https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16>,
/// <https://docs.cloud.google.com/vpc/docs/access-apis-external-ip>,
/// <https://docs.cloud.google.com/kubernetes-engine/docs/concepts/alias-ips>,
/// <https://cloud.ibm.com/docs/vpc?topic=vpc-service-endpoints-for-vpc>.
const CLOUD_V4: [Network; 8] = [
    Network::v4(168, 63, 129, 16, 32), // Azure: the wire server, DNS, health probes
    Network::v4(199, 36, 153, 4, 30),  // Google: restricted.googleapis.com
    Network::v4(199, 36, 153, 8, 30),  // Google: private.googleapis.com
    Network::v4(34, 126, 0, 0, 18),    // Google: direct connections to APIs
    Network::v4(34, 118, 224, 0, 20),  // Google: the services of a Kubernetes cluster
    Network::v4(161, 26, 0, 0, 16),    // IBM: name servers and infrastructure services
    Network::v4(166, 8, 0, 0, 14),     // IBM: endpoints of cloud services
    Network::v4(192, 80, 8, 124, 32),  // Equinix Metal: metadata
];

/// As [`CLOUD_V4`]. Google does not announce the first two networks to the internet.
///
/// Sources: as above, and <https://docs.cloud.google.com/kubernetes-engine/docs/how-to/single-stack-ipv6> for services.
const CLOUD_V6: [Network; 4] = [
    Network::v6([0x2600, 0x2d00, 2, 0x1000], 56), // Google: restricted.googleapis.com
    Network::v6([0x2600, 0x2d00, 2, 0x2000], 56), // Google: private.googleapis.com
    Network::v6([0x2001, 0x4860, 0x8040, 0], 42), // Google: direct connections to APIs
    Network::v6([0x2600, 0x2d00, 0, 4], 64),      // Google: the services of a Kubernetes cluster
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4.iter().chain(&CLOUD_V4).any(|network| network.contains(address.into()))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    GLOBAL_V6.contains(address.into())
        && !SPECIAL_V6.iter().chain(&CLOUD_V6).any(|network| network.contains(address.into()))
}

#[cfg(test)]
mod tests;
