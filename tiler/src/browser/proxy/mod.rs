//! The proxy that a page's whole traffic goes through: HTTP/1.1 with `CONNECT` for what is encrypted and for `WebSocket`s.
//! It lives as long as its page, answers nobody who does not know its password, and reaches the world only through the
//! [`connector`].
//!
//! It gives no reasons to the page: what cannot be had is an empty answer. The reasons go into the [`traffic_budget`].

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, UPGRADE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(super) mod connector;
pub(super) mod local_files;
#[cfg(test)]
mod tests;
pub(super) mod traffic_budget;

use connector::{Closed, Gate};
use local_files::Folder;
use traffic_budget::{Ledger, Metered};

use super::limits::PageLimits;

/// A running proxy. Dropped, it closes its listener and all connections.
pub(super) struct Proxy {
    pub password: String,
    pub ledger: Arc<Ledger>,
    _running: DropGuard,
}

/// The name under which the page's browser logs in.
pub(super) const USER: &str = "page";

/// A host that does not exist and that the proxy itself answers for, with an empty page: a browser that is sent there
/// first logs in, and is not asked again.
pub(super) const DOOR: &str = "door.invalid";

/// What every connection of a proxy shares.
struct Shared {
    gate: Gate,
    /// Where the page lies, if it is a file.
    folder: Option<Folder>,
    ledger: Arc<Ledger>,
    /// What `Proxy-Authorization` must say.
    credentials: HeaderValue,
    /// Ends everything.
    over: CancellationToken,
    /// One place for each connection out.
    places: Arc<Semaphore>,
}

type Body = BoxBody<Bytes, hyper::Error>;

impl Proxy {
    /// Serves whoever comes to `listener`, until dropped.
    pub(super) fn start(
        listener: std::net::TcpListener,
        gate: Gate,
        folder: Option<Folder>,
        limits: &PageLimits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let password = password()?;
        let credentials = format!("Basic {}", BASE64_STANDARD.encode(format!("{USER}:{password}")));
        let ledger = Arc::new(Ledger::new(limits.traffic));
        let over = CancellationToken::new();
        let shared = Shared {
            gate,
            folder,
            ledger: Arc::clone(&ledger),
            credentials: HeaderValue::try_from(credentials).map_err(io::Error::other)?,
            over: over.clone(),
            places: Arc::new(Semaphore::new(limits.connections)),
        };
        tokio::spawn(over.clone().run_until_cancelled_owned(accept(listener, Arc::new(shared))));
        Ok(Self { password, ledger, _running: over.drop_guard() })
    }
}

/// 128 random bits in hexadecimal.
fn password() -> io::Result<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bits)))
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        // An error is of one connection, or of too many open files: both pass.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            continue;
        };
        let over = shared.over.clone();
        tokio::spawn(over.run_until_cancelled_owned(serve(stream, Arc::clone(&shared))));
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(request, shared).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    let connection = server.preserve_header_case(true).serve_connection(TokioIo::new(stream), service);
    // Whatever breaks, the browser sees it.
    let _ = connection.with_upgrades().await;
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Response<Body> {
    if request.headers().get(PROXY_AUTHORIZATION) != Some(&shared.credentials) {
        let mut response = empty(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
        response.headers_mut().insert(PROXY_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"page\""));
        return response;
    }
    let Some((host, port)) = target(&request) else { return empty(StatusCode::BAD_REQUEST) };
    if host == DOOR {
        return empty_page();
    }
    if let (Some(folder), local_files::HOST, &Method::GET) = (&shared.folder, host.as_str(), request.method())
    {
        return folder.answer(request.uri().path()).await;
    }
    let answered = if request.method() == Method::CONNECT {
        tunnel(request, &host, port, &shared).await
    } else {
        forward(request, &host, port, &shared).await
    };
    shared.ledger.note(&host, port, answered.as_ref().err().copied());
    answered.unwrap_or_else(|closed| {
        empty(match closed {
            Closed::Refused => StatusCode::FORBIDDEN,
            Closed::Unresolved | Closed::Unreachable => StatusCode::BAD_GATEWAY,
        })
    })
}

