//! Tests downloads from servers that misbehave. They are plain TCP servers on loopback, so a test defines every byte of
//! their responses. `resume` tests resumed downloads, `denied` the operator's restrictions.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in test functions, but not in their helpers

mod as_sent;
mod courtesy;
mod credentials;
mod denied;
mod resume;

use std::collections::HashMap;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use edgezoom_content::address::RefusedAddress;
use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_tiler::bot::BotSettings;
use edgezoom_tiler::fetch::resolver::Resolver;
use edgezoom_tiler::fetch::{FetchError, Fetched, Fetcher};
use edgezoom_tiler::limits::Limits;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server with one behaviour per path. It records its connections and requests.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Behaviour of a server after it has read a request.
#[derive(Clone)]
enum Behaviour {
    /// Sends these bytes and closes the connection.
    Send(Vec<u8>),
    /// Sends these bytes and leaves the connection open.
    SendAndStall(Vec<u8>),
    /// Sends a byte after each pause, forever.
    Drip(Duration),
    /// Closes the first connection at once; sends these bytes on later ones.
    CloseOnce(Vec<u8>),
    /// Sends one of these responses per request and closes the connection. Repeats the last one.
    InTurn(Vec<Vec<u8>>),
}

impl Server {
    async fn on(ip: Ipv4Addr, port: u16, behaviours: &[(&str, Behaviour)]) -> io::Result<Self> {
        let listener = TcpListener::bind((ip, port)).await?;
        let address = listener.local_addr()?;
        let behaviours: Arc<HashMap<String, Behaviour>> = Arc::new(
            behaviours.iter().map(|(path, behaviour)| ((*path).to_owned(), behaviour.clone())).collect(),
        );
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::new(vec![]));
        let (counter, heads) = (Arc::clone(&connections), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = counter.fetch_add(1, SeqCst);
                tokio::spawn(serve(stream, number, Arc::clone(&behaviours), Arc::clone(&heads)));
            }
        });
        Ok(Self { address, connections, requests })
    }

    async fn new(behaviours: &[(&str, Behaviour)]) -> Self {
        Self::on(Ipv4Addr::LOCALHOST, 0, behaviours).await.unwrap()
    }

    fn url(&self, path: &str) -> SourceUrl {
        SourceUrl::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    fn named(&self, name: &str, path: &str) -> SourceUrl {
        SourceUrl::parse(&format!("http://{name}:{}{path}", self.address.port())).unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    number: usize,
    behaviours: Arc<HashMap<String, Behaviour>>,
    heads: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let turn = {
        let mut heads = heads.lock().unwrap();
        heads.push(head);
        heads.iter().filter(|head| head.split(' ').nth(1) == Some(&path)).count() - 1
    };
    match behaviours.get(&path) {
        Some(Behaviour::Send(bytes)) => stream.write_all(bytes).await,
        Some(Behaviour::SendAndStall(bytes)) => {
            stream.write_all(bytes).await?;
            std::future::pending().await
        }
        Some(Behaviour::Drip(pause)) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            loop {
                stream.write_all(b".").await?;
                tokio::time::sleep(*pause).await;
            }
        }
        Some(Behaviour::InTurn(turns)) => stream.write_all(&turns[turn.min(turns.len() - 1)]).await,
        Some(Behaviour::CloseOnce(_)) if number == 0 => Ok(()),
        Some(Behaviour::CloseOnce(bytes)) => stream.write_all(bytes).await,
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await,
    }
}

fn ok(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{head}\r\n{body}").into_bytes()
}

fn redirect(to: &str) -> Behaviour {
    Behaviour::Send(redirecting(to))
}

fn redirecting(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into_bytes()
}

