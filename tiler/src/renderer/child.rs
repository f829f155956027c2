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
use crate::sandbox;
use edgezoom_codecs::{Flattened, Layout, Prepared, RowReader, SourceError, is_opaque};
use edgezoom_pyramid::{BuildError, Encoding, Output, Place};

/// Renders as ordered. What went wrong is told to the parent; the exit code says only whether anything did.
#[must_use]
pub fn run(order: &Order) -> ExitCode {
    match prepare(order) {
        Ok(start) => match render(start.sources, start.prepared, order, &start.frames) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                // When the parent is gone there is nobody to tell.
                let _ = start.frames.failed(&failure);
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
    [source, again]: [File; 2],
    prepared: Result<Prepared, SourceError>,
    order: &Order,
    frames: &Frames,
) -> Result<(), Failure> {
    let prepared = prepared.map_err(|error| error.failure())?;
    let options = order.decode_options();
    let open = |source| prepared.open(source, order.bounds(), &options).map_err(|error| error.failure());
    let mut source = open(source)?;
    // The choice has to be made before the first tile is out. Many pictures have an opacity channel that hides nothing, and as
    // PNG their tiles would be several times as large: those that are not known yet are looked through, up to the first
    // pixel that is not opaque. Encoding PNG instead of JPEG would take longer than that.
    if order.options.format.is_none() && source.layout() == Layout::Rgba && !source.needs_opacity() {
        let opaque = is_opaque(&mut *source).map_err(|error| error.failure())?;
        source = open(again)?;
        if opaque {
            source = Box::new(Flattened::new(source));
        }
    }
    let format = order.options.format.unwrap_or(match source.layout() {
        Layout::Rgba => TileFormat::Png,
        Layout::Grey | Layout::Rgb | Layout::YCbCr420 => TileFormat::Jpg,
    });
    if format == TileFormat::Jpg {
        source = Box::new(Flattened::new(source));
    }
    render_strips(&mut *source, format, order, frames).map_err(|error| failure(&error))
}

fn render_strips(
    source: &mut dyn RowReader,
    format: TileFormat,
    order: &Order,
    frames: &Frames,
) -> Result<(), BuildError> {
    let dzi = order.dzi(source.size(), format);
    let encoding = Encoding { format, quality: order.options.quality, layout: source.layout() };
    frames.begun(&dzi)?;
    edgezoom_pyramid::build(source, &dzi, encoding, order.threads, frames)?;
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
