//! A proxy between the tilers and everything that they call: sources, store, queue and Worker. It disturbs some
//! requests, and records claims and results, which tell the checks what was accepted how often.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use futures::StreamExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

use super::fault::{Channel, Trouble};

/// A running proxy. It runs until the process ends.
#[derive(Clone)]
pub struct FaultProxy(Arc<Shared>);

struct Shared {
    address: SocketAddr,
    http: reqwest::Client,
    /// Base URL of the source server, whose paths are below `/sources/` here.
    sources: String,
    /// Base URL of the Worker, once it is known.
    edge: OnceLock<String>,
    armed: Mutex<Vec<(Channel, Trouble)>>,
    record: Mutex<Record>,
}

/// A record of the traffic through the proxy.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Number of faults that hit a request.
    pub met: usize,
    /// Attempts whose result was accepted, by content.
    pub finished: BTreeMap<String, BTreeSet<u64>>,
    /// Contents that are alone on their tiler: their last chance.
    alone: HashSet<String>,
}

/// Maximum size of a buffered request or response in bytes.
const LARGEST: usize = 64 << 20;

impl FaultProxy {
    /// Starts a proxy in front of the source server at `sources`.
    ///
    /// # Errors
    /// No port is available.
    pub async fn start(sources: String) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let _ = rustls::crypto::ring::default_provider().install_default(); // fails if one is installed
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_secs(60))
            .build()?;
        let shared = Arc::new(Shared {
            address: listener.local_addr()?,
            http,
            sources,
            edge: OnceLock::new(),
            armed: Mutex::default(),
            record: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&accepting);
                tokio::spawn(async move {
                    let service = service_fn(|request| pass(Arc::clone(&shared), request));
                    // An error is a connection that was broken on purpose.
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Ok(Self(shared))
    }

    /// Returns the port for the tilers.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.address.port()
    }

    /// Returns the URL of a source through the proxy.
    #[must_use]
    pub fn source(&self, url: &str) -> String {
        url.replacen(&self.0.sources, &format!("http://{}/sources", self.0.address), 1)
    }

    /// Sets the Worker's URL. Until then, requests to it fail.
    pub fn set_edge(&self, url: &str) {
        let _ = self.0.edge.set(url.to_owned()); // fails if it is set
    }

    /// Disturbs the next request on a channel.
    pub fn arm(&self, channel: Channel, trouble: Trouble) {
        lock(&self.0.armed).push((channel, trouble));
    }

    /// Removes the armed faults and returns their number.
    #[must_use]
    pub fn disarm(&self) -> usize {
        std::mem::take(&mut *lock(&self.0.armed)).len()
    }

    /// Returns the record so far.
    #[must_use]
    pub fn record(&self) -> Record {
        lock(&self.0.record).clone()
    }

    /// Returns true if a content is alone on its tiler: its last chance.
    #[must_use]
    pub fn is_a_last_chance(&self) -> bool {
        !lock(&self.0.record).alone.is_empty()
    }

    /// Forgets the last chance of a content that has ended, perhaps without its tiler's report.
    pub fn forget_last_chance(&self, id: &str) {
        lock(&self.0.record).alone.remove(id);
    }
}

impl Shared {
    /// Takes the next fault for a channel. Returns none while a content has its last chance: the service would blame
    /// the content.
    fn trouble(&self, channel: Channel) -> Option<Trouble> {
        if !lock(&self.record).alone.is_empty() {
            return None;
        }
        let mut armed = lock(&self.armed);
        let found = armed.iter().position(|(of, _)| *of == channel)?;
        lock(&self.record).met += 1;
        Some(armed.remove(found).1)
    }
}

