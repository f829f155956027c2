//! The reasons why a renderer process produced no pyramid. Clients see the messages.

use std::io;
use std::time::Duration;

use edgezoom_codecs::BrowserDrawing;
use edgezoom_content::Failure;

use super::protocol::ProtocolError;

/// The reason why a renderer process produced no pyramid.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// An option is out of its range, or the process could not be started.
    #[error("The renderer could not be started.")]
    NotStarted(#[source] io::Error),
    /// The process reported why the source cannot be rendered.
    #[error("{}", .0.message)]
    Reported(Failure),
    /// The process leaves the source, a drawing, to a browser.
    #[error("The drawing needs a browser.")]
    NeedsBrowser(BrowserDrawing),
    /// The process has drawn a document with half its resolution, and has no vectors of some page.
    #[error("The document has pages without vectors.")]
    NeedsPixels,
    /// The process used up its wall time.
    #[error("Rendering took longer than allowed.")]
    TimedOut,
    /// The process neither computed nor wrote anything for this time.
    #[error("Rendering made no progress for {} s.", .0.as_secs())]
    Idle(Duration),
    /// The process used up its processor time, which grows with the bytes it reads and the pixels it produces.
    #[error(
        "The picture is too complex: rendering it takes more than the {} s of processor time allowed for its size.",
        .allowed.as_secs()
    )]
    TooComplex {
        /// Processor time that was allowed.
        allowed: Duration,
    },
    /// The source has more bytes than allowed when its content codings are removed.
    #[error("The source is larger than {} MiB when unpacked.", .0 >> 20)]
    UnpacksTooLarge(u64),
    /// The process could not allocate memory.
    #[error("The picture takes more memory than is allowed for rendering.")]
    OutOfMemory,
    /// The process raised a signal itself: a fault of a decoder.
    #[error("The renderer stopped unexpectedly.")]
    Crashed {
        /// Signal number.
        signal: i32,
    },
    /// A signal ended the process that neither the process nor its limits raise: an operator's, or the system's when
    /// memory is short. The source is not to blame.
    #[error("The renderer was killed from outside.")]
    Killed {
        /// Signal number.
        signal: i32,
    },
    /// The process exited with an error, or before it had written all tiles.
    #[error("The renderer stopped unexpectedly.")]
    Died,
    /// The process wrote something that it is not allowed to write.
    #[error("The renderer stopped unexpectedly.")]
    Protocol(#[from] ProtocolError),
    /// The process's output could not be read.
    #[error("The renderer stopped unexpectedly.")]
    Pipe(#[source] io::Error),
}

impl RenderError {
    /// Returns the cause of the process's death as a label for metrics; `None` if the process itself reported why the
    /// source cannot be rendered.
    #[must_use]
    pub fn cause_of_death(&self) -> Option<&'static str> {
        match self {
            Self::Reported(_) | Self::NeedsBrowser(_) | Self::NeedsPixels => None,
            Self::NotStarted(_) => Some("not-started"),
            Self::TimedOut => Some("timed-out"),
            Self::Idle(_) => Some("idle"),
            Self::TooComplex { .. } => Some("too-complex"),
            Self::UnpacksTooLarge(_) => Some("unpacks-too-large"),
            Self::OutOfMemory => Some("out-of-memory"),
            Self::Crashed { .. } => Some("crashed"),
            Self::Killed { .. } => Some("killed"),
            Self::Died | Self::Pipe(_) => Some("died"),
            Self::Protocol(_) => Some("protocol"),
        }
    }
}
