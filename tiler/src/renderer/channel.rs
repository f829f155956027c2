//! How a renderer process gets a source that still arrives: over a socket, its standard input. First comes the file
//! itself, as a descriptor (`SCM_RIGHTS`, unix(7)), before the process enters its sandbox; then, again and again, how far
//! the file has grown, in the words of [`announcement`]. Nothing goes the other way.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use edgezoom_codecs::announcement;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown, recvmsg, sendmsg, shutdown,
};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;

use crate::arrival::{Arrival, Arrivals};

/// The parent's end. Dropped, it tells nothing more.
pub struct Feed(JoinHandle<()>);

impl Feed {
    /// Begins to tell how far a source arrives, until it is complete or its download begins anew. Also gives the
    /// process's end of the channel.
    pub fn start(source: &Arrival, arrivals: Arrivals) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        // The process need not be able to write.
        shutdown(&theirs, Shutdown::Write)?;
        // Nor to change the file. Without /proc it has the descriptor that the download has.
        let read_only = File::open(format!("/proc/self/fd/{}", source.file.as_raw_fd())).ok();
        let files = [read_only.as_ref().unwrap_or(&source.file).as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&ours, &[IoSlice::new(b"F")], &mut ancillary, SendFlags::NOSIGNAL)?;
        ours.set_nonblocking(true)?;
        let socket = tokio::net::UnixStream::from_std(ours)?;
        Ok((Self(tokio::spawn(tell(socket, source.beginning, arrivals))), theirs.into()))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells how far the source has come. When it does not come any further, the channel stays open all the same: its end
/// would be an error for the process, and whether the source has failed is not for the process to say.
async fn tell(mut socket: tokio::net::UnixStream, beginning: u32, mut arrivals: Arrivals) {
    loop {
        let latest = arrivals
            .borrow_and_update()
            .as_ref()
            .map(|arrival| (arrival.beginning == beginning).then_some((arrival.bytes, arrival.is_complete)));
        if let Some(Some((bytes, is_complete))) = latest {
            // An error says that the process is gone.
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

/// The process's end: takes the file, and gives what tells of its growth.
pub fn receive(channel: File) -> io::Result<(File, File)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(&channel, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut received = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let file = received.next().ok_or_else(|| io::Error::other("no file came with the source's channel"))?;
    Ok((File::from(file), channel))
}
