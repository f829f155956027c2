//! The networks that are not the public internet, or lead from inside a cloud to services of that cloud.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::network::Network;

/// What the IANA IPv4 Special-Purpose Address Registry lists as not globally reachable, with multicast, the reserved
/// class E and the withdrawn 6to4 relays.
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

/// Addresses that look public and answer only inside a cloud, where they say to a machine what it is and what it may do,
/// or stand for services that trust it. All other metadata services have link-local or private addresses: those of AWS,
/// Google, Azure, Oracle, DigitalOcean and OpenStack (169.254.169.254, fd00:ec2::254), Alibaba (100.100.100.200).
///
/// Sources: <https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16>,
/// <https://cloud.google.com/vpc/docs/configure-private-google-access>,
/// <https://cloud.ibm.com/docs/vpc?topic=vpc-service-endpoints-for-vpc>.
const CLOUD_V4: [Network; 5] = [
    Network::v4(168, 63, 129, 16, 32), // Azure: the wire server, DNS, health probes
    Network::v4(199, 36, 153, 4, 30),  // Google: restricted.googleapis.com
    Network::v4(199, 36, 153, 8, 30),  // Google: private.googleapis.com
    Network::v4(161, 26, 0, 0, 16),    // IBM: name servers and services of the infrastructure
    Network::v4(166, 8, 0, 0, 14),     // IBM: endpoints of cloud services
];

pub(super) fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4.iter().chain(&CLOUD_V4).any(|network| network.contains(address.into()))
}

pub(super) fn is_public_v6(address: Ipv6Addr) -> bool {
    GLOBAL_V6.contains(address.into()) && !SPECIAL_V6.iter().any(|network| network.contains(address.into()))
}
