//! Tests denied networks and hosts, ports of other protocols, and the limit of downloads per host. Servers that must
//! not be reached count their connections.

use super::*;

fn with_policy(policy: AddressPolicy, names: Arc<Names>) -> Fetcher {
    Fetcher::with_resolver(policy, limits(), std::env::temp_dir(), BotSettings::default(), names).unwrap()
}

fn loopback() -> AddressPolicy {
    AddressPolicy::allowing("127.0.0.0/8").unwrap()
}

#[tokio::test]
async fn a_denied_network_inside_an_allowed_one_is_never_reached() {
    let secret = || Behaviour::Send(ok("", "secret"));
    let outer = Server::new(&[("/again", redirect("/"))]).await;
    let inner_ip = Ipv4Addr::new(127, 0, 0, 9);
    let inner =
        Server::on(inner_ip, outer.address.port(), &[("/", secret()), ("/again", secret())]).await.unwrap();
    let to_inner = Server::new(&[
        ("/", redirect(inner.url("/").as_str())),
        ("/name", redirect(inner.named("inner.example", "/").as_str())),
    ])
    .await;
    let policy = loopback().denying("127.0.0.8/30").unwrap();
    for url in [
        inner.url("/"),
        inner.named("inner.example", "/"),
        inner.named("127.9", "/"),
        inner.named("[::ffff:127.0.0.9]", "/"),
        to_inner.url("/"),
        to_inner.url("/name"),
        outer.named("rebinding.example", "/again"),
    ] {
        let names = Names::of(&[
            ("inner.example", &["127.0.0.9"]),
            ("rebinding.example", &["127.0.0.1", "127.0.0.9"]),
        ]);
        let refused = with_policy(policy.clone(), names).fetch(&url, |_| ()).await;
        assert!(
            matches!(
                refused,
                Err(FetchError::Refused(RefusedAddress::Network)) | Err(FetchError::Unreachable)
            ),
            "{url}: {refused:?}"
        );
    }
    assert_eq!(inner.connections.load(SeqCst), 0);
    assert_eq!(
        (to_inner.connections.load(SeqCst), outer.connections.load(SeqCst)),
        (2, 1),
        "the ways there were gone"
    );
}

#[tokio::test]
async fn hosts_are_denied_and_allowed_at_each_redirect() {
    let inner = Server::new(&[("/", Behaviour::Send(ok("", "secret")))]).await;
    let outer = Server::new(&[
        ("/denied", redirect(inner.named("www.denied.example", "/").as_str())),
        ("/other", redirect(inner.named("other.example", "/").as_str())),
    ])
    .await;
    let names = || {
        Names::of(&[
            ("www.denied.example", &["127.0.0.1"]),
            ("other.example", &["127.0.0.1"]),
            ("outer.example", &["127.0.0.1"]),
        ])
    };
    let denying = loopback().denying_hosts("denied.example").unwrap();
    let allowing = loopback()
        .allowing_hosts("outer.example, denied.example")
        .unwrap()
        .denying_hosts("www.denied.example")
        .unwrap();
    for (policy, url) in [
        (&denying, inner.named("www.denied.example", "/")),
        (&denying, outer.named("outer.example", "/denied")),
        (&allowing, inner.named("other.example", "/")),
        (&allowing, outer.named("outer.example", "/other")),
        (&allowing, outer.named("outer.example", "/denied")),
        (&allowing, inner.url("/")),
    ] {
        let refused = with_policy(policy.clone(), names()).fetch(&url, |_| ()).await;
        assert!(matches!(refused, Err(FetchError::Refused(RefusedAddress::Host))), "{url}: {refused:?}");
    }
    assert_eq!(inner.connections.load(SeqCst), 0);
    assert_eq!(outer.connections.load(SeqCst), 3);
    let allowed = with_policy(denying, names()).fetch(&outer.named("outer.example", "/other"), |_| ()).await;
    assert!(allowed.is_ok(), "what is not denied is reached");
}

#[tokio::test]
async fn ports_of_other_protocols_are_refused_at_each_redirect() {
    for port in [1, 22, 25, 111, 445, 1023] {
        let source = SourceUrl::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
        let server = Server::new(&[("/", redirect(source.as_str()))]).await;
        for url in [source, server.url("/")] {
            let refused = with_policy(loopback(), Names::of(&[])).fetch(&url, |_| ()).await;
            assert!(matches!(refused, Err(FetchError::Refused(RefusedAddress::Port))), "{url}: {refused:?}");
        }
    }
}

#[tokio::test]
async fn concurrent_downloads_from_a_host_are_limited() {
    /// Starts one server, which records its largest number of concurrent connections.
    async fn most_at_once(limit: usize) -> usize {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let noted = Arc::clone(&most);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (now, most) = (Arc::clone(&now), Arc::clone(&most));
                tokio::spawn(async move {
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    let _ = stream.read(&mut [0; 1000]).await;
                    while most.load(SeqCst) < limit {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await; // more would come now
                    now.fetch_sub(1, SeqCst); // before the body, which ends the download
                    stream.write_all(&ok("", "pixels")).await
                });
            }
        });
        let limits = Limits {
            downloads_per_host: limit.try_into().unwrap(),
            host_interval: Duration::ZERO, // not the subject of this test
            download: Duration::from_secs(60),
            ..limits()
        };
        let limits = Limits { stall: Duration::from_secs(30), ..limits };
        let fetcher = Fetcher::with_resolver(
            loopback(),
            limits,
            std::env::temp_dir(),
            BotSettings::default(),
            Names::of(&[]),
        )
        .unwrap();
        let source = SourceUrl::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
        let downloads = (0..6).map(|_| fetcher.fetch(&source, |_| ()));
        assert!(futures::future::join_all(downloads).await.iter().all(Result::is_ok));
        noted.load(SeqCst)
    }
    assert_eq!(most_at_once(2).await, 2);
    assert_eq!(most_at_once(6).await, 6, "the server is asked at once");
}
