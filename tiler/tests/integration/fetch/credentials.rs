//! Tests which requests of a download have the credentials for the source's origin.

use edgezoom_content::SourceUrl;
use edgezoom_tiler::credentials::{Access, Fields};

use super::{Behaviour, Names, Server, fetcher, ok, redirect};

/// Returns the paths of a server's requests that had the credentials, in order.
fn with_credentials(server: &Server) -> Vec<String> {
    let heads = server.requests.lock().unwrap();
    let is_one = |head: &&String| head.contains("x-key: secret") && head.contains("cookie: a=1");
    assert_eq!(
        heads.iter().filter(is_one).count(),
        heads.iter().filter(|head| head.contains("secret")).count()
    );
    heads.iter().filter(is_one).map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect()
}

/// Downloads a source with credentials for its origin.
async fn fetch(source: &SourceUrl) {
    let mut fields = Fields::default();
    fields.add_header("X-Key: secret").unwrap();
    fields.add_cookie("a=1").unwrap();
    let credentials = Access { key: None, fields }.to(source).unwrap();
    fetcher("127.0.0.0/8", Names::of(&[])).fetch_after(0, source, credentials, |_| ()).await.unwrap();
}

#[tokio::test]
async fn credentials_stay_at_the_origin_and_end_with_a_redirect_to_another_one() {
    let back = Server::new(&[("/back", Behaviour::Send(ok("", "here")))]).await;
    let other = Server::new(&[("/", redirect(back.url("/back").as_str()))]).await; // another port
    let own = Server::new(&[
        ("/", redirect("/same")),
        ("/same", Behaviour::Send(ok("Set-Cookie: b=2\r\n", "here"))),
        ("/away", redirect(other.url("/").as_str())),
    ])
    .await;
    fetch(&own.url("/")).await;
    fetch(&own.url("/away")).await;
    assert_eq!(with_credentials(&own), ["/", "/same", "/away"]);
    assert_eq!((with_credentials(&other), with_credentials(&back)), (vec![], vec![]));
    assert_eq!((other.requests.lock().unwrap().len(), back.requests.lock().unwrap().len()), (1, 1));
}

#[tokio::test]
async fn a_server_that_sends_a_download_back_gets_nothing_requested_with_credentials() {
    let free = std::net::TcpListener::bind("127.0.0.4:0").unwrap().local_addr().unwrap();
    let other = Server::new(&[("/", redirect(&format!("http://{free}/delete")))]).await;
    let paths = [("/", redirect(other.url("/").as_str())), ("/delete", Behaviour::Send(ok("", "gone")))];
    let own = Server::on([127, 0, 0, 4].into(), free.port(), &paths).await.unwrap();
    fetch(&own.url("/")).await;
    assert_eq!(with_credentials(&own), ["/"]);
    assert_eq!(own.requests.lock().unwrap().len(), 2, "without them it is requested");
}
