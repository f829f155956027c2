//! The HTTP proxy that carries all traffic of a page. It lives as long as its page, and checks each request of the
//! browser in this order:
//!
//! 1. The password, so that no other process on the machine can use the proxy ([`Credentials`]).
//! 2. The target: forwarded requests for `http`, `CONNECT` tunnels for `https` and WebSockets ([`handler`]).
//! 3. The number of connections of the page, and of all pages to the host ([`host_connections`]).
//! 4. The address policy, for the addresses that it actually connects to ([`connector`]).
//! 5. The traffic budget, for each byte in either direction, and a smaller one for each that is sent ([`traffic_budget`]).
//!
//! A page that is a local file gets the files in its folder from the proxy itself ([`local_files`]). So does a drawing,
//! which gets nothing else.
//!
//! The page is not told why a request was refused or failed: the response is empty. [`connector::ConnectFailures`]
//! records the reason, for the message to the client.

pub(super) mod connector;
mod handler;
pub(super) mod host_connections;
pub(super) mod local_files;
#[cfg(test)]
mod tests;
pub(super) mod traffic_budget;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::limits::PageLimits;
use connector::{ConnectFailures, Connector};
use handler::{Handler, handle};
use local_files::LocalFiles;
use traffic_budget::TrafficBudget;

#[cfg(any(test, fuzzing))]
pub(super) use handler::target;

/// User name of the page's browser.
pub(super) const USERNAME: &str = "page";

/// A host that does not exist (RFC 2606, 2). The proxy serves an empty page for it: the browser navigates there first,
/// authenticates, and then sends its credentials with every request.
pub(super) const LOGIN_HOST: &str = "login.invalid";

/// A running proxy. Dropping it closes its listener and all connections.
pub(super) struct Proxy {
    /// The password that it requires.
    pub password: String,
    /// Bytes that the page may still transfer.
    pub budget: Arc<TrafficBudget>,
    /// Reasons why connections failed.
    pub failures: Arc<ConnectFailures>,
    _cancel: DropGuard,
}

impl Proxy {
    /// Serves the connections to `listener` until dropped. `files` is the folder of a page that is a local file, or a
    /// drawing.
    pub(super) fn start(
        listener: std::net::TcpListener,
        connector: Connector,
        files: Option<LocalFiles>,
        limits: &PageLimits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let password = random_password()?;
        let budget = Arc::new(TrafficBudget::new(limits.traffic, limits.sent));
        let failures = Arc::new(ConnectFailures::default());
        let cancel = CancellationToken::new();
        let handler = Handler {
            connector,
            files,
            budget: Arc::clone(&budget),
            failures: Arc::clone(&failures),
            credentials: Credentials::new(&password)?,
            cancel: cancel.clone(),
            connections: Arc::new(Semaphore::new(limits.connections)),
        };
        tokio::spawn(cancel.clone().run_until_cancelled_owned(accept(listener, Arc::new(handler))));
        Ok(Self { password, budget, failures, _cancel: cancel.drop_guard() })
    }
}

async fn accept(listener: TcpListener, handler: Arc<Handler>) {
    loop {
        // Errors are temporary: they concern a single connection, or too many files are open.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let cancel = handler.cancel.clone();
        tokio::spawn(cancel.run_until_cancelled_owned(serve(stream, Arc::clone(&handler))));
    }
}

async fn serve(stream: TcpStream, handler: Arc<Handler>) {
    let service = service_fn(|request| {
        let handler = Arc::clone(&handler);
        async move { Ok::<_, Infallible>(handle(request, handler).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    let connection = server.preserve_header_case(true).serve_connection(TokioIo::new(stream), service);
    // The browser notices by itself when its connection fails.
    let _ = connection.with_upgrades().await;
}

/// The value that `Proxy-Authorization` must have: Basic authentication (RFC 7617) with a random password.
struct Credentials(HeaderValue);

impl Credentials {
    fn new(password: &str) -> io::Result<Self> {
        let credentials = format!("Basic {}", BASE64_STANDARD.encode(format!("{USERNAME}:{password}")));
        HeaderValue::try_from(credentials).map(Self).map_err(io::Error::other)
    }

    fn match_request(&self, headers: &HeaderMap) -> bool {
        headers.get(PROXY_AUTHORIZATION) == Some(&self.0)
    }
}

/// Returns 128 random bits in hexadecimal.
fn random_password() -> io::Result<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bits)))
}
