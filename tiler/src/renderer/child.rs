//! The renderer process itself: standard input is the source, a file; standard output takes the frames.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use edgezoom_content::{Failure, FailureCode, TileFormat};
use rustix::event::{PollFd, PollFlags, poll};

use super::order::Order;
use super::protocol::Frames;
use super::sandbox;
use crate::pyramid::{self, BuildError, Encoding, Output, Place};
use crate::source::{self, Layout, OnWhite, Strips, Wish};

/// Renders as ordered. What went wrong is told to the parent; the exit code says only whether anything did.
#[must_use]
pub fn run(order: &Order) -> ExitCode {
    match prepare(order) {
        Ok((source, frames)) => match render(source, order, &frames) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                // When the parent is gone there is nobody to tell.
                let _ = frames.failed(&failure);
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("the renderer could not lock itself in: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Takes hold of the pipes and locks the process in. No byte of the source has been looked at by then.
fn prepare(order: &Order) -> io::Result<(File, Frames)> {
    let source = own(io::stdin())?;
    let frames = own(io::stdout())?;
    let watched = own(io::stdout())?;
    thread::Builder::new().name("parent".into()).spawn(move || exit_with_parent(&watched))?;
    sandbox::enter(order.memory, Duration::from_secs(order.cpu_seconds))?;
    Ok((source, Frames::new(frames)))
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

fn render(source: File, order: &Order, frames: &Frames) -> Result<(), Failure> {
    let wish = Wish {
        may_be_planes: order.options.format != Some(TileFormat::Png)
            && Encoding::halves_chroma(order.options.quality),
        threads: order.threads,
    };
    let mut source = source::open_for(source, order.bounds(), wish).map_err(|error| error.failure())?;
    // The choice has to be made before the first tile is out. So it is made by what the source declares: a picture that
    // has an opacity channel and is opaque all the same becomes PNG.
    let format = order.options.format.unwrap_or(match source.layout() {
        Layout::Rgba => TileFormat::Png,
        Layout::Grey | Layout::Rgb | Layout::YCbCr420 => TileFormat::Jpg,
    });
    if format == TileFormat::Jpg {
        source = Box::new(OnWhite::new(source));
    }
    render_strips(&mut *source, format, order, frames).map_err(|error| failure(&error))
}

fn render_strips(
    source: &mut dyn Strips,
    format: TileFormat,
    order: &Order,
    frames: &Frames,
) -> Result<(), BuildError> {
    let dzi = order.dzi(source.size(), format);
    let encoding = Encoding { format, quality: order.options.quality, layout: source.layout() };
    frames.begun(&dzi)?;
    pyramid::build(source, &dzi, encoding, order.threads, frames)?;
    Ok(frames.finished()?)
}

fn failure(error: &BuildError) -> Failure {
    match error {
        BuildError::Source(error) => error.failure(),
        BuildError::Output(_) | BuildError::Cutter => {
            eprintln!("{error}");
            Failure::new(FailureCode::Internal, "The tiles could not be made.")
        }
    }
}

impl Output for Frames {
    fn tile(&self, place: Place, bytes: &[u8]) -> io::Result<()> {
        Self::tile(self, place, bytes)
    }

    fn progress(&self, rows: u32) -> io::Result<()> {
        Self::progress(self, rows)
    }
}
