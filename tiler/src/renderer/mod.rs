//! Renders pictures in a separate process, because their bytes may be hostile.
//!
//! [`Renderer::start`] runs `tiler render`. That [`child`] has its source as standard input, enters its
//! [`sandbox`](crate::sandbox) before it parses the first byte, and writes tiles to standard output, in the frames of
//! [`protocol`]. A source that is still being downloaded arrives over a [`channel`]. The parent trusts none of this:
//! the [`validator`] compares every frame with the request, and the [`watchdog`] bounds what the process costs. A
//! process that crashes, exceeds a limit or breaks the protocol costs only its own picture. A source with content codings
//! is [unpacked](unpack) before, in such a process too, and the description of a picture elsewhere is read in one. A source
//! may also be a file with all [`tiles`] of a picture.

mod arrival;
mod channel;
pub mod child;
mod codings;
mod description;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod labels;
mod lists;
mod process;
mod protocol;
mod reported;
pub mod request;
mod text;
mod tiles;
pub mod unpack;
mod validator;
mod vectors;
mod watchdog;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use edgezoom_codecs::{Mosaic, PageVectors, PixelsOnly};
use edgezoom_content::{Credits, Dzi, PreviewKind, Title};
pub use edgezoom_pyramid::{Built, Tile};
use edgezoom_text::Text;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;

use crate::descriptors;
use crate::limits::Limits;
pub use arrival::{Arrival, Arrivals};
use channel::Feed;
pub use codings::Coding;
pub use description::{DescriptionRequest, Lead, Target};
pub use error::RenderError;
pub use labels::Labels;
pub use lists::{ListRequest, Listed, Listing};
use process::RendererProcess;
pub use protocol::{PROTOCOL_VERSION, ProtocolError};
pub use reported::of_source;
pub use request::RenderOptions;
use request::{Arriving, RenderRequest};
pub use tiles::{NAMESPACE, Tiles};
use validator::FrameValidator;
use watchdog::Watchdog;

/// Number of bytes read from the process at once. Tiles share such a buffer, so a kept tile may keep this much in
/// memory.
const READ_BYTES: usize = 256 << 10;

/// A running renderer process. When dropped, the process is killed and reaped.
pub struct Renderer {
    reader: OutputReader,
    watchdog: Watchdog,
    /// Announces to the process how far its source has arrived.
    _feed: Option<Feed>,
}

/// Validated output of a renderer process.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Comes first: the header of the picture is read, and this is the pyramid.
    Started(Dzi),
    /// Share of the picture's rows that is read, from 0 to 1.
    Progress(f64),
    /// A tile. Tiles come in no particular order, each once.
    Tile(Tile),
    /// A small version of the whole picture, a JPEG. Each kind comes once, if previews were requested.
    Preview(PreviewKind, Bytes),
    /// The rows read so far as a small JPEG, if that was requested. May come at any time before the end.
    Coarse(Bytes),
    /// The words in the picture. Come at most once.
    Text(Text),
    /// The title that the file states. Comes at most once.
    Title(Title),
    /// The credits that the file states. Come at most once.
    Credits(Credits),
    /// The vectors of a page of a PDF, or of an SVG, if that was requested. Pages come in order, after all tiles.
    Vectors(PageVectors),
    /// A page of a PDF, or an SVG, has no vectors, although these were requested. Comes in its place.
    PixelsOnly(PixelsOnly),
    /// Comes last: all tiles have come, and the process has exited successfully.
    Finished(Built),
}

/// A process and the output received from it.
struct OutputReader {
    process: RendererProcess,
    stdout: ChildStdout,
    received: BytesMut,
    validator: FrameValidator,
    /// The pyramid, once all tiles have come.
    finished: Option<Built>,
    /// True if vectors may follow, on which the pyramid does not depend.
    may_follow: bool,
}

