//! The second wall around Chromium: namespaces in which there is no network but a loopback interface with our proxy on it,
//! no other process, and no root. The first wall is the proxy and the flags that make Chromium use it; this one holds
//! even if Chromium does not.
//!
//! `unshare` makes the namespaces and starts the cell in them. The cell brings the loopback interface up, opens the proxy's
//! listener there and hands it out to the tiler: a socket stays in the namespace it was made in, so the tiler accepts
//! connections that come from inside while its own connections go out from where it is. As the user in there is not root,
//! Chromium's own sandbox works in any case, even when the tiler runs as root.
//!
//! Where the kernel or the container forbids namespaces, pages are captured without this wall.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// `nobody`, in the namespace.
const UNSHARE: [&str; 6] =
    ["--user", "--map-user=65534", "--map-group=65534", "--keep-caps", "--net", "--pid"];

/// A command that runs `program` behind the wall. It becomes the program; it does not wait for it.
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(UNSHARE).arg("--").arg(program);
    command
}

/// Whether the wall can be built here. The inner `unshare` stands for Chromium's sandbox, which needs a user namespace too.
pub(super) fn is_possible() -> bool {
    let mut command = Command::new("unshare");
    command.args(UNSHARE).args(["--fork", "--", "unshare", "--user", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What a cell does first behind the wall: brings the loopback interface up, and gives up the right to do such things.
pub(super) fn furnish() -> io::Result<()> {
    bring_loopback_up()?;
    rustix::thread::clear_ambient_capability_set()?;
    Ok(())
}

/// `ip link set lo up` as one rtnetlink message (rtnetlink(7)): a header of 16 bytes, an `ifinfomsg` of 16. The answer is
/// an `NLMSG_ERROR` whose number is 0 when all is well.
fn bring_loopback_up() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const NLM_F_REQUEST_ACK: u16 = 1 | 4;
    const LOOPBACK: i32 = 1; // the first interface of a network namespace
    const IFF_UP: u32 = 1;

    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    message.extend([0; 8]); // sequence, port
    message.extend([0; 4]); // family, type
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes()); // flags
    message.extend(IFF_UP.to_ne_bytes()); // which of them to change

    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 256];
    let (_, length) = recv(&socket, &mut answer, RecvFlags::empty())?;
    match answer.get(..length).and_then(|answer| answer.get(16..20)?.try_into().ok()).map(i32::from_ne_bytes)
    {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(number.saturating_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
