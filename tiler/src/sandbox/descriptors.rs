//! The open files that a process has inherited. A program that starts the tiler may leave files and sockets open in it
//! that a renderer must not have: a database, a listener, another job's source.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Closes all descriptors but standard input, output and error, and those to keep.
///
/// To be called at the start of a process, before it opens anything: what is closed must have no owner in this program.
///
/// # Errors
/// The list of open descriptors cannot be read.
pub fn close_inherited(keep: &[RawFd]) -> io::Result<()> {
    let list = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let open: Vec<RawFd> = fs::read_dir(list)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2 && !keep.contains(descriptor))
        .collect();
    for descriptor in open {
        // The list itself was among them, and is closed already.
        if is_open(descriptor) {
            // SAFETY: it is open and was inherited, so that nothing of this program owns it.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
    }
    Ok(())
}

fn is_open(descriptor: RawFd) -> bool {
    // SAFETY: it is only asked for its flags, and the borrow ends with the call.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    rustix::io::fcntl_getfd(borrowed).is_ok()
}
