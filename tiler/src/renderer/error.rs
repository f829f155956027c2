//! Why a renderer process gave no pyramid. The messages are shown to clients.

use std::io;

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
    /// The process used up its time.
    #[error("Rendering took longer than is allowed.")]
    TimedOut,
    /// The process could not allocate memory.
    #[error("The picture takes more memory than is allowed for rendering.")]
    OutOfMemory,
    /// A signal that neither the process nor its limits raise ended it: an operator's, or the system's when memory is
    /// short. It says nothing of the source.
    #[error("The renderer was stopped from outside.")]
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The process crashed, or exited with an error.
    #[error("The renderer stopped unexpectedly.")]
    Died,
    /// The process wrote something that it must not.
    #[error("The renderer stopped unexpectedly.")]
    Protocol(#[from] ProtocolError),
    /// The process's output could not be read.
    #[error("The renderer stopped unexpectedly.")]
    Pipe(#[source] io::Error),
}
