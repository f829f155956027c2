//! Bodies of the proxy's responses. [`handler`](super::handler) and [`local_files`](super::local_files) share them.

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::{Response, StatusCode};

/// The body of a response: streamed from a server, or the proxy's own.
pub(super) type Body = BoxBody<Bytes, hyper::Error>;

/// Returns a response without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(body(Vec::new()));
    *response.status_mut() = status;
    response
}

/// Returns a body held in memory.
pub(super) fn body(bytes: Vec<u8>) -> Body {
    Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed()
}
