//! Forwards one `http` request over a connection of its own. Few pages are served without TLS, so a pool of connections
//! would save little.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, UPGRADE,
};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::body::Body;
use super::connection_permits::ConnectionPermits;
use super::connector::ConnectError;
use super::traffic_budget::Metered;

/// Sends the request and returns the response. Keeps `permits` as long as the connection is open.
pub(super) async fn send(
    mut request: Request<Incoming>,
    upstream: Metered<TcpStream>,
    permits: ConnectionPermits,
    cancel: &CancellationToken,
) -> Result<Response<Body>, ConnectError> {
    let mut client = hyper::client::conn::http1::Builder::new();
    let handshake = client.preserve_header_case(true).handshake(TokioIo::new(upstream)).await;
    let (mut sender, connection) = handshake.map_err(|_| ConnectError::Unreachable)?;
    let drive = async move {
        permits.closed().run_until_cancelled(connection).await; // an error shows in the response's body
        drop(permits);
    };
    tokio::spawn(cancel.clone().run_until_cancelled_owned(drive));

    to_origin_form(&mut request)?;
    let mut response = sender.send_request(request).await.map_err(|_| ConnectError::Unreachable)?;
    remove_hop_by_hop(response.headers_mut());
    // The browser would take the status as the proxy's, and discard the password.
    if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
    Ok(response.map(BodyExt::boxed))
}

/// From the absolute form `GET http://host/path` to the origin form `GET /path` with `Host: host` (RFC 9112, 3.2).
fn to_origin_form(request: &mut Request<Incoming>) -> Result<(), ConnectError> {
    let uri = request.uri();
    let host = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let path: Uri = path.parse().map_err(|_| ConnectError::Unreachable)?;
    *request.uri_mut() = path;
    remove_hop_by_hop(request.headers_mut());
    request.headers_mut().insert(HOST, host.ok_or(ConnectError::Unreachable)?);
    Ok(())
}

/// Removes the headers of a single connection (RFC 9110, 7.6.1), the proxy's password among them. hyper frames the body
/// anew.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let always = [
        CONNECTION,
        PROXY_AUTHORIZATION,
        PROXY_AUTHENTICATE,
        TE,
        TRAILER,
        UPGRADE,
        HeaderName::from_static("proxy-connection"),
        HeaderName::from_static("keep-alive"),
    ];
    for name in named.into_iter().chain(always) {
        headers.remove(name);
    }
}
