//! Accepts the connections of the browser, as long as its page is open.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connector::Connector;
use super::credentials::{Credentials, random_password};
use super::failures::ConnectFailures;
use super::handler::{Handler, handle};
use super::local_files::LocalFiles;
use super::traffic_budget::TrafficBudget;
use crate::browser::limits::PageLimits;

/// A running proxy. Dropping it closes its listener and all connections.
pub(in crate::browser) struct Proxy {
    /// The password that it requires.
    pub password: String,
    /// The bytes that the page may still transfer.
    pub budget: Arc<TrafficBudget>,
    /// Why hosts could not be connected to.
    pub failures: Arc<ConnectFailures>,
    _cancel: DropGuard,
}

impl Proxy {
    /// Serves the connections to `listener`, until dropped. `files` are those of a page that is a local file.
    pub(in crate::browser) fn start(
        listener: std::net::TcpListener,
        connector: Connector,
        files: Option<LocalFiles>,
        limits: &PageLimits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let password = random_password()?;
        let budget = Arc::new(TrafficBudget::new(limits.traffic));
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
        // The errors are of a single connection or of too many open files: both are temporary.
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
    // The browser notices an error of its connection by itself.
    let _ = connection.with_upgrades().await;
}
