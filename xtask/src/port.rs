//! Ports on the loopback address.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail};

/// A port that is free now: `wanted`, or any when that is 0. Says so when `wanted` is taken.
pub fn free(wanted: u16) -> Result<u16> {
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
