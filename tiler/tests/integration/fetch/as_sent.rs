//! Tests responses as servers send them: cookies, odd headers, status 206 for a whole file, and broken HTTP.

use super::*;

fn send(text: &str) -> Behaviour {
    Behaviour::Send(text.as_bytes().to_vec())
}

/// Returns a redirect that sets these cookies.
fn setting(cookies: &[&str], to: &str) -> Vec<u8> {
    let set: String = cookies.iter().map(|cookie| format!("Set-Cookie: {cookie}\r\n")).collect();
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n{set}\r\n").into_bytes()
}

#[tokio::test]
async fn a_cookie_that_a_redirect_sets_is_sent_back() {
    let turns = vec![setting(&["seen=1; Path=/; HttpOnly"], "/"), ok("", "here")];
    let server = Server::new(&[("/", Behaviour::InTurn(turns))]).await;
    assert_eq!(fetch(&server.url("/")).await.unwrap().length, 4);
    let requests = server.requests.lock().unwrap().clone();
    assert!(!requests[0].to_lowercase().contains("cookie:"), "{requests:?}");
    assert!(requests[1].contains("\r\ncookie: seen=1\r\n"), "{requests:?}");
}

#[tokio::test]
async fn cookies_go_to_no_other_host_and_end_with_their_download() {
    let server = Server::new(&[("/end", Behaviour::Send(ok("", "here")))]).await;
    let to = server.named("b.example", "/end");
    let first = Server::on(
        Ipv4Addr::LOCALHOST,
        0,
        &[("/", Behaviour::Send(setting(&["a=1; Path=/; Domain=.example"], to.as_str())))],
    )
    .await
    .unwrap();
    let names = Names::of(&[("a.example", &["127.0.0.1"]), ("b.example", &["127.0.0.1"])]);
    let fetcher = fetcher("127.0.0.0/8", names);
    for _ in 0..2 {
        fetcher.fetch(&first.named("a.example", "/"), |_| ()).await.unwrap();
    }
    for request in [&first, &server].iter().flat_map(|server| server.requests.lock().unwrap().clone()) {
        assert!(!request.to_lowercase().contains("cookie:"), "{request}");
    }
}

#[tokio::test]
async fn a_cookie_is_sent_with_the_request_for_the_rest() {
    let turns = vec![
        setting(&["a=1"], "/"),
        ok("ETag: \"one\"\r\nContent-Length: 4\r\n", "he"),
        b"HTTP/1.1 206 X\r\nConnection: close\r\nContent-Range: bytes 2-3/4\r\n\r\nre".to_vec(),
    ];
    let server = Server::new(&[("/", Behaviour::InTurn(turns))]).await;
    assert_eq!(fetch(&server.url("/")).await.unwrap().length, 4);
    assert!(server.requests.lock().unwrap()[2].contains("\r\ncookie: a=1\r\n"));
}

#[tokio::test]
async fn headers_that_browsers_accept_are_accepted() {
    let many: String = (0..900).map(|number| format!("X-{number}: {number}\r\n")).collect();
    for odd in [
        "X-Powered-By : PHP\r\n",
        "X-Powered-By\t:\tPHP\r\n",
        "no colon at all\r\n",
        ": no name\r\n",
        "X-Two words: a\r\n",
        "X-Folded: one\r\n two\r\n\tthree\r\n",
        "X-Latin-1: na\u{ef}ve\r\n",
        "X-Control: a\u{1}b\r\n",
        "X-Ends-In-LF: a\n",
        "X-Empty:\r\n",
        &many,
    ] {
        // In Latin-1: each character is one byte.
        let text = format!(
            "HTTP/1.1 200 OK\r\n{odd}Content-Type: image/png\r\nContent-Length: 4\r\n\r\nhere, and more"
        );
        let bytes = text.chars().map(|char| char as u8).collect();
        let server = Server::new(&[("/", Behaviour::Send(bytes))]).await;
        let fetched = fetch(&server.url("/")).await;
        let fetched = fetched.unwrap_or_else(|error| panic!("{:?}: {error}", &odd[..odd.len().min(40)]));
        assert_eq!((fetched.length, fetched.content_type.as_deref()), (4, Some("image/png")), "{odd}");
    }
}

#[tokio::test]
async fn a_response_that_is_not_http_says_so_and_is_not_tried_again() {
    let endless: String = (0..2000).map(|number| format!("X-{number}: {number}\r\n")).collect();
    let endless = format!("HTTP/1.1 200 OK\r\n{endless}\r\nhere");
    for broken in [
        "<html>It works!</html>\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2p1\r\n",
        "HTTP/1.1 OK\r\n\r\nhere",
        "HTTP/1.1 200 OK\r\nX-Bare: a\rb\r\n\r\nhere",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nhere!",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhere it is\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhere!!\r\n0\r\n\r\n",
        &endless,
    ] {
        let server = Server::new(&[("/", send(broken))]).await;
        let result = fetch(&server.url("/")).await;
        assert!(
            matches!(result, Err(FetchError::BrokenHttp)),
            "{}: {result:?}",
            &broken[..broken.len().min(40)]
        );
        assert_eq!(server.connections.load(SeqCst), 1, "{broken}");
    }
}

#[tokio::test]
async fn status_206_for_the_whole_is_the_whole() {
    let part = |range: &str, body: &str| {
        send(&format!(
            "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nETag: \"one\"\r\nContent-Length: {}\r\n{range}\r\n{body}",
            body.len(),
        ))
    };
    for range in ["Content-Range: bytes 0-3/4\r\n", "Content-Range: bytes 0-3/*\r\n", ""] {
        let server = Server::new(&[("/", part(range, "here"))]).await;
        assert_eq!(fetch(&server.url("/")).await.unwrap().length, 4, "{range}");
    }
    let multipart = "Content-Type: multipart/byteranges; boundary=a\r\n";
    for range in ["Content-Range: bytes 1-4/9\r\n", "Content-Range: bytes */4\r\n", multipart] {
        let server = Server::new(&[("/", part(range, "here"))]).await;
        let result = fetch(&server.url("/")).await;
        assert!(matches!(result, Err(FetchError::OnlyPart)), "{range}: {result:?}");
    }
}

#[tokio::test]
async fn the_rest_of_an_unrequested_beginning_is_requested() {
    let part = |tag: &str, from: usize, body: &str| {
        let last = from + body.len() - 1;
        format!(
            "HTTP/1.1 206 X\r\nConnection: close\r\n{tag}Content-Range: bytes {from}-{last}/8\r\n\r\n{body}"
        )
        .into_bytes()
    };
    let tag = "ETag: \"one\"\r\n";
    let turns = vec![part(tag, 0, "her"), part(tag, 3, "e it"), part(tag, 7, "s")];
    let server = Server::new(&[("/", Behaviour::InTurn(turns))]).await;
    let mut fetched = fetch(&server.url("/")).await.unwrap();
    let mut text = String::new();
    fetched.file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "here its");
    assert!(server.requests.lock().unwrap()[1].contains("\r\nrange: bytes=3-\r\n"));

    // Without a validator, nothing says that the next part is of the same version.
    let server = Server::new(&[("/", Behaviour::Send(part("", 0, "her")))]).await;
    let result = fetch(&server.url("/")).await;
    assert!(matches!(result, Err(FetchError::OnlyPart)), "{result:?}");
    assert_eq!(server.connections.load(SeqCst), 1);
}
