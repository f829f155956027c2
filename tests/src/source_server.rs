//! An HTTP server in place of the web, on 127.0.0.1 and 127.0.0.2. It can be slow, close connections early, redirect or
//! answer 404, be held, and counts requests. The second address stands for a private network.

use std::collections::HashMap;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use bytes::Bytes;
use futures::StreamExt;

use crate::gate::{self, Gate, Passed};

/// A source, and the way in which it is served.
#[derive(Clone, Debug)]
pub struct Source {
    media_type: &'static str,
    body: Bytes,
    location: Option<String>,
    chunk: usize,
    pause: Duration,
    sent: usize,
    /// Number of 503 responses before all others.
    unavailable: usize,
    /// Lengths after which the next responses break off, in turn.
    cuts: Vec<usize>,
    /// Bytes per second.
    rate: Option<f64>,
    held: Option<Passed>,
}

/// A running server. It runs until the process ends.
#[derive(Clone)]
pub struct SourceServer {
    port: u16,
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Default)]
struct Shelf {
    sources: HashMap<String, Source>,
    hits: HashMap<String, usize>,
    /// Time at which the last complete response ended.
    sent: HashMap<String, Instant>,
}

impl Source {
    /// Returns a file with this media type.
    pub fn file(media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let sent = body.len();
        Self {
            media_type,
            body,
            location: None,
            chunk: usize::MAX,
            pause: Duration::ZERO,
            sent,
            unavailable: 0,
            cuts: vec![],
            rate: None,
            held: None,
        }
    }

    /// Returns a redirect.
    #[must_use]
    pub fn redirect(location: &str) -> Self {
        Self { location: Some(location.to_owned()), ..Self::file("text/plain", "") }
    }

    /// Sends the file over about this time, in about this number of pieces.
    #[must_use]
    pub fn over(self, time: Duration, pieces: u32) -> Self {
        Self { chunk: self.body.len().div_ceil(pieces as usize).max(1), pause: time / pieces, ..self }
    }

    /// Sends the file in about this number of parts, each when the gate lets it pass. So does a request with the query
    /// `pass`, for scripts.
    #[must_use]
    pub fn held(self, parts: usize) -> (Self, Gate) {
        let (gate, passed) = Gate::closed();
        (Self { chunk: self.body.len().div_ceil(parts).max(1), held: Some(passed), ..self }, gate)
    }

    /// Sends the file at a rate.
    #[must_use]
    pub fn at(self, bytes_per_second: f64) -> Self {
        Self { chunk: 64 << 10, rate: Some(bytes_per_second), ..self }
    }

    /// Closes the connection early.
    #[must_use]
    pub fn broken_off_after(self, bytes: usize) -> Self {
        Self { sent: bytes, ..self }
    }

    /// Answers the first requests with 503 and a long `Retry-After`.
    #[must_use]
    pub fn unavailable(self, times: usize) -> Self {
        Self { unavailable: times, ..self }
    }

    /// Closes the connection early at these offsets of the file, one response after the other; later responses are
    /// complete. Serves ranges, so a client can resume.
    #[must_use]
    pub fn cut_at(self, cuts: &[usize]) -> Self {
        Self { cuts: cuts.to_vec(), ..self }
    }

    /// Serves ranges, so a client can resume.
    #[must_use]
    pub fn with_ranges(self) -> Self {
        Self { cuts: vec![self.body.len()], ..self }
    }

    /// Returns the response to the request with this number, for all bytes from `from` on.
    fn response(mut self, number: usize, from: Option<usize>, on_end: OnEnd) -> Response<Body> {
        let Some(number) = number.checked_sub(self.unavailable) else {
            return Response::builder()
                .status(StatusCode::SERVICE_UNAVAILABLE)
                .header(header::RETRY_AFTER, 3600)
                .body(Body::empty())
                .unwrap_or_default();
        };
        let has_ranges = !self.cuts.is_empty();
        self.sent = self.cuts.get(number).copied().unwrap_or(self.sent);
        let whole = self.body.len();
        let from = from.filter(|from| has_ranges && *from < self.sent);
        self.body = self.body.slice(from.unwrap_or(0)..);
        self.sent -= from.unwrap_or(0);
        let mut response = self.body_from_here(on_end);
        let headers = response.headers_mut();
        if has_ranges {
            headers.insert(header::ETAG, header::HeaderValue::from_static(TAG));
        }
        if let Some(from) = from
            && let Ok(range) = format!("bytes {from}-{}/{whole}", whole - 1).parse()
        {
            headers.insert(header::CONTENT_RANGE, range);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        }
        response
    }

