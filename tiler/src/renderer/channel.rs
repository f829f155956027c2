//! Passes a source to a renderer process while it is still being downloaded, over a socket that is the process's
//! standard input. The parent first sends the file as a descriptor, before the process enters its sandbox, and then how
//! far the file has grown, each time as an [`announcement`]. The process sends nothing back.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use edgezoom_codecs::announcement;
use rustix::net::{Shutdown, shutdown};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;

use super::arrival::{Arrival, Arrivals};
use crate::descriptors;

/// The parent's end. Dropping it stops the announcements.
pub struct Feed(JoinHandle<()>);

impl Feed {
    /// Sends the source's file, then announces its growth until the source is complete or its download starts over.
    /// Returns the process's end of the channel too.
    pub fn start(source: &Arrival, arrivals: Arrivals) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        // The process does not need to write to the channel.
        shutdown(&theirs, Shutdown::Write)?;
        // Nor to the file.
        descriptors::send(&ours, descriptors::read_only(&source.file)?)?;
        ours.set_nonblocking(true)?;
        let socket = tokio::net::UnixStream::from_std(ours)?;
        Ok((Self(tokio::spawn(announce(socket, source.beginning, arrivals))), theirs.into()))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Announces how far the source has arrived. The channel stays open even if nothing more arrives: the process would
/// take its end for an error, but only the download decides whether the source has failed.
async fn announce(mut socket: tokio::net::UnixStream, beginning: u32, mut arrivals: Arrivals) {
    loop {
        let latest = arrivals
            .borrow_and_update()
            .as_ref()
            .map(|arrival| (arrival.beginning == beginning).then_some((arrival.bytes, arrival.is_complete)));
        if let Some(Some((bytes, is_complete))) = latest {
            // An error means that the process has exited.
            if socket.write_all(&announcement(bytes, is_complete)).await.is_err() {
                return;
            }
            if is_complete {
                break;
            }
        }
        if latest == Some(None) || arrivals.changed().await.is_err() {
            break;
        }
    }
    std::future::pending::<()>().await;
}
