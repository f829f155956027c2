//! Reads the networks that this machine is in, for the address policy: the addresses of its interfaces, and the
//! networks that it reaches without a router. Follows their changes, because addresses come and go while a tiler runs:
//! by DHCP, router advertisements, and containers.
//!
//! The kernel's routing tables have both (rtnetlink(7)). A dump of routes is a sequence of messages:
//!
//! ```text
//! nlmsghdr  length: u32  type: u16  flags: u16  sequence, port: 8 bytes
//! rtmsg     family, destination's prefix, source's prefix, tos, table, protocol, scope, type: u8  flags: u32
//! rtattr    length: u16  type: u16  value, padded to 4 bytes …
//! ```
//!
//! Numbers have the machine's byte order.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use edgezoom_content::address::{LocalNetworks, Network};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto, socket_with,
};

/// Multicast groups for changes of links, addresses and routes of both families (`RTMGRP_*`).
const CHANGES: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;
const RTM_GETLINK: u16 = 18;
const RTM_GETROUTE: u16 = 26;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const HEADER_BYTES: usize = 16;
/// The kernel sends at most 32 KiB at once.
const BUFFER_BYTES: usize = 64 << 10;
/// Pause before reading again after an error, such as a lack of memory.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads the networks and starts a thread that follows their changes for as long as the program runs. `others` are
/// further networks, which stay.
///
/// # Errors
/// The system does not tell: it has no netlink sockets, or forbids them.
pub fn follow(others: Vec<Network>) -> io::Result<LocalNetworks> {
    let changes = open(CHANGES)?;
    let networks = LocalNetworks::default();
    let all = move || read().map(|read| [read, others.clone()].concat());
    networks.replace(all()?);
    let list = networks.clone();
    thread::Builder::new().name("addresses".into()).spawn(move || {
        let mut message = vec![0; BUFFER_BYTES];
        loop {
            // Any change makes it read everything again, so lost changes (`ENOBUFS`: the buffer was full) do not
            // matter.
            match recv(&changes, &mut message, RecvFlags::empty()) {
                Ok(_) | Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot follow the changes of this machine's addresses");
                    thread::sleep(PAUSE);
                }
            }
            while let Err(error) = all().map(|all| list.replace(all)) {
                tracing::error!(%error, "cannot read this machine's addresses");
                thread::sleep(PAUSE);
            }
        }
    })?;
    Ok(networks)
}

/// Reads the networks once.
///
/// # Errors
/// As [`follow`].
pub fn read() -> io::Result<Vec<Network>> {
    let links: HashMap<u32, u32> = dump(RTM_GETLINK)?.iter().filter_map(|message| link(message)).collect();
    Ok(dump(RTM_GETROUTE)?.iter().filter_map(|message| route(message, &links)).collect())
}

fn open(groups: u32) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

