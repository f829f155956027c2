//! Tests downloads that break off: some resume, some start over, and some fail.

use super::*;

/// Returns the source. Its bytes differ by position.
fn source() -> String {
    (0..100).map(|n| format!("{n:09}\n")).collect()
}

/// Returns a response with the whole source that breaks off after `sent` bytes.
fn whole(head: &str, sent: usize) -> Vec<u8> {
    ok(&format!("Content-Length: 1000\r\n{head}"), &source()[..sent])
}

/// Returns a response with a range of the source that breaks off after `sent` bytes.
fn rest(head: &str, from: usize, sent: usize) -> Vec<u8> {
    let length = 1000 - from;
    let body = &source()[from..from + sent];
    format!(
        "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Length: {length}\r\n\
         Content-Range: bytes {from}-999/1000\r\n{head}\r\n{body}"
    )
    .into_bytes()
}

const TAG: &str = "ETag: \"one\"\r\n";
const OLD: &str = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Wed, 06 Nov 2024 08:49:37 GMT\r\n";

/// Serves the responses at `/` and fetches it. Returns the text, the furthest arrivals, and the requests.
async fn download(turns: Vec<Vec<u8>>) -> (Result<String, FetchError>, Vec<u64>, Vec<String>) {
    let server = Server::new(&[("/", Behaviour::InTurn(turns))]).await;
    let mut seen: Vec<u64> = vec![];
    let fetched = fetcher("127.0.0.1/32", Names::of(&[]))
        .fetch(&server.url("/"), |arrival| {
            if seen.last().is_none_or(|last| arrival.bytes > *last) {
                seen.push(arrival.bytes);
            }
        })
        .await
        .map(|mut fetched| {
            let mut text = String::new();
            fetched.file.read_to_string(&mut text).unwrap();
            assert_eq!(text.len() as u64, fetched.length);
            text
        });
    let requests = server.requests.lock().unwrap().iter().map(|head| head.to_lowercase()).collect();
    (fetched, seen, requests)
}

#[tokio::test]
async fn a_download_resumes_where_it_ended() {
    for (head, if_range) in [(TAG, "\"one\""), (OLD, "sun, 06 nov 1994 08:49:37 gmt")] {
        let turns = vec![whole(head, 300), rest(head, 300, 300), rest("", 600, 400)];
        let (text, seen, requests) = download(turns).await;
        assert_eq!(text.unwrap(), source());
        assert_eq!(seen.last(), Some(&1000));
        assert!(!requests[0].contains("range:"), "{requests:?}");
        for (request, from) in requests[1..].iter().zip([300, 600]) {
            assert!(request.contains(&format!("\r\nrange: bytes={from}-\r\n")), "{request}");
            assert!(request.contains(&format!("\r\nif-range: {if_range}\r\n")), "{request}");
            assert!(request.contains("accept-encoding: identity"), "{request}");
        }
        assert_eq!(requests.len(), 3);
    }
}

#[tokio::test]
async fn a_server_that_ignores_ranges_starts_over() {
    let (text, _, requests) = download(vec![whole(TAG, 300), whole(TAG, 1000)]).await;
    assert_eq!((text.unwrap(), requests.len()), (source(), 2));
}

#[tokio::test]
async fn a_source_without_a_strong_validator_is_downloaded_again() {
    let young = "Last-Modified: Wed, 06 Nov 2024 08:49:37 GMT\r\nDate: Wed, 06 Nov 2024 08:49:38 GMT\r\n";
    for head in ["", "ETag: W/\"one\"\r\n", young, "ETag: \"one\"\r\nAccept-Ranges: none\r\n"] {
        let (text, _, requests) = download(vec![whole(head, 300), whole(head, 1000)]).await;
        assert_eq!(text.unwrap(), source());
        assert!(requests.iter().all(|request| !request.contains("range:")), "{requests:?}");
    }
}

#[tokio::test]
async fn a_changed_source_is_not_mixed_with_its_old_version() {
    let changed = ok("ETag: \"two\"\r\nContent-Length: 4\r\n", "news");
    for second in [
        changed.clone(),                     // respects If-Range
        rest("ETag: \"two\"\r\n", 300, 700), // ignores If-Range
        rest("", 299, 701),                  // another range
        b"HTTP/1.1 416 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(), // the source has become shorter
        b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
    ] {
        let (text, _, requests) = download(vec![whole(TAG, 300), second, changed.clone()]).await;
        assert_eq!(text.unwrap(), "news", "{requests:?}");
    }
}

#[tokio::test]
async fn an_unrequested_range_is_not_the_whole_source() {
    let (result, ..) = download(vec![rest(TAG, 300, 700)]).await;
    assert!(matches!(result, Err(FetchError::OnlyPart)), "{result:?}");
}

