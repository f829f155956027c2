//! Responses that are held, and those in two pieces, for downloads that break off or change.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use tokio::sync::Semaphore;

/// A response in two pieces.
#[derive(Clone)]
pub struct Turn {
    /// Announced length.
    pub length: usize,
    /// Entity tag, which resuming requires.
    pub tag: Option<&'static str>,
    /// First byte of a range.
    pub from: Option<usize>,
    /// Bytes sent at once.
    pub first: Bytes,
    /// Bytes sent once the gate is open. The connection is closed after them, complete or not.
    pub rest: Bytes,
    pub gate: Gate,
}

/// Holds responses back until it lets them pass, in the order in which they wait.
#[derive(Clone)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    pub fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub fn opened() -> Self {
        let gate = Self::closed();
        gate.open();
        gate
    }

    /// Lets all responses pass from now on.
    pub fn open(&self) {
        self.0.close();
    }

    /// Lets this number of responses pass.
    pub fn pass(&self, responses: usize) {
        self.0.add_permits(responses);
    }

    /// Waits until a response may pass.
    pub async fn passed(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

impl Turn {
    pub fn response(self) -> Response {
        let Self { length, tag, from, first, rest, gate } = self;
        let pieces = futures::stream::iter([(first, None), (rest, Some(gate))]);
        let pieces = futures::StreamExt::then(pieces, async |(piece, gate): (Bytes, Option<Gate>)| {
            if let Some(gate) = gate {
                gate.passed().await;
            }
            Ok(piece)
        });
        // An error in the body closes the connection.
        let end = futures::stream::iter([Err(std::io::Error::other("broken off"))]);
        let mut response = Response::builder();
        if let Some(tag) = tag {
            response = response.header("etag", tag);
        }
        response = match from {
            None => response.header("content-length", length),
            Some(from) => response
                .status(StatusCode::PARTIAL_CONTENT)
                .header("content-length", length - from)
                .header("content-range", format!("bytes {from}-{}/{length}", length - 1)),
        };
        response.body(Body::from_stream(futures::StreamExt::chain(pieces, end))).unwrap()
    }
}
