//! `CONNECT` (RFC 9110, 9.3.6): copies bytes between the browser and the server, without looking at them.

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::body::{Body, empty};
use super::connection_permits::ConnectionPermits;
use super::traffic_budget::Metered;

/// The response to `CONNECT`, after which the bytes are copied. Keeps `permits` as long as the tunnel is open.
pub(super) fn open(
    request: Request<Incoming>,
    mut upstream: Metered<TcpStream>,
    permits: ConnectionPermits,
    cancel: &CancellationToken,
) -> Response<Body> {
    let copy = async move {
        if let Ok(browser) = hyper::upgrade::on(request).await {
            let closed = permits.closed();
            // Either side may close its connection at any time; the other side then notices it.
            let mut browser = TokioIo::new(browser);
            closed.run_until_cancelled(copy_bidirectional(&mut browser, &mut upstream)).await;
        }
        drop((upstream, permits));
    };
    tokio::spawn(cancel.clone().run_until_cancelled_owned(copy));
    empty(StatusCode::OK)
}
