//! The guarded download against hosts that misbehave. They are plain TCP servers on loopback, so that a test says byte by
//! byte what they do.

#![allow(clippy::unwrap_used)] // clippy.toml lets tests, but does not see that their helpers are part of them

use std::collections::HashMap;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_tiler::fetch::lookup::Lookup;
use edgezoom_tiler::fetch::{FetchError, Fetched, Fetcher, Received};
use edgezoom_tiler::limits::Limits;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A host that answers every path as its script says, and counts its connections.
struct Host {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// What a host does once it has read a request.
#[derive(Clone)]
enum Act {
    /// Sends this and closes.
    Send(Vec<u8>),
    /// Sends this and then nothing, without closing.
    SendAndStall(Vec<u8>),
    /// Sends a byte every so often, for good.
    Drip(Duration),
    /// Closes at once the first time, then sends this.
    HangUpOnce(Vec<u8>),
}

impl Host {
    async fn on(ip: Ipv4Addr, port: u16, acts: &[(&str, Act)]) -> io::Result<Self> {
        let listener = TcpListener::bind((ip, port)).await?;
        let address = listener.local_addr()?;
        let acts: Arc<HashMap<String, Act>> =
            Arc::new(acts.iter().map(|(path, act)| ((*path).to_owned(), act.clone())).collect());
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::new(vec![]));
        let (counter, heads) = (Arc::clone(&connections), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = counter.fetch_add(1, SeqCst);
                tokio::spawn(perform(stream, number, Arc::clone(&acts), Arc::clone(&heads)));
            }
        });
        Ok(Self { address, connections, requests })
    }

    async fn new(acts: &[(&str, Act)]) -> Self {
        Self::on(Ipv4Addr::LOCALHOST, 0, acts).await.unwrap()
    }

    fn url(&self, path: &str) -> SourceUrl {
        SourceUrl::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    fn named(&self, name: &str, path: &str) -> SourceUrl {
        SourceUrl::parse(&format!("http://{name}:{}{path}", self.address.port())).unwrap()
    }
}

async fn perform(
    mut stream: TcpStream,
    number: usize,
    acts: Arc<HashMap<String, Act>>,
    heads: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    heads.lock().unwrap().push(head);
    match acts.get(&path) {
        Some(Act::Send(bytes)) => stream.write_all(bytes).await,
        Some(Act::SendAndStall(bytes)) => {
            stream.write_all(bytes).await?;
            std::future::pending().await
        }
        Some(Act::Drip(pause)) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            loop {
                stream.write_all(b".").await?;
                tokio::time::sleep(*pause).await;
            }
        }
        Some(Act::HangUpOnce(_)) if number == 0 => Ok(()),
        Some(Act::HangUpOnce(bytes)) => stream.write_all(bytes).await,
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await,
    }
}

fn ok(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{head}\r\n{body}").into_bytes()
}

fn redirect(to: &str) -> Act {
    Act::Send(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into_bytes())
}

/// Names as the test wants them; a name with several entries gives the next one each time it is asked for.
struct Names(Mutex<HashMap<&'static str, Vec<IpAddr>>>);

impl Names {
    fn of(names: &[(&'static str, &[&str])]) -> Arc<Self> {
        let addresses = |texts: &[&str]| texts.iter().rev().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(names.iter().map(|(name, texts)| (*name, addresses(texts))).collect())))
    }
}

impl Lookup for Names {
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut names = self.0.lock().unwrap();
        let answer = match names.get_mut(host.as_str()) {
            Some(addresses) if addresses.len() > 1 => Ok(addresses.pop().into_iter().collect()),
            Some(addresses) => Ok(addresses.clone()),
            None => Err(io::Error::other("no such host is known")),
        };
        Box::pin(std::future::ready(answer))
    }
}

fn limits() -> Limits {
    Limits {
        source_bytes: 1000,
        connect: Duration::from_millis(500),
        stall: Duration::from_millis(200),
        download: Duration::from_millis(1500),
        ..Limits::default()
    }
}

