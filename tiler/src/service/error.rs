//! Why the service cannot start.

use std::io;
use std::net::SocketAddr;

use crate::pipeline::SetupError;

/// The service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address for health and metrics cannot be bound.
    #[error("EDGEZOOM_LISTEN: cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        reason: io::Error,
    },
    /// The HTTP clients for edge and queue cannot be set up.
    #[error("no HTTP client can be set up: {0}")]
    Client(#[from] reqwest::Error),
    /// The pipeline cannot be set up.
    #[error(transparent)]
    Pipeline(#[from] SetupError),
}
