//! Tests robots.txt, reservations, pauses that servers ask for, and the User-Agent.

use edgezoom_tiler::bot::UserAgent;

use super::*;

const RULES: &str = "User-agent: *\nDisallow: /private\n";

fn bot(settings: BotSettings) -> Fetcher {
    let policy = AddressPolicy::allowing("127.0.0.1/32").unwrap();
    Fetcher::new(policy, limits(), std::env::temp_dir(), settings).unwrap()
}

fn status(status: u16, more: &str) -> Behaviour {
    Behaviour::Send(format!("HTTP/1.1 {status} X\r\n{more}Content-Length: 0\r\n\r\n").into_bytes())
}

async fn server(robots: Behaviour) -> Server {
    Server::new(&[("/robots.txt", robots)]).await
}

/// Asks the robots.txt of a server about `/private/page`. Returns the result and the number of requests.
async fn visit(server: &Server) -> (Result<(), FetchError>, usize) {
    let fetcher = bot(BotSettings::default());
    let visited = fetcher.may_visit(&[&server.url("/private/page")]).await;
    (visited, server.requests.lock().unwrap().len())
}

#[tokio::test]
async fn robots_txt_is_requested_once_a_day() {
    let server = server(Behaviour::Send(ok("", RULES))).await;
    let fetcher = bot(BotSettings::default());
    for _ in 0..2 {
        let (public, private) = (server.url("/public?a"), server.url("/private"));
        fetcher.may_visit(&[&public]).await.unwrap();
        let refused = fetcher.may_visit(&[&private]).await;
        assert!(matches!(refused, Err(FetchError::Disallowed)), "{refused:?}");
        let led = fetcher.may_visit(&[&private, &public]).await;
        assert!(matches!(led, Err(FetchError::Disallowed)), "the redirect is disallowed: {led:?}");
    }
    assert_eq!(server.requests.lock().unwrap().len(), 1);
    let ignoring = bot(BotSettings { respects_robots: false, ..BotSettings::default() });
    ignoring.may_visit(&[&server.url("/private")]).await.unwrap();
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

/// RFC 9309, 2.3.1.
#[tokio::test]
async fn a_missing_robots_txt_allows_everything_and_a_failing_one_nothing() {
    for missing in [400, 401, 403, 404, 410] {
        let (visited, _) = visit(&server(status(missing, "")).await).await;
        assert!(visited.is_ok(), "{missing}: {visited:?}");
    }
    for failing in [429, 500, 503] {
        let (visited, _) = visit(&server(status(failing, "Retry-After: 90\r\n")).await).await;
        let Err(FetchError::RobotsUnreadable(wish)) = visited else { panic!("{failing}: {visited:?}") };
        assert_eq!(wish, Some(Duration::from_secs(90)), "{failing}");
    }
    for silent in [Behaviour::SendAndStall(vec![]), Behaviour::Send(vec![])] {
        let (visited, _) = visit(&server(silent).await).await;
        assert!(matches!(visited, Err(FetchError::RobotsUnreadable(None))), "{visited:?}");
    }
}

#[tokio::test]
async fn redirects_of_robots_txt_are_followed_under_the_address_policy() {
    let moved = Server::new(&[
        ("/robots.txt", redirect("/1")),
        ("/1", redirect("/2")),
        ("/2", Behaviour::Send(ok("", RULES))),
    ])
    .await;
    assert!(matches!(visit(&moved).await, (Err(FetchError::Disallowed), 3)));
    let (round, requests) = visit(&server(redirect("/robots.txt")).await).await;
    assert!(round.is_ok() && requests == 6, "{round:?} after {requests}");

    let inner = Server::on(Ipv4Addr::new(127, 0, 0, 9), 0, &[("/", Behaviour::Send(ok("", RULES)))]).await;
    let inner = inner.unwrap();
    let (led, _) = visit(&server(redirect(inner.url("/").as_str())).await).await;
    assert!(led.is_ok(), "as if there were none: {led:?}");
    assert_eq!(inner.connections.load(SeqCst), 0);
}

#[tokio::test]
async fn an_endless_robots_txt_is_read_up_to_the_limit() {
    let rules = format!("{RULES}{}", "Disallow: /other\n".repeat(40_000));
    let server = server(Behaviour::SendAndStall(ok("", &rules))).await;
    assert!(matches!(visit(&server).await.0, Err(FetchError::Disallowed)));
}

#[tokio::test]
async fn a_crawl_delay_is_respected() {
    let rules = "User-agent: Edgezoom\nCrawl-delay: 60\n";
    let server = server(Behaviour::Send(ok("", rules))).await;
    let fetcher = bot(BotSettings::default());
    fetcher.may_visit(&[&server.url("/")]).await.unwrap();
    let second = fetcher.may_visit(&[&server.url("/")]).await;
    assert!(matches!(second, Err(FetchError::HostPaused(rest)) if rest.as_secs() > 40), "{second:?}");
}

#[tokio::test]
async fn a_host_that_responds_429_is_paused_for_its_retry_after() {
    let server = Server::new(&[("/a", status(429, "Retry-After: 60\r\n")), ("/b", status(200, ""))]).await;
    let fetcher = bot(BotSettings::default());
    let fetch = async |path: &str| fetcher.fetch(&server.url(path), |_| ()).await;
    assert!(matches!(fetch("/a").await, Err(FetchError::Answered { .. })));
    let other = fetch("/b").await;
    assert!(matches!(other, Err(FetchError::HostPaused(_))), "{other:?}");
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn the_user_agent_names_the_service_and_its_operator() {
    let server = Server::new(&[("/", Behaviour::Send(ok("", "")))]).await;
    let contact = "zoom@example.com".parse().unwrap();
    let edge = "https://zoom.example.com".parse().unwrap();
    let user_agent = UserAgent::of_service(&edge, Some(&contact));
    let fetcher = bot(BotSettings { user_agent, ..BotSettings::default() });
    fetcher.fetch(&server.url("/"), |_| ()).await.unwrap();
    fetcher.may_visit(&[&server.url("/")]).await.unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let expected =
        format!("user-agent: Edgezoom/{version} (+https://zoom.example.com/bot; zoom@example.com)\r\n");
    let heads = server.requests.lock().unwrap().clone();
    assert!(heads.len() == 2 && heads.iter().all(|head| head.contains(&expected)), "{heads:?}");
}
