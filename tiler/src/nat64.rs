//! The prefix with which the operator's network translates IPv6 to IPv4 (NAT64), if it is one of its own. Addresses with
//! it look public, and may lead to private IPv4 addresses. The well-known prefix, 64:ff9b::/96, is not public anyway.

use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use edgezoom_content::address::Network;

/// A name with only IPv4 addresses, which name servers of such a network translate (RFC 7050).
const IPV4_ONLY: &str = "ipv4only.arpa";
/// The name's addresses, 192.0.0.170 and 192.0.0.171.
const ADDRESSES: [[u8; 4]; 2] = [[192, 0, 0, 170], [192, 0, 0, 171]];
/// The lengths of prefixes (RFC 6052, section 2.2).
const PREFIXES: [u8; 6] = [32, 40, 48, 56, 64, 96];
/// Name servers that do not respond in this time delay the start no longer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Asks the system's name servers for the prefix.
#[must_use]
pub fn prefix() -> Option<Network> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        sender.send((IPV4_ONLY, 0).to_socket_addrs().into_iter().flatten().collect::<Vec<_>>())
    });
    let addresses = receiver.recv_timeout(TIMEOUT).unwrap_or_default();
    addresses.iter().find_map(|address| match address.ip() {
        IpAddr::V6(v6) => prefix_of(v6),
        IpAddr::V4(_) => None,
    })
}

/// Returns the prefix of a translated address of [`IPV4_ONLY`]. The IPv4 address follows the prefix, around bits 64 to
/// 71, which are zero.
fn prefix_of(address: Ipv6Addr) -> Option<Network> {
    let octets = address.octets();
    let embedded = |bits: &u8| {
        let after = (usize::from(*bits / 8)..16).filter(|at| *at != 8).take(4);
        after.map(|at| octets.get(at).copied().unwrap_or(0)).collect::<Vec<_>>()
    };
    let bits = PREFIXES.iter().find(|bits| ADDRESSES.iter().any(|known| embedded(bits) == known))?;
    Network::new(address.into(), *bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 6052, section 2.4, with the address of the name.
    #[test]
    fn the_prefix_of_a_translated_address_is_found_at_every_length() {
        for (address, bits) in [
            ("2001:db8:c000:aa::", 32),
            ("2001:db8:1c0:0:aa::", 40),
            ("2001:db8:122:c000:0:aa00::", 48),
            ("2001:db8:122:3c0:0:aa::", 56),
            ("2001:db8:122:344:c0:0:aa00::", 64),
            ("2001:db8:122:344::192.0.0.171", 96),
        ] {
            let address: Ipv6Addr = address.parse().unwrap();
            assert_eq!(prefix_of(address), Network::new(address.into(), bits), "{address}");
        }
        assert_eq!(prefix_of("2606:4700::1111".parse().unwrap()), None);
    }
}