/// Handles a request. An error breaks the connection.
async fn pass(shared: Arc<Shared>, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let body = axum::body::to_bytes(Body::new(body), LARGEST).await.map_err(io::Error::other)?;
    let channel = channel(&path);
    let trouble = if is_last_claim(&path, &body) { None } else { shared.trouble(channel) };
    match trouble {
        Some(Trouble::NotSent) => return Err(io::ErrorKind::ConnectionReset.into()),
        Some(Trouble::Unavailable) => {
            let mut response = Response::new(Body::from("Service Unavailable"));
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return Ok(response);
        }
        Some(Trouble::Slow(time)) => tokio::time::sleep(time).await,
        Some(Trouble::AnswerLost) | None => {}
    }
    let lost = trouble == Some(Trouble::AnswerLost);
    if channel == Channel::Download {
        return download(&shared, &path, parts.headers, lost).await;
    }
    let edge = shared.edge.get().ok_or(io::ErrorKind::ConnectionRefused)?;
    let (status, headers, answer) =
        call(&shared, format!("{edge}{path}"), (parts.method, parts.headers, body.clone())).await?;
    lock(&shared.record).note(&path, &body, status);
    if lost {
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    Ok(respond(status, headers, Body::from(answer)))
}

/// Returns true for a claim by a tiler without other jobs.
fn is_last_claim(path: &str, body: &[u8]) -> bool {
    let claim: Value = serde_json::from_slice(body).unwrap_or_default();
    path.ends_with("/claim") && claim["alone"] == true
}

fn channel(path: &str) -> Channel {
    match path.split('/').nth(1) {
        Some("sources") => Channel::Download,
        Some("accounts") => Channel::Queue,
        Some("cdn-cgi") => Channel::Store,
        _ => Channel::Report,
    }
}

/// Streams a source. With `cut` the connection breaks after the first half.
async fn download(
    shared: &Shared,
    path: &str,
    mut headers: HeaderMap,
    cut: bool,
) -> io::Result<Response<Body>> {
    let url = path.replacen("/sources", &shared.sources, 1);
    headers.remove(header::HOST);
    let response = shared.http.get(url).headers(headers).send().await.map_err(io::Error::other)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let half = response.content_length().unwrap_or_default() / 2;
    let mut passed = 0;
    let pieces = response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        passed += piece.len() as u64;
        if cut && passed > half { Err(io::Error::from(io::ErrorKind::ConnectionReset)) } else { Ok(piece) }
    });
    Ok(respond(status, headers, Body::from_stream(pieces)))
}

/// Returns the Worker's complete response.
async fn call(
    shared: &Shared,
    url: String,
    (method, headers, body): (Method, HeaderMap, Bytes),
) -> io::Result<(StatusCode, HeaderMap, Bytes)> {
    // Keeps the host header, which a request to the store signs.
    let request = shared.http.request(method, url).headers(headers).body(body);
    let response = request.send().await.map_err(io::Error::other)?;
    let (status, headers) = (response.status(), response.headers().clone());
    Ok((status, headers, response.bytes().await.map_err(io::Error::other)?))
}

fn respond(status: StatusCode, mut headers: HeaderMap, body: Body) -> Response<Body> {
    for of_this_connection in [header::CONNECTION, header::TRANSFER_ENCODING] {
        headers.remove(of_this_connection);
    }
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

impl Record {
    /// Records the response to a claim or report.
    fn note(&mut self, path: &str, body: &[u8], status: StatusCode) {
        let Some((id, call)) = path.strip_prefix("/internal/content/").and_then(|rest| rest.split_once('/'))
        else {
            return;
        };
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let is_accepted = status.is_success();
        match call {
            "claim" if is_accepted && body["alone"] == true => {
                eprintln!("chaos | a tiler has {id} alone");
                self.alone.insert(id.to_owned());
            }
            "claim" if is_accepted => {
                self.alone.remove(id);
            }
            // A report on an earlier attempt is rejected and ends nothing.
            "report" if is_accepted && body["outcome"].get("progress").is_none() => {
                self.alone.remove(id);
                if body["outcome"].get("finished").is_some() {
                    let attempt = body["attempt"].as_u64().unwrap_or_default();
                    self.finished.entry(id.to_owned()).or_default().insert(attempt);
                }
            }
            _ => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_accepted_results_and_last_chances_are_recorded() {
        let mut record = Record::default();
        let mut report = |attempt: u64, outcome: Value, status| {
            let body = json!({ "attempt": attempt, "outcome": outcome }).to_string();
            record.note("/internal/content/a/report", body.as_bytes(), status);
        };
        report(1, json!({ "finished": {} }), StatusCode::CONFLICT);
        report(2, json!({ "progress": {} }), StatusCode::NO_CONTENT);
        report(2, json!({ "finished": {} }), StatusCode::NO_CONTENT);
        report(2, json!({ "finished": {} }), StatusCode::NO_CONTENT);
        assert_eq!(record.finished, BTreeMap::from([("a".to_owned(), BTreeSet::from([2]))]));
        record.note("/internal/content/b/claim", br#"{"tiler":1,"alone":true}"#, StatusCode::OK);
        let mut report = |attempt: u64, status| {
            let body = json!({ "attempt": attempt, "outcome": "handed-back" }).to_string();
            record.note("/internal/content/b/report", body.as_bytes(), status);
            record.alone.contains("b")
        };
        assert!(report(3, StatusCode::CONFLICT), "a rejected report ends nothing");
        assert!(!report(4, StatusCode::OK));
    }
}
