//! Handles one request of the browser: checks its credentials, determines its target, and has it served from local
//! files, tunnelled or forwarded.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::body::{Body, empty};
use super::connection_permits::ConnectionPermits;
use super::connector::{ConnectError, Connector};
use super::credentials::{Credentials, LOGIN_HOST, challenge};
use super::failures::ConnectFailures;
use super::local_files::{self, LocalFiles};
use super::traffic_budget::{Metered, TrafficBudget};
use super::{forward, tunnel};

/// What all requests of a page share.
pub(super) struct Handler {
    pub connector: Connector,
    /// The folder of a page that is a local file.
    pub files: Option<LocalFiles>,
    pub budget: Arc<TrafficBudget>,
    pub failures: Arc<ConnectFailures>,
    pub credentials: Credentials,
    /// Cancelled when the page is closed: ends all tasks.
    pub cancel: CancellationToken,
    /// A permit for each upstream connection, returned when it is closed.
    pub connections: Arc<Semaphore>,
}

/// The response to a request of the browser.
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
    let result = match handler.connect(&host, port).await {
        Ok((upstream, permits)) if request.method() == Method::CONNECT => {
            Ok(tunnel::open(request, upstream, permits, &handler.cancel))
        }
        Ok((upstream, permits)) => forward::send(request, upstream, permits, &handler.cancel).await,
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
    /// Connects to `host`, as soon as the numbers of connections of the page and to the host allow it.
    async fn connect(
        &self,
        host: &str,
        port: u16,
    ) -> Result<(Metered<TcpStream>, ConnectionPermits), ConnectError> {
        // The page's own comes first: a page that has all of its connections must not keep a place at a host meanwhile.
        let page = Arc::clone(&self.connections).acquire_owned().await;
        let page = page.map_err(|_| ConnectError::Unreachable)?;
        let (stream, host) = self.connector.connect(host, port).await?;
        let stream = Metered::new(stream, Arc::clone(&self.budget), host.activity());
        Ok((stream, ConnectionPermits { _page: page, host }))
    }
}

/// The host and port of a request: `CONNECT host:port`, or an absolute URL with `http` (RFC 9112, 3.2.2 and 3.2.3).
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

fn empty_page() -> Response<Body> {
    let mut response = empty(StatusCode::OK);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}