    fn body_from_here(self, on_end: OnEnd) -> Response<Body> {
        let length = self.body.len();
        let whole = self.sent == length;
        let sent = self.body.slice(..self.sent);
        let (pause, rate, total, begun) = (self.pause, self.rate, sent.len(), Instant::now());
        let state = (sent, Some(on_end).filter(|_| whole), self.held, 0);
        let pieces =
            futures::stream::unfold(state, move |(mut rest, mut on_end, held, mut part)| async move {
                if rest.is_empty() {
                    return None;
                }
                tokio::time::sleep(pause).await;
                let passes = match &held {
                    Some(passed) => gate::may_pass(passed, part).await,
                    None => true,
                };
                part += usize::from(passes);
                let piece = rest.split_to(if passes { self.chunk.min(rest.len()) } else { 1 });
                if let Some(rate) = rate {
                    let due = Duration::from_secs_f64((total - rest.len()) as f64 / rate);
                    tokio::time::sleep_until((begun + due).into()).await;
                }
                if let Some(on_end) = on_end.take_if(|_| rest.is_empty()) {
                    on_end();
                }
                Some((Ok(piece), (rest, on_end, held, part)))
            });
        let end = futures::stream::iter((!whole).then(|| Err(std::io::Error::other("broken off"))));
        let mut response = Response::new(Body::from_stream(pieces.chain(end)));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(self.media_type));
        headers.insert(header::CONTENT_LENGTH, length.into());
        if let Some(location) = self.location.and_then(|location| location.parse().ok()) {
            headers.insert(header::LOCATION, location);
            *response.status_mut() = StatusCode::FOUND;
        }
        response
    }
}

/// Callback for the last byte of a complete response.
type OnEnd = Box<dyn FnOnce() + Send>;

/// Entity tag of all sources with ranges: they do not change.
const TAG: &str = "\"same\"";

impl SourceServer {
    /// Starts a server on a free port.
    ///
    /// # Errors
    /// The addresses are not available.
    pub fn start() -> Result<Self> {
        let port = xtask::dev::free_port(0)?;
        let first = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 1), port))?;
        let second = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port))?;
        let shelf = Arc::default();
        let router =
            Router::new().route("/{*path}", axum::routing::get(answer)).with_state(Arc::clone(&shelf));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime
                .block_on(async { futures::try_join!(serve(first, router.clone()), serve(second, router)) })
        });
        Ok(Self { port, shelf })
    }

    /// Serves a source and returns its unique URL.
    pub fn serve(&self, name: &str, source: Source) -> String {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let path = format!("{}/{name}", shelf.sources.len());
        let url = self.url(&path);
        shelf.sources.insert(path, source);
        url
    }

    /// Serves a source at this URL from now on.
    pub fn put(&self, url: &str, source: Source) {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.sources.insert(path_of(url).to_owned(), source);
    }

    /// Returns the URL of a path, served or not.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Returns the same URL at the address of the private network.
    #[must_use]
    pub fn forbidden(&self, url: &str) -> String {
        url.replace("//127.0.0.1:", "//127.0.0.2:")
    }

    /// Returns the time at which the last complete response ended.
    #[must_use]
    pub fn sent_at(&self, url: &str) -> Option<Instant> {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.sent.get(path_of(url)).copied()
    }

    /// Returns the number of requests for a URL, at any address.
    #[must_use]
    pub fn hits(&self, url: &str) -> usize {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.hits.get(path_of(url)).copied().unwrap_or(0)
    }
}

fn path_of(url: &str) -> &str {
    url.splitn(4, '/').nth(3).unwrap_or_default()
}

async fn serve(listener: TcpListener, router: Router) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await
}

async fn answer(
    State(shelf): State<Arc<Mutex<Shelf>>>,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response<Body> {
    let (source, number) = {
        let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
        if query.as_deref() == Some("pass")
            && let Some(passed) = shelf.sources.get(&path).and_then(|source| source.held.as_ref())
        {
            gate::pass(passed);
            return Response::default();
        }
        let hits = shelf.hits.entry(path.clone()).or_default();
        *hits += 1;
        let number = *hits - 1;
        (shelf.sources.get(&path).cloned(), number)
    };
    let on_end: OnEnd = Box::new(move || {
        shelf.lock().unwrap_or_else(PoisonError::into_inner).sent.insert(path, Instant::now());
    });
    let value = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let from = value(header::RANGE)
        .filter(|_| value(header::IF_RANGE) == Some(TAG))
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    source.map_or_else(
        || {
            let mut response = Response::new(Body::from("Not found"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        },
        |source| source.response(number, from, on_end),
    )
}