#[tokio::test]
async fn a_partial_range_is_appended_and_the_rest_requested() {
    let part = format!(
        "HTTP/1.1 206 X\r\nConnection: close\r\nContent-Length: 200\r\nContent-Range: bytes 300-499/1000\r\n\r\n{}",
        &source()[300..500]
    );
    let (text, _, requests) = download(vec![whole(TAG, 300), part.into_bytes(), rest(TAG, 500, 500)]).await;
    assert_eq!((text.unwrap(), requests.len()), (source(), 3));
}

#[tokio::test]
async fn transient_errors_are_retried_within_the_download() {
    let unavailable = b"HTTP/1.1 503 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
    let turns = vec![unavailable.clone(), whole(TAG, 300), unavailable, rest(TAG, 300, 700)];
    let (text, _, requests) = download(turns).await;
    assert_eq!((text.unwrap(), requests.len()), (source(), 4));
    assert!(requests[3].contains("range: bytes=300-"), "what was received is kept");
}

#[tokio::test]
async fn a_long_retry_after_ends_the_download() {
    for (status, wish, requests) in
        [(503, "Retry-After: 100\r\n", 1), (429, "", 1), (429, "Retry-After: 0\r\n", 4)]
    {
        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n{wish}\r\n");
        let (result, _, requested) = download(vec![answer.into_bytes()]).await;
        let seconds = if wish.contains("100") { Some(100) } else { None };
        assert!(matches!(result, Err(FetchError::Answered { status: s, retry_after: after }) if s == status
                && (wish.contains(": 0") || after == seconds.map(Duration::from_secs))),);
        assert!(requested.len() <= requests, "{requested:?}");
    }
}

#[tokio::test]
async fn a_download_without_new_bytes_fails() {
    for head in ["", TAG] {
        let (result, _, requests) = download(vec![whole(head, 300)]).await;
        assert!(matches!(result, Err(FetchError::BrokenOff)), "{result:?}");
        assert!((2..=4).contains(&requests.len()), "{requests:?}");
    }
}

#[tokio::test]
async fn the_size_limit_applies_to_all_ranges_together() {
    let large = |from: usize, length: usize| {
        format!(
            "HTTP/1.1 206 X\r\nConnection: close\r\nContent-Range: bytes {from}-{}/{length}\r\n\r\n{}",
            length - 1,
            "x".repeat(length - from)
        )
    };
    let first = ok("ETag: \"one\"\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n");
    let (result, ..) = download(vec![first.clone(), large(3, 1001).into_bytes()]).await;
    assert!(matches!(result, Err(FetchError::TooLarge(1000))), "{result:?}");
    let (result, ..) = download(vec![first, large(3, 1000).into_bytes()]).await;
    assert_eq!(result.unwrap().len(), 1000);
}

#[tokio::test]
async fn the_address_policy_applies_to_every_connection() {
    // The name resolves to a permitted address at first, and to a denied one when the download resumes.
    let outer = Server::new(&[("/", Behaviour::InTurn(vec![whole(TAG, 300), whole(TAG, 1000)]))]).await;
    let ip = Ipv4Addr::new(127, 0, 0, 9);
    let secret = Behaviour::Send(rest(TAG, 300, 700));
    let inner = Server::on(ip, outer.address.port(), &[("/", secret.clone())]).await.unwrap();
    let names = Names::of(&[("rebinding.example", &["127.0.0.1", "127.0.0.9"])]);
    let refused = fetcher("127.0.0.1/32", names).fetch(&outer.named("rebinding.example", "/"), |_| ()).await;
    assert!(matches!(refused, Err(FetchError::Refused(_))), "{refused:?}");
    assert_eq!((outer.connections.load(SeqCst), inner.connections.load(SeqCst)), (1, 0));

    // The server redirects the range request.
    let to_inner = redirecting(inner.url("/").as_str());
    let outer = Server::new(&[("/", Behaviour::InTurn(vec![whole(TAG, 300), to_inner]))]).await;
    let refused = fetcher("127.0.0.1/32", Names::of(&[])).fetch(&outer.url("/"), |_| ()).await;
    assert!(matches!(refused, Err(FetchError::Refused(_))), "{refused:?}");
    assert_eq!(inner.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn a_download_resumes_at_the_url_after_redirects() {
    let server = Server::new(&[
        ("/", redirect("/file")),
        ("/file", Behaviour::InTurn(vec![whole(TAG, 300), rest(TAG, 300, 700)])),
    ])
    .await;
    let fetched = fetch(&server.url("/")).await.unwrap();
    assert_eq!((fetched.length, fetched.redirects, fetched.url), (1000, 1, server.url("/file")));
    assert_eq!(server.connections.load(SeqCst), 3);
}
