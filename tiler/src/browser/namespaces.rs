//! Namespaces for Chromium (namespaces(7)): a network namespace with nothing but a loopback interface, a PID namespace
//! without other processes, and a user namespace without root. The proxy and Chromium's flags restrict its traffic too,
//! but namespaces do so even when an attacker controls Chromium.
//!
//! unshare(1) creates the namespaces and starts the supervisor in them. The supervisor brings the loopback interface
//! up, opens the proxy's listener there and sends it to the tiler. A socket stays in the network namespace in which it
//! was created, so the tiler accepts connections from inside, while its own connections are made outside. The user
//! inside is not root, so Chromium's own sandbox works even when the tiler runs as root.
//!
//! Where the kernel or the container forbids namespaces, pages are captured without them.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// User and group 65534 are `nobody` and `nogroup`. The capabilities are kept for `set_up`.
const UNSHARE: [&str; 6] =
    ["--user", "--map-user=65534", "--map-group=65534", "--keep-caps", "--net", "--pid"];

/// A command that executes `program` in new namespaces.
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(UNSHARE).arg("--").arg(program);
    command
}

/// Whether namespaces can be created here. The inner `unshare` tests what Chromium's sandbox needs: a nested user
/// namespace.
pub fn are_available() -> bool {
    let mut command = Command::new("unshare");
    command.args(UNSHARE).args(["--fork", "--", "unshare", "--user", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Prepares the namespaces from inside: brings the loopback interface up, then drops the capabilities.
pub(super) fn set_up() -> io::Result<()> {
    bring_loopback_up()?;
    rustix::thread::clear_ambient_capability_set()?;
    Ok(())
}

/// `ip link set lo up`, as an rtnetlink message (netlink(7), rtnetlink(7)):
///
/// | offset | bytes | `nlmsghdr` | | offset | bytes | `ifinfomsg` |
/// |---|---|---|---|---|---|---|
/// | 0 | 4 | length, 32 | | 16 | 4 | family, padding, type |
/// | 4 | 2 | type, `RTM_NEWLINK` | | 20 | 4 | interface index |
/// | 6 | 2 | flags | | 24 | 4 | flags |
/// | 8 | 8 | sequence, port | | 28 | 4 | mask of the flags to change |
///
/// The response is an `NLMSG_ERROR`, whose error number after the header is 0 for success.
fn bring_loopback_up() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const NLM_F_REQUEST_ACK: u16 = 1 | 4;
    const LOOPBACK: i32 = 1; // the index of the first interface in a network namespace
    const IFF_UP: u32 = 1;

    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    message.extend([0; 8]); // sequence, port
    message.extend([0; 4]); // family, padding, type
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes()); // flags
    message.extend(IFF_UP.to_ne_bytes()); // mask of the flags to change

    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut response = [0; 256];
    let (_, length) = recv(&socket, &mut response, RecvFlags::empty())?;
    match response
        .get(..length)
        .and_then(|response| response.get(16..20)?.try_into().ok())
        .map(i32::from_ne_bytes)
    {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(number.saturating_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
