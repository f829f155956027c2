//! File descriptors that pass from one process to another: on purpose over a socket, or by accident when a program
//! starts the tiler with files and sockets of its own still open.

use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Sends a descriptor over a Unix socket (`SCM_RIGHTS`, unix(7)).
pub(crate) fn send(socket: impl AsFd, descriptor: impl AsFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    // A message needs at least one byte besides the descriptor.
    retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(b"F")], &mut ancillary, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Receives a descriptor that the other process passed to [`send`].
pub(crate) fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    // A socket with a timeout is interrupted by any signal (signal(7)), such as the end of a child process.
    retry_on_intr(|| {
        recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut received = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    received.next().ok_or_else(|| io::Error::other("the other process sent no file descriptor"))
}

/// Returns a descriptor of the same file that can only be read, at the file's start. One that cannot be written is
/// returned as it is.
pub(crate) fn read_only(file: impl AsFd) -> io::Result<OwnedFd> {
    let file = file.as_fd();
    if fcntl_getfl(file)? & OFlags::RWMODE == OFlags::RDONLY {
        return file.try_clone_to_owned();
    }
    Ok(File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?.into())
}

/// Closes all descriptors except standard input, output and error, and those in `keep`: a renderer must not have
/// another program's database, listener or source.
///
/// Call this at the start of a process, before it opens anything: nothing in this program may own what is closed.
///
/// # Errors
/// The list of open descriptors cannot be read.
#[allow(unsafe_code, reason = "takes over descriptors that this program did not open")]
pub fn close_inherited(keep: &[RawFd]) -> io::Result<()> {
    let open: Vec<RawFd> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2 && !keep.contains(descriptor))
        .collect();
    for descriptor in open {
        // The list includes the descriptor of the directory itself, which is closed already.
        if is_open(descriptor) {
            // SAFETY: it is open and was inherited, so nothing in this program owns it.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
    }
    Ok(())
}

#[allow(unsafe_code, reason = "borrows a descriptor by its number")]
fn is_open(descriptor: RawFd) -> bool {
    // SAFETY: only its flags are read, and the borrow ends with the call.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    rustix::io::fcntl_getfd(borrowed).is_ok()
}
