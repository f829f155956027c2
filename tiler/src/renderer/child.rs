//! The renderer process itself: standard input is the source, a file, or the channel over which one comes that still
//! arrives; standard output takes the frames.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use edgezoom_codecs::{Prepared, SourceError, SourceFile, TemporaryFile};
use edgezoom_content::{Dzi, PreviewKind};
use edgezoom_pyramid::{BuildError, TileCoord, TileOutput, TileSource, coarse_of_thumbnail};
use rustix::event::{PollFd, PollFlags, poll};

use super::channel;
use super::protocol::FrameWriter;
use super::request::{Arriving, RenderRequest};
use crate::{failure, sandbox};

/// The descriptors that the parent passes, besides standard input, output and error. All others are closed.
const INHERITED: &[RawFd] = &[];

/// Renders as requested. A failure is written to the parent; the exit code says only whether there was one.
#[must_use]
pub fn run(request: &RenderRequest) -> ExitCode {
    match start(request) {
        Ok(Start { sources, prepared, frames }) => match render(sources, prepared, request, &frames) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                if let BuildError::Output(_) | BuildError::Thread = error {
                    eprintln!("{error}");
                }
                // Fails only when the parent is gone, and then nothing reads it.
                let _ = frames.failed(&failure::of_build(&error));
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("the renderer could not enter its sandbox: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A process in its sandbox, with all it needs.
struct Start {
    /// The source, for its thumbnail and twice for its rows, as it may have to be opened again: in the sandbox no file can
    /// be opened or duplicated.
    sources: [SourceFile; 3],
    /// The source's format and what reading it takes, if the format is known.
    prepared: Result<Prepared, SourceError>,
    frames: FrameWriter,
}

/// Takes hold of the pipes, loads what the source's format needs, and enters the sandbox. Until then the source's first
/// bytes are compared with the signatures of formats, and none is parsed.
fn start(request: &RenderRequest) -> io::Result<Start> {
    sandbox::close_inherited(INHERITED)?;
    let mut sources = sources(request)?;
    let frames = duplicate(io::stdout())?;
    let watched = duplicate(io::stdout())?;
    // It has no name, so nothing is left when the process ends. Where none can be made, memory has to do.
    let temporary = tempfile::tempfile_in(&request.folder).ok();
    let limits = sandbox::Limits {
        memory: request.memory,
        cpu: Duration::from_secs(request.cpu_seconds),
        file: temporary.as_ref().map(|file| (file.as_raw_fd(), request.file)),
    };
    let mut prepared = edgezoom_codecs::prepare(&mut sources[0], request.pdfium.as_deref());
    if let Some(file) = temporary {
        let file = TemporaryFile::new(file, request.file);
        prepared = prepared.map(|prepared| prepared.with_temporary_file(file));
    }
    #[cfg(target_os = "linux")]
    sandbox::give_up()?;
    thread::Builder::new().name("parent".into()).spawn(move || exit_with_parent(&watched))?;
    sandbox::enter(&limits)?;
    Ok(Start { sources, prepared, frames: FrameWriter::new(frames) })
}

/// The source three times.
fn sources(request: &RenderRequest) -> io::Result<[SourceFile; 3]> {
    let Some(Arriving { announced }) = request.arriving else {
        let source = || duplicate(io::stdin()).map(SourceFile::from);
        return Ok([source()?, source()?, source()?]);
    };
    let (file, growth) = channel::receive(duplicate(io::stdin())?)?;
    let source = SourceFile::growing(file, announced, growth);
    Ok([source.clone(), source.clone(), source])
}

fn duplicate(stream: impl AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

/// Waits until the pipe's other end is closed, and ends the process then: its parent is gone. `PR_SET_PDEATHSIG`
/// (prctl(2)) would not do: it also sends its signal when only the thread ends that started this process.
fn exit_with_parent(pipe: &File) {
    loop {
        let mut watched = [PollFd::new(pipe, PollFlags::empty())];
        let is_closed = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        match poll(&mut watched, None) {
            Ok(_) if watched[0].revents().intersects(is_closed) => std::process::exit(1),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Renders into frames, in a process that is in its sandbox.
pub(super) fn render(
    [first, sources @ ..]: [SourceFile; 3],
    prepared: Result<Prepared, SourceError>,
    request: &RenderRequest,
    frames: &FrameWriter,
) -> Result<(), BuildError> {
    let prepared = prepared?;
    let is_coarse = request.options.coarse_every.is_some();
    let thumbnail = if is_coarse { prepared.thumbnail(first, request.bounds) } else { None };
    if let Some(thumbnail) = &thumbnail {
        frames.coarse(&coarse_of_thumbnail(thumbnail)?)?;
    }
    let mut sources = sources.into_iter();
    let source = TileSource::open(&request.options, |decode| {
        let source = sources.next().ok_or_else(|| io::Error::other("the source is opened a third time"))?;
        prepared.open(source, request.bounds, decode)
    })?;
    let built = source.with_thumbnail(thumbnail).build(&request.options, frames)?;
    Ok(frames.finished(built.damage)?)
}

impl TileOutput for FrameWriter {
    fn begin(&self, dzi: &Dzi) -> io::Result<()> {
        Self::begin(self, dzi)
    }

    fn tile(&self, coord: TileCoord, bytes: &[u8]) -> io::Result<()> {
        Self::tile(self, coord, bytes)
    }

    fn preview(&self, kind: PreviewKind, bytes: &[u8]) -> io::Result<()> {
        Self::preview(self, kind, bytes)
    }

    fn coarse(&self, bytes: &[u8]) -> io::Result<()> {
        Self::coarse(self, bytes)
    }

    fn progress(&self, rows: u32) -> io::Result<()> {
        Self::progress(self, rows)
    }
}