impl Renderer {
    /// Starts a process that renders `source`. `program` is `tiler`: [`OWN_PROGRAM`](crate::OWN_PROGRAM), except in
    /// tests.
    ///
    /// # Errors
    /// [`RenderError::NotStarted`]: an option is out of its range, or the process cannot be started.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(
        program: &Path,
        source: File,
        options: &RenderOptions,
        limits: &Limits,
    ) -> Result<Self, RenderError> {
        let bytes = watchdog::length(&source);
        let request = RenderRequest::new(options, limits, bytes).map_err(RenderError::NotStarted)?;
        // The process must not be able to change the source: another reader may have it, or it may be tried again.
        let input = descriptors::read_only(&source).map_err(RenderError::NotStarted)?;
        Self::run(program, input, request, Watchdog::new(limits, bytes), None)
    }

    /// Starts a process that renders a picture from a file with its tiles.
    ///
    /// # Errors
    /// As [`Renderer::start`].
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start_tiles(
        program: &Path,
        source: &File,
        mosaic: Mosaic,
        options: &RenderOptions,
        limits: &Limits,
    ) -> Result<Self, RenderError> {
        let bytes = watchdog::length(source);
        let mut request = RenderRequest::new(options, limits, bytes).map_err(RenderError::NotStarted)?;
        request.mosaic = Some(mosaic);
        let input = descriptors::read_only(source).map_err(RenderError::NotStarted)?;
        Self::run(program, input, request, Watchdog::new(limits, bytes), None)
    }

    /// Starts a process that renders a source while it is being downloaded. The process waits for bytes that have not
    /// arrived. If the download starts over, no more bytes arrive: drop the renderer then.
    ///
    /// # Errors
    /// As [`Renderer::start`].
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start_arriving(
        program: &Path,
        source: &Arrival,
        arrivals: Arrivals,
        options: &RenderOptions,
        limits: &Limits,
    ) -> Result<Self, RenderError> {
        // A download may stall at any time, so show more often what has arrived.
        let coarse_every = options.coarse_every.map(|every| every / 4);
        let options = RenderOptions { coarse_every, ..*options };
        let bytes = source.announced.unwrap_or(source.bytes);
        let mut request =
            RenderRequest::new(&options, limits, Some(bytes)).map_err(RenderError::NotStarted)?;
        request.arriving = Some(Arriving { announced: source.announced });
        let (feed, input) = Feed::start(source, arrivals.clone()).map_err(RenderError::NotStarted)?;
        let watchdog = Watchdog::of_arriving(limits, arrivals);
        Self::run(program, input, request, watchdog, Some(feed))
    }

    fn run(
        program: &Path,
        input: OwnedFd,
        request: RenderRequest,
        watchdog: Watchdog,
        feed: Option<Feed>,
    ) -> Result<Self, RenderError> {
        let (process, stdout) = {
            let json =
                serde_json::to_string(&request).map_err(|error| RenderError::NotStarted(error.into()))?;
            let cpu = Duration::from_secs(request.cpu_seconds);
            RendererProcess::start(program, "render", json, input, cpu).map_err(RenderError::NotStarted)?
        };
        let (received, may_follow) = (BytesMut::new(), request.options.drawing.vectors);
        let validator = FrameValidator::new(request);
        let reader = OutputReader { process, stdout, received, validator, finished: None, may_follow };
        Ok(Self { reader, watchdog, _feed: feed })
    }

    /// Returns the next output. The process blocks on its full pipe unless this is called. Cancel safe.
    ///
    /// # Errors
    /// Returns why the process ended, or was killed. Nothing follows after that, or after [`Output::Finished`].
    pub async fn next(&mut self) -> Result<Output, RenderError> {
        let process = self.reader.process.id();
        self.watchdog.resume();
        let result = tokio::select! {
            biased;
            result = self.reader.next() => result,
            error = self.watchdog.expired(process) => Err(error),
        };
        let result = result.and_then(|output| self.watchdog.record(&output, process).map(|()| output));
        if let Err(error) = &result {
            match error {
                RenderError::Protocol(error) => tracing::error!(%error, "a renderer broke the protocol"),
                RenderError::Pipe(error) => tracing::error!(%error, "cannot read a renderer's output"),
                _ => {}
            }
            self.reader.process.kill();
        }
        let needs_pixels = self.reader.validator.needs_pixels();
        match (result, self.reader.finished) {
            (Err(RenderError::Protocol(error)), _) => Err(error.into()),
            (Err(_) | Ok(Output::Finished(_)), Some(_)) if needs_pixels => Err(RenderError::NeedsPixels),
            // Another interpreter of the document has crashed, or used up the process's memory or time.
            (Err(error), Some(built)) if self.reader.may_follow => {
                tracing::warn!(%error, "a document has no more vectors");
                Ok(Output::Finished(built))
            }
            (result, _) => result,
        }
    }
}

impl OutputReader {
    async fn next(&mut self) -> Result<Output, RenderError> {
        loop {
            match self.validator.next(&mut self.received)? {
                Some(output)
                    if matches!(output, Output::Vectors(_) | Output::PixelsOnly(_))
                        != self.finished.is_some() =>
                {
                    return Err(ProtocolError::Unexpected("output after the last frame").into());
                }
                Some(Output::Finished(built)) => self.finished = Some(built),
                Some(output) => return Ok(output),
                None if self.receive().await? == 0 => return self.conclude().await,
                None => {}
            }
        }
    }

    async fn receive(&mut self) -> Result<usize, RenderError> {
        self.received.reserve(READ_BYTES);
        self.stdout.read_buf(&mut self.received).await.map_err(RenderError::Pipe)
    }

    /// Checks that the output was complete, and that the process exits successfully.
    async fn conclude(&mut self) -> Result<Output, RenderError> {
        match self.finished {
            None => Err(self.process.cause_of_death().await),
            Some(_) if !self.received.is_empty() && !self.may_follow => {
                Err(ProtocolError::Unexpected("output after the last frame").into())
            }
            Some(built) => self.process.exited().await.map(|()| Output::Finished(built)),
        }
    }
}
