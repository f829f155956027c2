//! The renderer process itself: standard input is the source, a file; standard output takes the frames.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use edgezoom_content::{Dzi, Failure, FailureCode};
use rustix::event::{PollFd, PollFlags, poll};

use super::order::Order;
use super::protocol::Frames;
use crate::sandbox;
use edgezoom_codecs::{Prepared, SourceError};
use edgezoom_pyramid::{BuildError, TileCoord, TileOutput, TileSource};

/// Renders as ordered. What went wrong is told to the parent; the exit code says only whether anything did.
#[must_use]
pub fn run(order: &Order) -> ExitCode {
    match prepare(order) {
        Ok(start) => match render(start.sources, start.prepared, order, &start.frames) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                // When the parent is gone there is nobody to tell.
                let _ = start.frames.failed(&failure(&error));
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("the renderer could not lock itself in: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A process that is locked in and has all it needs.
struct Start {
    /// Twice, as a source may have to be opened again: no file can be opened any more then, nor duplicated.
    sources: [File; 2],
    /// The source's format and what it takes, if it is one that can be rendered.
    prepared: Result<Prepared, SourceError>,
    frames: Frames,
}

/// Takes hold of the pipes, gets ready what the format takes, and locks the process in. Of the source's bytes the first
/// have been compared by then with those that formats begin with; none has been parsed.
fn prepare(order: &Order) -> io::Result<Start> {
    let mut sources = [own(io::stdin())?, own(io::stdin())?];
    let frames = own(io::stdout())?;
    let watched = own(io::stdout())?;
    thread::Builder::new().name("parent".into()).spawn(move || exit_with_parent(&watched))?;
    let prepared = edgezoom_codecs::prepare(&mut sources[0], order.pdfium.as_deref());
    sandbox::enter(order.memory, Duration::from_secs(order.cpu_seconds))?;
    Ok(Start { sources, prepared, frames: Frames::new(frames) })
}

fn own(stream: impl AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

/// Waits until nobody reads the pipe any more and ends the process then: its parent is gone. A signal on the parent's
/// death would come as well when only the thread ends that started this process.
fn exit_with_parent(pipe: &File) {
    loop {
        let mut watched = [PollFd::new(pipe, PollFlags::empty())];
        let nobody_reads = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        match poll(&mut watched, None) {
            Ok(_) if watched[0].revents().intersects(nobody_reads) => std::process::exit(1),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn render(
    sources: [File; 2],
    prepared: Result<Prepared, SourceError>,
    order: &Order,
    frames: &Frames,
) -> Result<(), BuildError> {
    let prepared = prepared?;
    let options = order.pyramid_options();
    let mut sources = sources.into_iter();
    let source = TileSource::open(&options, |decode| {
        let source = sources.next().ok_or_else(|| io::Error::other("the source is opened a third time"))?;
        prepared.open(source, order.bounds(), decode)
    })?;
    source.build(&options, frames)?;
    Ok(frames.finished()?)
}

fn failure(error: &BuildError) -> Failure {
    match error {
        BuildError::Source(error) => error.failure(),
        BuildError::Output(_) | BuildError::Thread => {
            eprintln!("{error}");
            Failure::new(FailureCode::Internal, "The tiles could not be made.")
        }
    }
}

impl TileOutput for Frames {
    fn begin(&self, dzi: &Dzi) -> io::Result<()> {
        self.begun(dzi)
    }

    fn tile(&self, coord: TileCoord, bytes: &[u8]) -> io::Result<()> {
        Self::tile(self, coord, bytes)
    }

    fn progress(&self, rows: u32) -> io::Result<()> {
        Self::progress(self, rows)
    }
}