/// A resolver with fixed names. A name with several addresses resolves to the next one each time.
struct Names(Mutex<HashMap<&'static str, Vec<IpAddr>>>);

impl Names {
    fn of(names: &[(&'static str, &[&str])]) -> Arc<Self> {
        let addresses = |texts: &[&str]| texts.iter().rev().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(names.iter().map(|(name, texts)| (*name, addresses(texts))).collect())))
    }
}

impl Resolver for Names {
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut names = self.0.lock().unwrap();
        let answer = match names.get_mut(host.as_str()) {
            Some(addresses) if addresses.len() > 1 => Ok(addresses.pop().into_iter().collect()),
            Some(addresses) => Ok(addresses.clone()),
            None => Err(io::Error::other("unknown host")),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// Small size limits, and the default time limits, because a busy machine is slow.
fn limits() -> Limits {
    Limits { source_bytes: 1000, ..Limits::default() }
}

fn fetcher(allowed: &str, names: Arc<Names>) -> Fetcher {
    fetcher_within(limits(), allowed, names)
}

fn fetcher_within(limits: Limits, allowed: &str, names: Arc<Names>) -> Fetcher {
    let policy = AddressPolicy::allowing(allowed).unwrap();
    Fetcher::with_resolver(policy, limits, std::env::temp_dir(), BotSettings::default(), names).unwrap()
}

async fn fetch(source: &SourceUrl) -> Result<Fetched, FetchError> {
    fetcher("127.0.0.0/8", Names::of(&[])).fetch(source, |_| ()).await
}

#[tokio::test]
async fn a_source_is_downloaded_completely_with_progress() {
    let body = "pixels".repeat(100);
    let server = Server::new(&[
        ("/known", Behaviour::Send(ok("Content-Length: 600\r\nContent-Type: image/x-odd\r\n", &body))),
        ("/unknown", Behaviour::Send(ok("", &body))),
    ])
    .await;
    for (path, announced, content_type) in
        [("/known", Some(600), Some("image/x-odd")), ("/unknown", None, None)]
    {
        let mut seen = vec![];
        let source = server.url(path);
        let mut fetched = fetcher("127.0.0.1/32", Names::of(&[]))
            .fetch(&source, |arrival| seen.push((arrival.bytes, arrival.announced)))
            .await
            .unwrap();
        let mut text = String::new();
        fetched.file.read_to_string(&mut text).unwrap();
        assert_eq!(text, body);
        assert_eq!(fetched.length, 600);
        assert_eq!(fetched.url, source);
        assert_eq!(fetched.content_type.as_deref(), content_type);
        assert!(seen.contains(&(600, announced)), "{seen:?}");
    }
}

#[tokio::test]
async fn requests_have_our_user_agent_and_no_other_identifying_headers() {
    let server = Server::new(&[("/", Behaviour::Send(ok("", "")))]).await;
    fetch(&server.url("/")).await.unwrap();
    let head = server.requests.lock().unwrap()[0].to_lowercase();
    assert!(head.contains("user-agent: edgezoom/"), "{head}");
    assert!(head.contains("accept: image/jpeg,"), "{head}");
    assert!(head.contains("accept-encoding: identity"), "{head}");
    for header in ["cookie", "referer", "authorization"] {
        assert!(!head.contains(header), "{head}");
    }
}

#[tokio::test]
async fn redirects_are_followed_and_the_final_url_is_returned() {
    let server = Server::new(&[
        ("/1", redirect("/2")),
        ("/2", redirect("3")),
        ("/3", Behaviour::Send(ok("", "here"))),
    ])
    .await;
    assert_eq!(fetch(&server.url("/1")).await.unwrap().url, server.url("/3"));
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused_before_connecting() {
    let inner = Server::on(Ipv4Addr::new(127, 0, 0, 9), 0, &[("/", Behaviour::Send(ok("", "secret")))])
        .await
        .unwrap();
    let outer = Server::new(&[("/", redirect(inner.url("/").as_str()))]).await;
    let refused = fetcher("127.0.0.1/32", Names::of(&[])).fetch(&outer.url("/"), |_| ()).await;
    assert!(matches!(refused, Err(FetchError::Refused(_))), "{refused:?}");
    assert_eq!(inner.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn a_name_with_a_private_address_is_refused() {
    let server = Server::new(&[("/", Behaviour::Send(ok("", "secret")))]).await;
    let names = Names::of(&[("pictures.example", &["127.0.0.1"])]);
    let refused = fetcher("", names).fetch(&server.named("pictures.example", "/"), |_| ()).await;
    assert!(matches!(refused, Err(FetchError::Refused(_))), "{refused:?}");
    assert_eq!(server.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn dns_rebinding_to_a_private_address_is_refused() {
    // Both servers listen on the same port, as in an attack by DNS rebinding.
    let outer =
        Server::new(&[("/", redirect("/again")), ("/again", Behaviour::Send(ok("", "public")))]).await;
    let inner = Server::on(
        Ipv4Addr::new(127, 0, 0, 9),
        outer.address.port(),
        &[("/", Behaviour::Send(ok("", "secret"))), ("/again", Behaviour::Send(ok("", "secret")))],
    )
    .await
    .unwrap();
    let names = Names::of(&[("rebinding.example", &["127.0.0.1", "127.0.0.9"])]);
    let refused = fetcher("127.0.0.1/32", names).fetch(&outer.named("rebinding.example", "/"), |_| ()).await;
    assert!(matches!(refused, Err(FetchError::Refused(_))), "{refused:?}");
    assert_eq!(outer.connections.load(SeqCst), 1);
    assert_eq!(inner.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn redirects_are_limited() {
    let server =
        Server::new(&[("/loop", redirect("/loop")), ("/file", redirect("file:///etc/passwd"))]).await;
    let looped = fetch(&server.url("/loop")).await;
    assert!(matches!(looped, Err(FetchError::TooManyRedirects(5))), "{looped:?}");
    assert_eq!(server.connections.load(SeqCst), 6);
    let file = fetch(&server.url("/file")).await;
    assert!(matches!(file, Err(FetchError::RedirectRefused(_))), "{file:?}");
}

#[tokio::test]
async fn a_source_above_the_size_limit_is_refused_with_or_without_content_length() {
    let server = Server::new(&[
        ("/announced", Behaviour::SendAndStall(ok("Content-Length: 1001\r\n", ""))),
        ("/endless", Behaviour::SendAndStall(ok("", &"x".repeat(1001)))),
        ("/just", Behaviour::Send(ok("", &"x".repeat(1000)))),
    ])
    .await;
    for path in ["/announced", "/endless"] {
        let refused = fetch(&server.url(path)).await;
        assert!(matches!(refused, Err(FetchError::TooLarge(1000))), "{path}: {refused:?}");
    }
    assert_eq!(fetch(&server.url("/just")).await.unwrap().length, 1000);
}

#[tokio::test]
async fn a_server_that_stops_sending_times_out() {
    let server = Server::new(&[
        ("/mute", Behaviour::SendAndStall(vec![])),
        ("/stalls", Behaviour::SendAndStall(ok("Content-Length: 10\r\n", "abc"))),
        ("/drips", Behaviour::Drip(Duration::from_millis(50))),
    ])
    .await;
    let within = |limits| fetcher_within(limits, "127.0.0.0/8", Names::of(&[]));
    let stall = within(Limits { stall: Duration::from_millis(200), ..limits() });
    let download = within(Limits { download: Duration::from_secs(1), ..limits() });
    let start = Instant::now();
    for path in ["/mute", "/stalls"] {
        let result = stall.fetch(&server.url(path), |_| ()).await;
        assert!(matches!(result, Err(FetchError::Stalled(_))), "{path}: {result:?}");
    }
    let result = download.fetch(&server.url("/drips"), |_| ()).await;
    assert!(matches!(result, Err(FetchError::TookTooLong(_))), "{result:?}");
    assert!(start.elapsed() < Limits::default().stall, "other limits hold than those that were given");
}

#[tokio::test]
async fn a_truncated_body_is_an_error() {
    let server = Server::new(&[
        ("/short", Behaviour::Send(ok("Content-Length: 10\r\n", "abc"))),
        ("/chunks", Behaviour::Send(ok("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n"))),
    ])
    .await;
    for path in ["/short", "/chunks"] {
        let broken = fetch(&server.url(path)).await;
        assert!(matches!(broken, Err(FetchError::BrokenOff)), "{path}: {broken:?}");
    }
}

#[tokio::test]
async fn an_error_response_fails_with_its_status() {
    for status in [304, 400, 401, 403, 404, 410, 429, 451, 500, 503] {
        let response = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").into_bytes();
        let server = Server::new(&[("/", Behaviour::Send(response))]).await;
        let response = fetch(&server.url("/")).await;
        assert!(
            matches!(response, Err(FetchError::Answered { status: s, .. }) if s == status),
            "{status}: {response:?}"
        );
    }
}

#[tokio::test]
async fn a_connection_closed_before_the_response_is_tried_again() {
    let server = Server::new(&[("/", Behaviour::CloseOnce(ok("", "here")))]).await;
    assert_eq!(fetch(&server.url("/")).await.unwrap().length, 4);
    assert_eq!(server.connections.load(SeqCst), 2);
}

#[tokio::test]
async fn unreachable_and_unresolved_hosts_are_different_errors() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let unreachable = fetch(&SourceUrl::parse(&format!("http://{closed}/")).unwrap()).await;
    assert!(matches!(unreachable, Err(FetchError::Unreachable)), "{unreachable:?}");
    let unresolved = fetch(&SourceUrl::parse("http://nowhere.example/").unwrap()).await;
    assert!(matches!(unresolved, Err(FetchError::Unresolved)), "{unresolved:?}");
    let plain = Server::new(&[]).await;
    let https = format!("https://{}/", plain.address);
    let insecure = fetch(&SourceUrl::parse(&https).unwrap()).await;
    assert!(matches!(insecure, Err(FetchError::Unreachable | FetchError::ConnectTimedOut)), "{insecure:?}");
}