/// The host and port that a request is for: `CONNECT host:port`, or an absolute URL with `http`.
fn target(request: &Request<Incoming>) -> Option<(String, u16)> {
    let uri = request.uri();
    let port = match (request.method(), uri.scheme_str()) {
        (&Method::CONNECT, None) => uri.port_u16()?,
        (&Method::CONNECT, _) => return None,
        (_, Some("http")) => uri.port_u16().unwrap_or(80),
        _ => return None,
    };
    Some((uri.host()?.to_owned(), port))
}

/// Connects the browser with the host and looks no further.
async fn tunnel(
    request: Request<Incoming>,
    host: &str,
    port: u16,
    shared: &Arc<Shared>,
) -> Result<Response<Body>, Closed> {
    let place = Arc::clone(&shared.places).acquire_owned().await.map_err(|_| Closed::Unreachable)?;
    let stream = shared.gate.connect(host, port).await?;
    let mut out = Metered::new(stream, Arc::clone(&shared.ledger));
    let carry = async move {
        if let Ok(browser) = hyper::upgrade::on(request).await {
            // Either side may break off at any time; the other one then sees it.
            let _ = copy_bidirectional(&mut TokioIo::new(browser), &mut out).await;
        }
        drop(place);
    };
    tokio::spawn(shared.over.clone().run_until_cancelled_owned(carry));
    Ok(empty(StatusCode::OK))
}

/// Passes one plain request on, over a connection of its own. Pages that are served in the clear are few; keeping
/// connections would save each of them a handshake and cost us a pool.
async fn forward(
    mut request: Request<Incoming>,
    host: &str,
    port: u16,
    shared: &Arc<Shared>,
) -> Result<Response<Body>, Closed> {
    let place = Arc::clone(&shared.places).acquire_owned().await.map_err(|_| Closed::Unreachable)?;
    let stream = shared.gate.connect(host, port).await?;
    let out = TokioIo::new(Metered::new(stream, Arc::clone(&shared.ledger)));
    let mut client = hyper::client::conn::http1::Builder::new();
    let (mut sender, connection) =
        client.preserve_header_case(true).handshake(out).await.map_err(|_| Closed::Unreachable)?;
    let carry = async move {
        let _ = connection.await; // a break shows in the answer's body
        drop(place);
    };
    tokio::spawn(shared.over.clone().run_until_cancelled_owned(carry));

    to_origin_form(&mut request)?;
    let mut response = sender.send_request(request).await.map_err(|_| Closed::Unreachable)?;
    remove_hop_by_hop(response.headers_mut());
    // The browser would take it for ours, and forget the password.
    if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
    Ok(response.map(BodyExt::boxed))
}

/// From `GET http://host/path` to `GET /path` with `Host: host` (RFC 9112, 3.2).
fn to_origin_form(request: &mut Request<Incoming>) -> Result<(), Closed> {
    let uri = request.uri();
    let host = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let path: Uri = path.parse().map_err(|_| Closed::Unreachable)?;
    *request.uri_mut() = path;
    remove_hop_by_hop(request.headers_mut());
    request.headers_mut().insert(HOST, host.ok_or(Closed::Unreachable)?);
    Ok(())
}

/// Takes out what is between two neighbours only (RFC 9110, 7.6.1), our password among it. How a body is framed is
/// hyper's to say anew.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let proxy_connection = HeaderName::from_static("proxy-connection");
    let keep_alive = HeaderName::from_static("keep-alive");
    let ours = [
        CONNECTION,
        PROXY_AUTHORIZATION,
        PROXY_AUTHENTICATE,
        TE,
        TRAILER,
        UPGRADE,
        proxy_connection,
        keep_alive,
    ];
    for name in named.into_iter().chain(ours) {
        headers.remove(name);
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}

fn empty_page() -> Response<Body> {
    let mut response = empty(StatusCode::OK);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}
