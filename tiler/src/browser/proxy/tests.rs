//! Tests the proxy through its TCP port, by the bytes of requests and responses.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use edgezoom_content::AddressPolicy;
use edgezoom_test_support::patience;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::connector::{ConnectError, Connector};
use super::host_connections::HostConnections;
use super::local_files::LocalFiles;
use super::{Proxy, USERNAME};
use crate::browser::limits::PageLimits;
use crate::fetch::resolver::Resolver;

/// Resolves every name to the loopback address.
struct Loopback;

impl Resolver for Loopback {
    fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![[127, 0, 0, 1].into()]) })
    }
}

/// Starts a proxy whose policy allows the networks `allowed`. Returns it with its port.
fn proxy(allowed: &str) -> (Proxy, u16) {
    proxy_with(allowed, None)
}

fn proxy_with(allowed: &str, files: Option<LocalFiles>) -> (Proxy, u16) {
    proxy_through(connector(allowed, 8), files)
}

/// Returns a connector, which several proxies can share.
fn connector(allowed: &str, connections_per_host: usize) -> Connector {
    let policy = AddressPolicy::allowing(allowed).unwrap();
    let limit = connections_per_host.try_into().unwrap();
    let hosts = Arc::new(HostConnections::new(limit, Duration::from_millis(300)));
    Connector { policy, resolver: Arc::new(Loopback), hosts, timeout: patience() }
}

fn proxy_through(connector: Connector, files: Option<LocalFiles>) -> (Proxy, u16) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let limits = PageLimits { traffic: 1 << 20, connections: 8, ..PageLimits::default() };
    (Proxy::start(listener, connector, files, &limits).unwrap(), port)
}

/// Starts a server that sends `response` to its first connection. Returns its port, and the request it receives.
async fn server(response: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let request = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = vec![0; 4096];
        let length = stream.read(&mut received).await.unwrap();
        stream.write_all(response.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&received[..length]).into_owned()
    });
    (port, request)
}

/// Sends `request`, after which the connection closes, and returns the bytes received.
async fn exchange(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = request.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let all = tokio::time::timeout(patience(), stream.read_to_end(&mut received)).await;
    all.expect("the connection stays open").unwrap();
    String::from_utf8_lossy(&received).into_owned()
}

fn credentials(proxy: &Proxy) -> String {
    let pair = BASE64_STANDARD.encode(format!("{USERNAME}:{}", proxy.password));
    format!("Proxy-Authorization: Basic {pair}\r\n")
}

#[tokio::test]
async fn requests_without_the_password_are_refused() {
    let (_proxy, port) = proxy("127.0.0.0/8");
    let (target, received) = server("").await;
    for request in [
        format!("GET http://127.0.0.1:{target}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("CONNECT 127.0.0.1:{target} HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!(
            "CONNECT 127.0.0.1:{target} HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic cGFnZTo=\r\n\r\n"
        ),
    ] {
        let response = exchange(port, &request).await;
        assert!(response.starts_with("HTTP/1.1 407 ") && response.contains("realm=\"page\""), "{response}");
    }
    assert!(!received.is_finished());
}

#[tokio::test]
async fn a_request_is_forwarded_without_hop_by_hop_headers() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let (target, received) =
        server("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\nhi").await;
    let login = credentials(&proxy);
    let response = exchange(
        port,
        &format!(
            "GET http://name.example:{target}/a?b HTTP/1.1\r\nHost: other.example\r\n{login}X-Own: 1\r\n\
             Connection: x-hop\r\nX-Hop: 1\r\nProxy-Connection: keep-alive\r\n\r\n"
        ),
    )
    .await;
    assert!(response.starts_with("HTTP/1.1 200 ") && response.ends_with("\r\n\r\nhi"), "{response}");
    assert!(!response.to_lowercase().contains("keep-alive"), "{response}");
    let received = received.await.unwrap();
    assert!(received.starts_with("GET /a?b HTTP/1.1\r\n"), "{received}");
    assert!(
        received.contains(&format!("Host: name.example:{target}\r\n")) && received.contains("X-Own: 1"),
        "{received}"
    );
    assert!(
        !received.to_lowercase().contains("proxy") && !received.to_lowercase().contains("x-hop"),
        "{received}"
    );
}

#[tokio::test]
async fn a_tunnel_copies_in_both_directions() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let (target, received) = server("pong").await;
    let request =
        format!("CONNECT name.example:{target} HTTP/1.1\r\nHost: a\r\n{}\r\nping", credentials(&proxy));
    let response = exchange(port, &request).await;
    assert!(response.starts_with("HTTP/1.1 200 ") && response.ends_with("pong"), "{response}");
    assert_eq!(received.await.unwrap(), "ping");
    assert_eq!(proxy.failures.get("name.example", target), None);
}

#[tokio::test]
async fn the_reason_for_a_refusal_is_recorded_but_not_sent_to_the_page() {
    let (proxy, port) = proxy("");
    let (target, received) = server("").await;
    let login = credentials(&proxy);
    for request in [
        format!("GET http://name.example:{target}/ HTTP/1.1\r\nHost: a\r\n{login}\r\n"),
        format!("CONNECT name.example:{target} HTTP/1.1\r\nHost: a\r\n{login}\r\n"),
    ] {
        let response = exchange(port, &request).await;
        assert!(response.starts_with("HTTP/1.1 403 ") && response.ends_with("\r\n\r\n"), "{response}");
        assert_eq!(proxy.failures.get("name.example", target), Some(ConnectError::Refused));
    }
    assert!(!received.is_finished());
}

