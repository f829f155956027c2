//! Namespaces for Chromium (namespaces(7)): a network namespace with only a loopback interface, a PID namespace without
//! other processes, a [mount namespace](super::private_root) without the machine's files, and a user namespace without
//! root. The proxy and Chromium's flags restrict its traffic too, but namespaces do so even when an attacker controls
//! Chromium.
//!
//! The supervisor runs twice. The first process gives up root, creates the namespaces and starts the second one in
//! them, as the first process of the PID namespace. The second process [sets them up](set_up), opens the proxy's
//! listener there and sends it to the tiler. A socket stays in the network namespace in which it was created, so the
//! tiler accepts connections from inside, while its own connections are made outside. When the second process ends, the
//! kernel ends all others inside.
//!
//! The user is `nobody` inside, and outside too if the tiler runs as root: whatever the browser could still reach on
//! the machine belongs to another user. Because the user inside is not root, Chromium's own sandbox works even when the
//! tiler runs as root.
//!
//! If the kernel or the container forbids namespaces, [`try_out`] returns the reason.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid, unshare_unsafe,
};

/// User id of `nobody` and group id of `nogroup`.
const NOBODY: u32 = 65_534;
/// Capabilities that [`set_up`] needs: to mount, and to bring an interface up.
const NEEDED: [CapabilitySet; 2] = [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN];

/// Tries to create and set up namespaces in a separate process.
///
/// # Errors
/// The step that the system refuses.
pub fn try_out(supervisor: &Path) -> Result<(), String> {
    let mut command = Command::new(supervisor);
    command.args([
        "browser-supervisor",
        "--namespaces",
        "--probe",
        "--folder=/",
        "--memory=16777216",
        "--cpu=1",
        "--nice=0",
    ]);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(match String::from_utf8_lossy(&output.stderr).trim() {
            "" => output.status.to_string(),
            message => message.strip_prefix("tiler: ").unwrap_or(message).to_owned(),
        }),
        Err(error) => Err(error.to_string()),
    }
}

/// Gives up root and moves the calling process, which must have no other threads, into new namespaces. Only its future
/// child processes are in the PID namespace. Programs that it executes keep the capabilities that [`set_up`] needs.
///
/// # Errors
/// The step that the system refuses.
pub(super) fn enter() -> io::Result<()> {
    if geteuid().is_root() {
        become_nobody().map_err(|error| step("cannot give up root", error))?;
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let all = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    new_namespaces(all).map_err(|error| step("cannot create namespaces", error))?;
    let map = |file: &str, content: String| {
        fs::write(format!("/proc/self/{file}"), content).map_err(|error| step("cannot map the user", error))
    };
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("{NOBODY} {user} 1"))?;
    map("gid_map", format!("{NOBODY} {group} 1"))?;
    let has = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: has.permitted, ..has })?;
    NEEDED.into_iter().try_for_each(|capability| Ok(configure_capability_in_ambient_set(capability, true)?))
}

/// Changes the user and group of the calling thread (credentials(7)), the only one of this process.
fn become_nobody() -> io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    // Makes its files in /proc its own again: since the change of user they belong to root (proc(5)).
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

fn new_namespaces(namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: unshare(2) is unsafe because it can give a thread its own table of descriptors. These flags do not.
    Ok(unsafe { unshare_unsafe(namespaces) }?)
}

/// Sets the namespaces up from inside, then drops the capabilities that this needs.
///
/// # Errors
/// The step that the system refuses.
pub(super) fn set_up() -> io::Result<()> {
    bring_loopback_up().map_err(|error| step("cannot bring the loopback interface up", error))?;
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

/// Tries to create one more user namespace, which Chromium's own sandbox needs.
pub(super) fn try_nested() -> io::Result<()> {
    new_namespaces(UnshareFlags::NEWUSER)
        .map_err(|error| step("Chromium's sandbox cannot create its namespace", error))
}

/// Puts the failed step before the message of `error`.
pub(super) fn step(what: &str, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Does the same as `ip link set lo up`, with an rtnetlink message (netlink(7), rtnetlink(7)):
///
/// | offset | bytes | `nlmsghdr` | | offset | bytes | `ifinfomsg` |
/// |---|---|---|---|---|---|---|
/// | 0 | 4 | length, 32 | | 16 | 4 | family, padding, type |
/// | 4 | 2 | type, `RTM_NEWLINK` | | 20 | 4 | interface index |
/// | 6 | 2 | flags | | 24 | 4 | flags |
/// | 8 | 8 | sequence, port | | 28 | 4 | mask of the flags to change |
///
/// The response is an `NLMSG_ERROR`. The number after its header is 0 for success.
fn bring_loopback_up() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const NLM_F_REQUEST_ACK: u16 = 1 | 4;
    const LOOPBACK: i32 = 1; // index of the first interface in a network namespace
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
