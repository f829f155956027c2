//! Responses in two pieces, for downloads that break off or change.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;

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

/// Holds a response back until it is opened.
#[derive(Clone)]
pub struct Gate(Arc<tokio::sync::Semaphore>);

impl Gate {
    pub fn closed() -> Self {
        Self(Arc::new(tokio::sync::Semaphore::new(0)))
    }

    pub fn opened() -> Self {
        Self(Arc::new(tokio::sync::Semaphore::new(1000)))
    }

    pub fn open(&self) {
        self.0.add_permits(1);
    }
}

impl Turn {
    pub fn response(self) -> Response {
        let Self { length, tag, from, first, rest, gate } = self;
        let pieces = futures::stream::iter([(first, None), (rest, Some(gate))]);
        let pieces = futures::StreamExt::then(pieces, async |(piece, gate): (Bytes, Option<Gate>)| {
            if let Some(Gate(gate)) = gate {
                gate.acquire().await.unwrap().forget();
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