#[tokio::test]
async fn a_407_from_a_server_is_not_mistaken_for_the_proxys() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let (target, _) =
        server("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"page\"\r\nContent-Length: 0\r\n\r\n")
            .await;
    let login = credentials(&proxy);
    let response =
        exchange(port, &format!("GET http://a.example:{target}/ HTTP/1.1\r\nHost: a\r\n{login}\r\n")).await;
    assert!(response.starts_with("HTTP/1.1 403 ") && !response.contains("realm"), "{response}");
}

#[tokio::test]
async fn malformed_targets_are_refused() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let login = credentials(&proxy);
    for line in ["GET /path", "GET https://a.example/", "GET ftp://a.example/", "CONNECT a.example"] {
        let response = exchange(port, &format!("{line} HTTP/1.1\r\nHost: a\r\n{login}\r\n")).await;
        assert!(response.starts_with("HTTP/1.1 400 "), "{line}: {response}");
    }
}

#[tokio::test]
async fn dropping_the_proxy_closes_its_connections() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let (target, _) = server("").await;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("CONNECT 127.0.0.1:{target} HTTP/1.1\r\nHost: a\r\n{}\r\n", credentials(&proxy));
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(stream.read(&mut [0; 100]).await.unwrap() > 0);
    drop(proxy);
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(patience(), stream.read_to_end(&mut rest));
    assert!(ended.await.is_ok());
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

/// Asks the proxy at `port` for a tunnel to a server.
async fn request_tunnel(proxy: &Proxy, port: u16, target: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let login = credentials(proxy);
    let request = format!("CONNECT a.example:{target} HTTP/1.1\r\nHost: a\r\n{login}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Waits until the tunnel is open.
async fn opened(stream: &mut TcpStream) {
    let mut answer = [0; 17];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK\r\n");
}

#[tokio::test]
async fn a_waiting_page_gets_the_connection_of_an_idle_page() {
    let shared = connector("127.0.0.0/8", 1);
    let [(one, one_port), (other, other_port)] = [(); 2].map(|()| proxy_through(shared.clone(), None));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap().port();
    let open = async |proxy: &Proxy, port: u16| {
        let mut stream = request_tunnel(proxy, port, target).await;
        opened(&mut stream).await;
        (stream, listener.accept().await.unwrap().0)
    };
    let (_browser, mut server) = open(&one, one_port).await;
    let second = tokio::time::timeout(patience(), open(&other, other_port));
    let (_, mut second_server) = second.await.unwrap();
    let mut byte = [0];
    let closed = tokio::time::timeout(patience(), server.read(&mut byte));
    assert_eq!(closed.await.unwrap().unwrap(), 0, "the idle connection was closed");
    second_server.write_all(b"a").await.unwrap();
}

#[tokio::test]
async fn a_page_with_all_its_connections_waits_until_one_is_closed() {
    let (proxy, port) = proxy_through(connector("127.0.0.0/8", 100), None);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap().port();
    let mut tunnels = Vec::new();
    for _ in 0..8 {
        let mut stream = request_tunnel(&proxy, port, target).await;
        opened(&mut stream).await;
        tunnels.push((stream, listener.accept().await.unwrap()));
    }
    let mut ninth = request_tunnel(&proxy, port, target).await;
    assert!(tokio::time::timeout(Duration::from_millis(500), opened(&mut ninth)).await.is_err());
    tunnels.pop();
    assert!(tokio::time::timeout(patience(), opened(&mut ninth)).await.is_ok());
}

#[tokio::test]
async fn a_folder_is_served_but_nothing_outside_it() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("site");
    std::fs::create_dir_all(folder.join("pictures")).unwrap();
    for (name, text) in [("site/a page.html", "page"), ("site/pictures/a.css", "style"), ("secret", "secret")]
    {
        std::fs::write(outside.path().join(name), text).unwrap();
    }
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.join("link")).unwrap();
    let (files, url) = LocalFiles::beside(&folder.join("a page.html")).unwrap();
    assert_eq!(url, "http://local-files.invalid/a%20page.html");
    let (proxy, port) = proxy_with("", Some(files));
    let get = async |path: &str| {
        let login = credentials(&proxy);
        let head = format!("GET http://local-files.invalid{path} HTTP/1.1\r\nHost: local-files.invalid\r\n");
        exchange(port, &format!("{head}{login}\r\n")).await
    };
    let page = get("/a%20page.html").await;
    assert!(page.starts_with("HTTP/1.1 200 ") && page.ends_with("\r\n\r\npage"), "{page}");
    assert!(page.to_lowercase().contains("content-security-policy: sandbox allow-scripts"), "{page}");
    assert!(get("/pictures/a.css").await.to_lowercase().contains("content-type: text/css"));
    for path in
        ["/../secret", "/%2e%2e/secret", "/..%2fsecret", "//etc/passwd", "/link", "/pictures", "/", "/none"]
    {
        let response = get(path).await;
        assert!(response.starts_with("HTTP/1.1 404 ") && !response.contains("secret"), "{path}: {response}");
    }
}
