//! Why a renderer process gave no pyramid. The messages are shown to clients.

use std::io;
use std::time::Duration;

use edgezoom_content::Failure;

use super::protocol::ProtocolError;

/// Why a renderer process gave no pyramid.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// An option is out of its range, or the process could not be started.
    #[error("The picture could not be rendered: no process for it could be started.")]
    NotStarted(#[source] io::Error),
    /// The process reported why the source cannot be rendered.
    #[error("{}", .0.message)]
    Reported(Failure),
    /// The process used up its time on the clock.
    #[error("Rendering took longer than is allowed.")]
    TimedOut,
    /// The process neither computed nor wrote anything for so long.
    #[error("Rendering stood still for {} s, longer than is allowed.", .0.as_secs())]
    Idle(Duration),
    /// The process used up its processor time, which grows with what it reads and writes.
    #[error(
        "The picture is too complex: it takes more than the {} s of processor time that are allowed for its size.",
        .allowed.as_secs()
    )]
    TooComplex {
        /// The processor time it could have used.
        allowed: Duration,
    },
    /// The process could not allocate memory.
    #[error("The picture takes more memory than is allowed for rendering.")]
    OutOfMemory,
    /// The process's own code raised a signal: a fault of a decoder.
    #[error("The renderer stopped unexpectedly.")]
    Crashed {
        /// The signal's number.
        signal: i32,
    },
    /// A signal that neither the process nor its limits raise ended it: an operator's, or the system's when memory is
    /// short. It says nothing of the source.
    #[error("The renderer was stopped from outside.")]
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The process exited with an error, or before all tiles had come.
    #[error("The renderer stopped unexpectedly.")]
    Died,
    /// The process wrote something that it must not.
    #[error("The renderer stopped unexpectedly.")]
    Protocol(#[from] ProtocolError),
    /// The process's output could not be read.
    #[error("The renderer stopped unexpectedly.")]
    Pipe(#[source] io::Error),
}

impl RenderError {
    /// What the process died of, in a word for metrics. `None` when it reported itself why the source cannot be rendered.
    #[must_use]
    pub fn cause_of_death(&self) -> Option<&'static str> {
        match self {
            Self::Reported(_) => None,
            Self::NotStarted(_) => Some("not-started"),
            Self::TimedOut => Some("timed-out"),
            Self::Idle(_) => Some("idle"),
            Self::TooComplex { .. } => Some("too-complex"),
            Self::OutOfMemory => Some("out-of-memory"),
            Self::Crashed { .. } => Some("crashed"),
            Self::Killed { .. } => Some("killed"),
            Self::Died | Self::Pipe(_) => Some("died"),
            Self::Protocol(_) => Some("protocol"),
        }
    }
}
