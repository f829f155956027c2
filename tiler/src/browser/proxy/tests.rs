//! The proxy by hand: what is said on the wire.

use std::net::IpAddr;
use std::time::Duration;

use edgezoom_content::AddressPolicy;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::fetch::resolver::Resolver;

/// Every name is at the loopback address.
struct Here;

impl Resolver for Here {
    fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![[127, 0, 0, 1].into()]) })
    }
}

/// A proxy that may connect to `allowed`, and its port.
fn proxy(allowed: &str) -> (Proxy, u16) {
    proxy_with(allowed, None)
}

fn proxy_with(allowed: &str, folder: Option<Folder>) -> (Proxy, u16) {
    let policy = AddressPolicy::allowing(allowed).unwrap();
    let gate = Gate { policy, resolver: Arc::new(Here), patience: Duration::from_secs(5) };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let limits = PageLimits { traffic: 1 << 20, connections: 8, ..PageLimits::default() };
    (Proxy::start(listener, gate, folder, &limits).unwrap(), port)
}

/// A server that says `answer` to whoever connects, and gives what it heard first.
async fn server(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = vec![0; 4096];
        let length = stream.read(&mut heard).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&heard[..length]).into_owned()
    });
    (port, heard)
}

/// Sends `request` and gives all that comes until the end, or for a moment.
async fn say(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    let _ = tokio::time::timeout(Duration::from_millis(500), stream.read_to_end(&mut heard)).await;
    String::from_utf8_lossy(&heard).into_owned()
}

fn credentials(proxy: &Proxy) -> String {
    let pair = BASE64_STANDARD.encode(format!("{USER}:{}", proxy.password));
    format!("Proxy-Authorization: Basic {pair}\r\n")
}

#[tokio::test]
async fn nobody_is_served_without_the_password() {
    let (_proxy, port) = proxy("127.0.0.0/8");
    let (target, heard) = server("").await;
    for request in [
        format!("GET http://127.0.0.1:{target}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("CONNECT 127.0.0.1:{target} HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!(
            "CONNECT 127.0.0.1:{target} HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic cGFnZTo=\r\n\r\n"
        ),
    ] {
        let answer = say(port, &request).await;
        assert!(answer.starts_with("HTTP/1.1 407 ") && answer.contains("realm=\"page\""), "{answer}");
    }
    assert!(!heard.is_finished());
}

#[tokio::test]
async fn a_plain_request_is_passed_on_without_what_is_between_neighbours() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let (target, heard) =
        server("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\nhi").await;
    let login = credentials(&proxy);
    let answer = say(
        port,
        &format!(
            "GET http://name.example:{target}/a?b HTTP/1.1\r\nHost: other.example\r\n{login}X-Own: 1\r\n\
             Connection: x-hop\r\nX-Hop: 1\r\nProxy-Connection: keep-alive\r\n\r\n"
        ),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhi"), "{answer}");
    assert!(!answer.to_lowercase().contains("keep-alive"), "{answer}");
    let heard = heard.await.unwrap();
    assert!(heard.starts_with("GET /a?b HTTP/1.1\r\n"), "{heard}");
    assert!(
        heard.contains(&format!("Host: name.example:{target}\r\n")) && heard.contains("X-Own: 1"),
        "{heard}"
    );
    assert!(!heard.to_lowercase().contains("proxy") && !heard.to_lowercase().contains("x-hop"), "{heard}");
}

#[tokio::test]
async fn a_tunnel_carries_both_ways() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let (target, heard) = server("pong").await;
    let request =
        format!("CONNECT name.example:{target} HTTP/1.1\r\nHost: a\r\n{}\r\nping", credentials(&proxy));
    let answer = say(port, &request).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("pong"), "{answer}");
    assert_eq!(heard.await.unwrap(), "ping");
    assert_eq!(proxy.ledger.closed("name.example", target), None);
}

#[tokio::test]
async fn what_is_refused_is_told_to_the_ledger_and_not_to_the_page() {
    let (proxy, port) = proxy("");
    let (target, heard) = server("").await;
    let login = credentials(&proxy);
    for request in [
        format!("GET http://name.example:{target}/ HTTP/1.1\r\nHost: a\r\n{login}\r\n"),
        format!("CONNECT name.example:{target} HTTP/1.1\r\nHost: a\r\n{login}\r\n"),
    ] {
        let answer = say(port, &request).await;
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.ends_with("\r\n\r\n"), "{answer}");
        assert_eq!(proxy.ledger.closed("name.example", target), Some(Closed::Refused));
    }
    assert!(!heard.is_finished());
}

#[tokio::test]
async fn a_site_cannot_make_the_browser_forget_the_password() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let (target, _) =
        server("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"page\"\r\nContent-Length: 0\r\n\r\n")
            .await;
    let login = credentials(&proxy);
    let answer =
        say(port, &format!("GET http://a.example:{target}/ HTTP/1.1\r\nHost: a\r\n{login}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && !answer.contains("realm"), "{answer}");
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let login = credentials(&proxy);
    for line in ["GET /path", "GET https://a.example/", "GET ftp://a.example/", "CONNECT a.example"] {
        let answer = say(port, &format!("{line} HTTP/1.1\r\nHost: a\r\n{login}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{line}: {answer}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_dropped_ends_its_connections() {
    let (proxy, port) = proxy("127.0.0.0/8");
    let (target, _) = server("").await;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("CONNECT 127.0.0.1:{target} HTTP/1.1\r\nHost: a\r\n{}\r\n", credentials(&proxy));
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(stream.read(&mut [0; 100]).await.unwrap() > 0);
    drop(proxy);
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
    assert!(ended.await.is_ok());
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

#[tokio::test]
async fn a_folder_gives_its_files_and_nothing_outside_of_it() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("site");
    std::fs::create_dir_all(folder.join("pictures")).unwrap();
    for (name, text) in [("site/a page.html", "page"), ("site/pictures/a.css", "style"), ("secret", "secret")]
    {
        std::fs::write(outside.path().join(name), text).unwrap();
    }
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.join("link")).unwrap();
    let (within, url) = Folder::of(&folder.join("a page.html")).unwrap();
    assert_eq!(url, "http://folder.invalid/a%20page.html");
    let (proxy, port) = proxy_with("", Some(within));
    let get = async |path: &str| {
        let login = credentials(&proxy);
        let head = format!(
            "GET http://folder.invalid{path} HTTP/1.1\r\nHost: folder.invalid\r\nConnection: close\r\n"
        );
        say(port, &format!("{head}{login}\r\n")).await
    };
    let page = get("/a%20page.html").await;
    assert!(page.starts_with("HTTP/1.1 200 ") && page.ends_with("\r\n\r\npage"), "{page}");
    assert!(page.to_lowercase().contains("content-security-policy: sandbox allow-scripts"), "{page}");
    assert!(get("/pictures/a.css").await.to_lowercase().contains("content-type: text/css"));
    for path in
        ["/../secret", "/%2e%2e/secret", "/..%2fsecret", "//etc/passwd", "/link", "/pictures", "/", "/none"]
    {
        let answer = get(path).await;
        assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.contains("secret"), "{path}: {answer}");
    }
}
