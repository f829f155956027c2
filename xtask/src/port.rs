//! Ports on the loopback address.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result, bail};

/// A port that is free now: `wanted`, or any when that is 0. Says so when `wanted` is taken.
pub fn free(wanted: u16) -> Result<u16> {
    if wanted == 0 {
        return any().context("no port is free");
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)) {
        Ok(listener) => Ok(listener.local_addr()?.port()),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            bail!(
                "port {wanted} is taken by another program: choose one with --port, or leave the choice to us with --port 0"
            )
        }
        Err(error) => bail!("port {wanted} cannot be listened on: {error}"),
    }
}

/// A free port that nothing else takes before it is listened on: Linux gives connections ports from 32,768 on
/// (`ip_local_port_range`), and the tests' own servers have those from 24,576 on.
fn any() -> Option<u16> {
    let random = RandomState::new();
    let mut ports = (0..100).map(|number| 16_384 + (random.hash_one(number) % 8_192) as u16);
    ports.find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}