fn fetcher(allowed: &str, names: Arc<Names>) -> Fetcher {
    let policy = AddressPolicy::allowing(allowed).unwrap();
    Fetcher::with_lookup(policy, limits(), std::env::temp_dir(), names).unwrap()
}

async fn fetch(source: &SourceUrl) -> Result<Fetched, FetchError> {
    fetcher("127.0.0.0/8", Names::of(&[])).fetch(source, |_| ()).await
}

#[tokio::test]
async fn a_source_arrives_whole_with_its_progress() {
    let body = "pixels".repeat(100);
    let host = Host::new(&[
        ("/known", Act::Send(ok("Content-Length: 600\r\nContent-Type: image/x-odd\r\n", &body))),
        ("/unknown", Act::Send(ok("", &body))),
    ])
    .await;
    for (path, announced, content_type) in
        [("/known", Some(600), Some("image/x-odd")), ("/unknown", None, None)]
    {
        let mut seen = vec![];
        let source = host.url(path);
        let mut fetched = fetcher("127.0.0.1/32", Names::of(&[]))
            .fetch(&source, |received| seen.push(received))
            .await
            .unwrap();
        let mut text = String::new();
        fetched.file.read_to_string(&mut text).unwrap();
        assert_eq!(text, body);
        assert_eq!(fetched.length, 600);
        assert_eq!(fetched.url, source);
        assert_eq!(fetched.content_type.as_deref(), content_type);
        assert_eq!(seen.last(), Some(&Received { bytes: 600, announced }));
    }
}

#[tokio::test]
async fn the_host_learns_who_asks_and_nothing_more() {
    let host = Host::new(&[("/", Act::Send(ok("", "")))]).await;
    fetch(&host.url("/")).await.unwrap();
    let head = host.requests.lock().unwrap()[0].to_lowercase();
    assert!(head.contains("user-agent: edgezoom/"), "{head}");
    assert!(head.contains("accept: image/jpeg,"), "{head}");
    assert!(head.contains("accept-encoding: identity"), "{head}");
    for telltale in ["cookie", "referer", "authorization"] {
        assert!(!head.contains(telltale), "{head}");
    }
}