/// Requests a list of all objects of a kind. Returns the messages without their headers.
fn dump(kind: u16) -> io::Result<Vec<Vec<u8>>> {
    const NLM_F_REQUEST_DUMP: u16 = 1 | 0x300;
    // A header, and the shortest message body: all families.
    let mut request = vec![0; HEADER_BYTES + 16];
    request[..4].copy_from_slice(&32_u32.to_ne_bytes());
    request[4..6].copy_from_slice(&kind.to_ne_bytes());
    request[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    let socket = open(0)?;
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut received = vec![0; BUFFER_BYTES];
    let mut messages = Vec::new();
    loop {
        let (_, length) = match recv(&socket, &mut received, RecvFlags::empty()) {
            Err(Errno::INTR) => continue,
            received => received?,
        };
        let mut rest = received.get(..length).unwrap_or_default();
        while let Some((kind, body, later)) = message(rest) {
            match kind {
                NLMSG_DONE => return Ok(messages),
                NLMSG_ERROR => {
                    let number = body.first_chunk().map_or(0, |number| i32::from_ne_bytes(*number));
                    return Err(io::Error::from_raw_os_error(number.saturating_neg()));
                }
                _ => messages.push(body.to_vec()),
            }
            rest = later;
        }
    }
}

/// Returns the type and the body of the first message, and the messages after it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    let body = bytes.get(HEADER_BYTES..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// Returns the index and flags of an interface.
///
/// ```text
/// ifinfomsg  family, padding: u8  type: u16  index: i32  flags: u32  change: u32
/// ```
fn link(body: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| body.get(at..)?.first_chunk().map(|number| u32::from_ne_bytes(*number));
    Some((number(4)?, number(8)?))
}

/// Returns the network of a route that leads to this machine, or to a link without a router. Routes into tunnels are
/// not networks that this machine is in: a VPN's may lead to the whole internet.
fn route(body: &[u8], links: &HashMap<u32, u32>) -> Option<Network> {
    const LOCAL: u8 = 2; // broadcast and anycast addresses follow
    const ANYCAST: u8 = 4;
    const UNICAST: u8 = 1;
    const POINT_TO_POINT: u32 = 0x10;
    // Destination, interface; gateway, paths, gateway of another family.
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const GATEWAYS: [u16; 3] = [5, 9, 18];

    let [family, prefix, _, _, _, _, _, kind, _, _, _, _, attributes @ ..] = body else { return None };
    let (mut destination, mut interface, mut has_gateway, mut rest) = (None, None, false, attributes);
    while let Some((&[l0, l1, k0, k1], _)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let value = rest.get(4..length)?;
        match u16::from_ne_bytes([k0, k1]) {
            RTA_DST => destination = address(*family, value),
            RTA_OIF => interface = value.first_chunk().map(|index| u32::from_ne_bytes(*index)),
            attribute => has_gateway |= GATEWAYS.contains(&attribute),
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    let is_on_link = || {
        let flags = interface.and_then(|index| links.get(&index)).copied().unwrap_or(0);
        *kind == UNICAST && !has_gateway && interface.is_some() && flags & POINT_TO_POINT == 0
    };
    let is_own = (LOCAL..=ANYCAST).contains(kind) || is_on_link();
    // A route to everything is a way out, or a transparent proxy.
    Network::new(destination?, *prefix).filter(|_| is_own && *prefix > 0)
}

fn address(family: u8, value: &[u8]) -> Option<IpAddr> {
    const INET: u8 = 2;
    const INET6: u8 = 10;
    match family {
        INET => Some(Ipv4Addr::from(*value.first_chunk::<4>()?).into()),
        INET6 => Some(Ipv6Addr::from(*value.first_chunk::<16>()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_address_is_among_this_machines_networks() {
        let networks = read().unwrap();
        let loopback: IpAddr = Ipv4Addr::LOCALHOST.into();
        assert!(networks.iter().any(|network| network.contains(loopback)), "{networks:?}");
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        [&(4 + value.len() as u16).to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
    }

    #[test]
    fn routes_through_routers_and_tunnels_are_not_networks_of_this_machine() {
        let links = HashMap::from([(2, 0x1003), (3, 0x1091)]);
        let to = attribute(1, &[93, 184, 216, 0]);
        let [ethernet, tunnel] = [2_u32, 3].map(|index| attribute(4, &index.to_ne_bytes()));
        let router = attribute(5, &[93, 184, 216, 1]);
        let found = |prefix: u8, kind: u8, attributes: &[&[u8]]| {
            let head = [2, prefix, 0, 0, 254, 2, 253, kind, 0, 0, 0, 0];
            route(&[&head[..], &attributes.concat()].concat(), &links).map(|network| network.to_string())
        };
        let network = Some("93.184.216.0/24".to_owned());
        assert_eq!(found(24, 1, &[&to, &ethernet]), network);
        assert_eq!(found(24, 2, &[&to, &tunnel]), network, "an address of the tunnel's end here");
        assert_eq!(found(24, 1, &[&to, &tunnel]), None);
        assert_eq!(found(24, 1, &[&to, &router, &ethernet]), None);
        assert_eq!(found(24, 7, &[&to, &ethernet]), None, "an unreachable network");
        assert_eq!(found(0, 1, &[&ethernet]), None);
        assert_eq!(found(0, 2, &[&attribute(1, &[0; 4]), &ethernet]), None, "a transparent proxy");
        for cut in 0..20 {
            assert_eq!(route(&[2; 20][..cut], &links), None, "{cut}");
        }
    }
}
