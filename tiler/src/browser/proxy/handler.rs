//! Handles one request of the browser: checks its credentials, determines its target, and serves it from local files,
//! tunnels it, or forwards it.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, UPGRADE,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::connector::{ConnectError, ConnectFailures, Connector};
use super::host_connections::HostPermit;
use super::local_files::{self, Body, LocalFiles, empty};
use super::traffic_budget::{Metered, TrafficBudget};
use super::{Credentials, LOGIN_HOST};

/// State shared by all requests of a page.
pub(super) struct Handler {
    pub connector: Connector,
    /// The folder of a page that is a local file, or a drawing.
    pub files: Option<LocalFiles>,
    pub budget: Arc<TrafficBudget>,
    pub failures: Arc<ConnectFailures>,
    pub credentials: Credentials,
    /// Ends all tasks when the page is closed.
    pub cancel: CancellationToken,
    /// One permit for each connection to a server.
    pub connections: Arc<Semaphore>,
}

/// A connection to a server, with the permits that it holds while it is open.
struct Upstream {
    stream: Metered<TcpStream>,
    _page: OwnedSemaphorePermit,
    host: HostPermit,
}

/// Responds to a request of the browser.
pub(super) async fn handle(request: Request<Incoming>, handler: Arc<Handler>) -> Response<Body> {
    if !handler.credentials.match_request(request.headers()) {
        return challenge();
    }
    let Some((host, port)) = target(&request) else { return empty(StatusCode::BAD_REQUEST) };
    if host == LOGIN_HOST {
        return empty_page();
    }
    if let (Some(files), local_files::HOST, &Method::GET) = (&handler.files, host.as_str(), request.method())
    {
        return files.response(request.uri().path()).await;
    }
    if handler.files.as_ref().is_some_and(LocalFiles::are_all) {
        return empty(StatusCode::FORBIDDEN);
    }
    let result = match handler.connect(&host, port).await {
        Ok(upstream) if request.method() == Method::CONNECT => Ok(tunnel(request, upstream, &handler.cancel)),
        Ok(upstream) => forward(request, upstream, &handler.cancel).await,
        Err(error) => Err(error),
    };
    handler.failures.record(&host, port, result.as_ref().err().copied());
    result.unwrap_or_else(|error| {
        empty(match error {
            ConnectError::Refused => StatusCode::FORBIDDEN,
            ConnectError::Unresolved | ConnectError::Unreachable => StatusCode::BAD_GATEWAY,
        })
    })
}

impl Handler {
    /// Connects to `host` as soon as the limits for the page and for the host allow another connection.
    async fn connect(&self, host: &str, port: u16) -> Result<Upstream, ConnectError> {
        // The page's permit comes first: a page that waits for its own must not hold one of the host's meanwhile.
        let page = Arc::clone(&self.connections).acquire_owned().await;
        let page = page.map_err(|_| ConnectError::Unreachable)?;
        let (stream, host) = self.connector.connect(host, port).await?;
        let stream = Metered::new(stream, Arc::clone(&self.budget), Arc::clone(&host.activity));
        Ok(Upstream { stream, _page: page, host })
    }
}

/// Returns the host and port of a request: `CONNECT host:port`, or an absolute `http` URL (RFC 9112, 3.2.2 and 3.2.3).
pub(in crate::browser) fn target<B>(request: &Request<B>) -> Option<(String, u16)> {
    let uri = request.uri();
    let port = match (request.method(), uri.scheme_str()) {
        (&Method::CONNECT, None) => uri.port_u16()?,
        (&Method::CONNECT, _) => return None,
        (_, Some("http")) => uri.port_u16().unwrap_or(80),
        _ => return None,
    };
    Some((uri.host()?.to_owned(), port))
}

/// Responds to `CONNECT` (RFC 9110, 9.3.6), then copies bytes between the browser and the server without looking at
/// them.
fn tunnel(request: Request<Incoming>, mut upstream: Upstream, cancel: &CancellationToken) -> Response<Body> {
    let copy = async move {
        if let Ok(browser) = hyper::upgrade::on(request).await {
            // Either side may close its connection at any time; the other side notices.
            let mut browser = TokioIo::new(browser);
            let copied = copy_bidirectional(&mut browser, &mut upstream.stream);
            upstream.host.activity.closed.run_until_cancelled(copied).await;
        }
        drop(upstream); // else the task would capture only the fields above, and the permits would be returned early
    };
    tokio::spawn(cancel.clone().run_until_cancelled_owned(copy));
    empty(StatusCode::OK)
}

/// Forwards an `http` request over a connection of its own. Few pages are served without TLS, so pooling connections
/// would save little.
async fn forward(
    mut request: Request<Incoming>,
    Upstream { stream, _page: page, host }: Upstream,
    cancel: &CancellationToken,
) -> Result<Response<Body>, ConnectError> {
    let mut client = hyper::client::conn::http1::Builder::new();
    let handshake = client.preserve_header_case(true).handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|_| ConnectError::Unreachable)?;
    let drive = async move {
        host.activity.closed.run_until_cancelled(connection).await; // an error shows in the response's body
        drop((page, host));
    };
    tokio::spawn(cancel.clone().run_until_cancelled_owned(drive));

    to_origin_form(&mut request)?;
    let mut response = sender.send_request(request).await.map_err(|_| ConnectError::Unreachable)?;
    remove_hop_by_hop(response.headers_mut());
    // The browser would take a server's 407 for the proxy's, and discard the password.
    if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
    Ok(response.map(BodyExt::boxed))
}

/// Changes the absolute form `GET http://host/path` to the origin form `GET /path` with `Host: host` (RFC 9112, 3.2).
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

/// Removes the headers that apply to a single connection (RFC 9110, 7.6.1), among them the proxy's password. hyper
/// frames the body again.
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

/// Asks for credentials (RFC 9110, 15.5.8).
fn challenge() -> Response<Body> {
    let mut response = empty(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
    response.headers_mut().insert(PROXY_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"page\""));
    response
}

fn empty_page() -> Response<Body> {
    let mut response = empty(StatusCode::OK);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}