#[tokio::test]
async fn redirects_are_followed_and_the_last_url_is_told() {
    let host =
        Host::new(&[("/1", redirect("/2")), ("/2", redirect("3")), ("/3", Act::Send(ok("", "here")))]).await;
    assert_eq!(fetch(&host.url("/1")).await.unwrap().url, host.url("/3"));
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused_before_anything_is_sent_there() {
    let inner =
        Host::on(Ipv4Addr::new(127, 0, 0, 9), 0, &[("/", Act::Send(ok("", "secret")))]).await.unwrap();
    let outer = Host::new(&[("/", redirect(inner.url("/").as_str()))]).await;
    let refused = fetcher("127.0.0.1/32", Names::of(&[])).fetch(&outer.url("/"), |_| ()).await;
    assert!(matches!(refused, Err(FetchError::Refused)), "{refused:?}");
    assert_eq!(inner.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn a_name_with_a_private_address_is_refused() {
    let host = Host::new(&[("/", Act::Send(ok("", "secret")))]).await;
    let names = Names::of(&[("pictures.example", &["127.0.0.1"])]);
    let refused = fetcher("", names).fetch(&host.named("pictures.example", "/"), |_| ()).await;
    assert!(matches!(refused, Err(FetchError::Refused)), "{refused:?}");
    assert_eq!(host.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn a_name_that_turns_private_between_two_look_ups_gains_nothing() {
    // The permitted address and the forbidden one offer the same port, as an attacker's rebinding name would have it.
    let outer = Host::new(&[("/", redirect("/again")), ("/again", Act::Send(ok("", "public")))]).await;
    let inner = Host::on(
        Ipv4Addr::new(127, 0, 0, 9),
        outer.address.port(),
        &[("/", Act::Send(ok("", "secret"))), ("/again", Act::Send(ok("", "secret")))],
    )
    .await
    .unwrap();
    let names = Names::of(&[("rebinding.example", &["127.0.0.1", "127.0.0.9"])]);
    let refused = fetcher("127.0.0.1/32", names).fetch(&outer.named("rebinding.example", "/"), |_| ()).await;
    assert!(matches!(refused, Err(FetchError::Refused)), "{refused:?}");
    assert_eq!(outer.connections.load(SeqCst), 1);
    assert_eq!(inner.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn redirects_end_somewhere() {
    let host = Host::new(&[("/loop", redirect("/loop")), ("/file", redirect("file:///etc/passwd"))]).await;
    let looped = fetch(&host.url("/loop")).await;
    assert!(matches!(looped, Err(FetchError::TooManyRedirects(5))), "{looped:?}");
    assert_eq!(host.connections.load(SeqCst), 6);
    let file = fetch(&host.url("/file")).await;
    assert!(matches!(file, Err(FetchError::RedirectRefused(_))), "{file:?}");
}

#[tokio::test]
async fn a_source_above_the_limit_is_refused_announced_or_not() {
    let host = Host::new(&[
        ("/announced", Act::SendAndStall(ok("Content-Length: 1001\r\n", ""))),
        ("/endless", Act::SendAndStall(ok("", &"x".repeat(1001)))),
        ("/just", Act::Send(ok("", &"x".repeat(1000)))),
    ])
    .await;
    for path in ["/announced", "/endless"] {
        let refused = fetch(&host.url(path)).await;
        assert!(matches!(refused, Err(FetchError::TooLarge(1000))), "{path}: {refused:?}");
    }
    assert_eq!(fetch(&host.url("/just")).await.unwrap().length, 1000);
}

#[tokio::test]
async fn a_host_that_falls_silent_is_left() {
    let host = Host::new(&[
        ("/mute", Act::SendAndStall(vec![])),
        ("/stalls", Act::SendAndStall(ok("Content-Length: 10\r\n", "abc"))),
        ("/drips", Act::Drip(Duration::from_millis(50))),
    ])
    .await;
    let started = Instant::now();
    for path in ["/mute", "/stalls"] {
        let left = fetch(&host.url(path)).await;
        assert!(matches!(left, Err(FetchError::Stalled(_))), "{path}: {left:?}");
    }
    let left = fetch(&host.url("/drips")).await;
    assert!(matches!(left, Err(FetchError::TookTooLong(_))), "{left:?}");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_truncated_source_is_not_taken_for_a_whole_one() {
    let host = Host::new(&[
        ("/short", Act::Send(ok("Content-Length: 10\r\n", "abc"))),
        ("/chunks", Act::Send(ok("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n"))),
    ])
    .await;
    for path in ["/short", "/chunks"] {
        let broken = fetch(&host.url(path)).await;
        assert!(matches!(broken, Err(FetchError::BrokenOff)), "{path}: {broken:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_the_source_is_an_error_with_its_status() {
    for status in [304, 400, 401, 403, 404, 410, 429, 451, 500, 503] {
        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").into_bytes();
        let host = Host::new(&[("/", Act::Send(answer))]).await;
        let answered = fetch(&host.url("/")).await;
        assert!(matches!(answered, Err(FetchError::Answered(s)) if s == status), "{status}: {answered:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_tried_once_more() {
    let host = Host::new(&[("/", Act::HangUpOnce(ok("", "here")))]).await;
    assert_eq!(fetch(&host.url("/")).await.unwrap().length, 4);
    assert_eq!(host.connections.load(SeqCst), 2);
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_told_from_one_that_has_no_address() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let unreachable = fetch(&SourceUrl::parse(&format!("http://{closed}/")).unwrap()).await;
    assert!(matches!(unreachable, Err(FetchError::Unreachable)), "{unreachable:?}");
    let unresolved = fetch(&SourceUrl::parse("http://nowhere.example/").unwrap()).await;
    assert!(matches!(unresolved, Err(FetchError::Unresolved)), "{unresolved:?}");
    let plain = Host::new(&[]).await;
    let https = format!("https://{}/", plain.address);
    let insecure = fetch(&SourceUrl::parse(&https).unwrap()).await;
    assert!(matches!(insecure, Err(FetchError::Unreachable | FetchError::ConnectTimedOut)), "{insecure:?}");
}
