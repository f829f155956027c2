//! The renderer process itself. Its standard input is the source: a file, or the [channel](super::channel) over which
//! one arrives. Its standard output takes the frames.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use edgezoom_codecs::{PixelsOnly, Prepared, SourceError, SourceFile, TemporaryFile, Vectors};
use edgezoom_pyramid::{BuildError, TileOutput, TileSource, coarse_of_thumbnail};
use edgezoom_vector::Refusal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, clock_gettime};

use super::protocol::{Ending, FrameWriter};
use super::reported;
use super::request::{Arriving, RenderRequest};
use super::vectors::MAX_DOCUMENT_BYTES;
use crate::{descriptors, sandbox};

/// Renders as requested. Reports a failure to the parent; the exit code says only whether there was one.
#[must_use]
pub fn run(request: &RenderRequest) -> ExitCode {
    match start(request) {
        Ok(Start { sources, prepared, frames }) => match render(sources, prepared, request, &frames) {
            Ok(()) => ExitCode::SUCCESS,
            // The parent reads in the thread's last words whether memory was exhausted.
            Err(BuildError::Thread) => ExitCode::FAILURE,
            Err(error) => {
                if let BuildError::Output(_) = error {
                    eprintln!("{error}");
                }
                // Fails only if the parent is gone, which leaves no reader.
                let _ = match &error {
                    BuildError::Source(SourceError::NeedsBrowser(drawing)) => frames.needs_browser(drawing),
                    error => frames.failed(&reported::of_build(error)),
                };
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("the renderer could not enter its sandbox: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A process in its sandbox, with all that it needs.
struct Start {
    /// The source: once for its thumbnail, and twice for its rows, because it may have to be opened again. The sandbox
    /// does not allow to open or duplicate a file.
    sources: [SourceFile; 3],
    /// The source's format, and what its decoder needs, if the format is known.
    prepared: Result<Prepared, SourceError>,
    frames: FrameWriter,
}

/// Duplicates the pipes, loads what the source's format needs, and enters the sandbox. Before that, the source's first
/// bytes are only compared with the signatures of formats, not parsed.
fn start(request: &RenderRequest) -> io::Result<Start> {
    sandbox::close_inherited(&[])?;
    let mut sources = sources(request)?;
    let frames = duplicate(io::stdout())?;
    let watched = duplicate(io::stdout())?;
    // The file has no name, so nothing is left when the process ends. Without a file, decoders use memory only.
    let temporary = tempfile::tempfile_in(&request.folder).ok();
    let limits = sandbox::Limits {
        memory: request.memory,
        cpu: Duration::from_secs(request.cpu_seconds),
        file: temporary.as_ref().map(|file| (file.as_raw_fd(), request.file)),
    };
    let mut prepared = match request.mosaic {
        Some(mosaic) => Ok(mosaic.prepare()),
        None => edgezoom_codecs::prepare(&mut sources[0], request.pdfium.as_deref()),
    };
    if let Some(file) = temporary {
        let file = TemporaryFile::new(file, request.file);
        prepared = prepared.map(|prepared| prepared.with_temporary_file(file));
    }
    enter_sandbox(watched, &limits)?;
    Ok(Start { sources, prepared, frames: FrameWriter::new(frames) })
}

/// Enters the sandbox. From then on, the process exits when the other end of the pipe `watched` is closed.
pub(super) fn enter_sandbox(watched: File, limits: &sandbox::Limits) -> io::Result<()> {
    sandbox::give_up()?;
    thread::Builder::new().name("parent".into()).spawn(move || exit_with_parent(&watched))?;
    sandbox::enter(limits)
}

/// Returns the source three times.
fn sources(request: &RenderRequest) -> io::Result<[SourceFile; 3]> {
    let Some(Arriving { announced }) = request.arriving else {
        let source = || duplicate(io::stdin()).map(SourceFile::from);
        return Ok([source()?, source()?, source()?]);
    };
    let channel = duplicate(io::stdin())?;
    let file = File::from(descriptors::receive(&channel)?);
    let source = SourceFile::growing(file, announced, channel);
    Ok([source.clone(), source.clone(), source])
}

pub(super) fn duplicate(stream: impl AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

/// Waits until the other end of the pipe is closed, which means that the parent is gone, then exits. `PR_SET_PDEATHSIG`
/// (prctl(2)) does not work here: it also sends its signal when only the thread ends that started this process.
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

/// Renders the source and writes frames. The fuzz targets call this outside a sandbox.
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
    let mut source = TileSource::open(&request.options, |decode| {
        let source = sources.next().ok_or_else(|| io::Error::other("the source is opened a third time"))?;
        prepared.open(source, request.bounds, decode)
    })?;
    let vectors = source.take_vectors();
    let built = source.with_thumbnail(thumbnail).build(&request.options, frames)?;
    let halved = vectors.as_ref().is_some_and(|vectors| vectors.are_needed());
    frames.finished(Ending { damage: built.damage, scale: built.scale, halved })?;
    Ok(vectors.map_or(Ok(()), |vectors| send(vectors, frames))?)
}

/// Sends the vectors of a document's pages, as far as they are not too long.
fn send(vectors: Box<dyn Vectors>, frames: &FrameWriter) -> io::Result<()> {
    let mut left = MAX_DOCUMENT_BYTES;
    let clock = || {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec as u32)
    };
    vectors.draw(&clock, &mut |page| {
        let page = match page {
            Ok(page) => page,
            Err(page) => return frames.pixels_only(&page),
        };
        let Some(rest) = left.checked_sub(page.svg.len()) else {
            let reason = Refusal::Bytes.to_string();
            return frames.pixels_only(&PixelsOnly { page: page.page, reason });
        };
        left = rest;
        frames.vectors(&page)
    })
}
