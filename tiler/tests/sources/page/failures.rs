//! Failures of pages that cannot be captured, as clients see them.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use edgezoom_content::{AddressPolicy, FailureCode, SourceUrl};
use edgezoom_tiler::browser::{PageError, PageSettings, Pages};
use futures::future::BoxFuture;

use crate::chromium;
use crate::processes;
use crate::screenshot::{capture, settings};
use crate::site::{Reply, Site};

async fn code(settings: PageSettings, url: &str) -> FailureCode {
    match capture(settings, url).await {
        Ok(page) => panic!("{url} was captured: {}", page.title),
        Err(error) => {
            let failure = crate::failure(error);
            assert!(!failure.message.contains("127.0.0"), "{failure:?}");
            failure.code
        }
    }
}

#[tokio::test]
async fn the_response_of_the_server_determines_the_failure() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/zip" => Reply::of_type("application/zip", "PK"),
        "/download" => Reply::Raw(
            200,
            "Content-Type: text/html\r\nContent-Disposition: attachment\r\n".to_owned(),
            b"<p>".to_vec(),
        ),
        "/nothing" => Reply::Raw(204, String::new(), Vec::new()),
        "/truncated" => Reply::Truncated,
        "/round" => Reply::redirect("/round"),
        "/empty/404" => Reply::Raw(404, String::new(), Vec::new()),
        path => Reply::status(path[1..].parse().unwrap_or(404)), // some browsers request an icon
    });
    use FailureCode::*;
    for (path, expected) in [
        ("/404", SourceNotFound),
        ("/410", SourceNotFound),
        ("/empty/404", SourceNotFound),
        ("/403", SourceForbidden),
        ("/401", SourceForbidden),
        ("/500", SourceUnreachable),
        ("/round", SourceUnreachable),
        ("/truncated", SourceUnreachable),
        ("/zip", UnsupportedFormat),
        ("/download", UnsupportedFormat),
        ("/nothing", UnsupportedFormat),
    ] {
        assert_eq!(code(settings(), &site.url(path)).await, expected, "{path}");
    }
}

#[tokio::test]
async fn a_refused_address_is_forbidden() {
    let forbidden = Site::serve("127.0.0.1", |_| Reply::Html("<p>secret".to_owned()));
    assert_eq!(code(settings(), &forbidden.url("/")).await, FailureCode::SourceForbidden);
    let port = forbidden.address.port();
    for way in ["redirect", "meta", "script"] {
        let site = Site::serve("127.0.0.2", move |_| match way {
            "redirect" => Reply::redirect(&format!("http://127.0.0.1:{port}/")),
            "meta" => {
                Reply::Html(format!("<meta http-equiv=refresh content='0;url=http://127.0.0.1:{port}/'>"))
            }
            _ => Reply::Html(format!("<script>location = 'http://127.0.0.1:{port}/'</script>")),
        });
        assert_eq!(code(settings(), &site.url("/")).await, FailureCode::SourceForbidden, "{way}");
    }
    assert_eq!(forbidden.requests(), [""; 0]);
}

#[tokio::test]
async fn an_unknown_or_unreachable_host_is_unreachable() {
    struct NoNames;
    impl edgezoom_tiler::fetch::resolver::Resolver for NoNames {
        fn resolve(&self, _: String) -> BoxFuture<'static, std::io::Result<Vec<std::net::IpAddr>>> {
            Box::pin(async { Err(std::io::ErrorKind::NotFound.into()) })
        }
    }
    let mut settings_without_names = settings();
    settings_without_names.resolver = std::sync::Arc::new(NoNames);
    let error = capture(settings_without_names, "https://nowhere.example.com/").await.err().unwrap();
    assert!(matches!(error, PageError::Unresolved), "{error:?}");

    let unused = std::net::TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap();
    for scheme in ["http", "https"] {
        let error = capture(settings(), &format!("{scheme}://{unused}/")).await.err().unwrap();
        assert!(matches!(error, PageError::Unreachable), "{scheme}: {error:?}");
    }
}

#[tokio::test]
async fn a_page_has_a_limited_time_of_its_own_and_of_the_clock() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html("<!doctype html><body><img src=/never>".to_owned()),
        _ => Reply::Silence,
    });
    let short = Duration::from_secs(2);
    let mut own = settings();
    own.limits.page = short;
    let mut real = settings();
    real.limits.page_in_all = short;
    let errors = [own, real].map(|settings| async { capture(settings, &site.url("/")).await.err().unwrap() });
    let [own, real] = futures::future::join_all(errors).await.try_into().unwrap();
    assert!(matches!(own, PageError::TookTooLong(limit) if limit == short), "{own:?}");
    assert!(matches!(real, PageError::Starved(limit) if limit == short), "{real:?}");
}

#[tokio::test]
async fn a_page_that_never_loads_times_out() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/unfinished" => Reply::Unfinished("<!doctype html><body style='background:#f0f'>".to_owned()),
        "/silent" => Reply::Silence,
        "/busy" => Reply::Html("<!doctype html><body><script>for (;;);</script>".to_owned()),
        "/alerts" => Reply::Html("<!doctype html><body><script>for (;;) alert(1)</script>".to_owned()),
        path => {
            let next = path[1..].parse::<u32>().unwrap_or_default() + 1;
            Reply::Html(format!(
                "<!doctype html><body><script>setTimeout(() => location = '/{next}', 50)</script>"
            ))
        }
    });
    for path in ["/unfinished", "/silent", "/busy", "/alerts", "/1"] {
        let mut settings = settings();
        settings.limits.settle = Duration::from_secs(3);
        settings.limits.command = Duration::from_secs(5);
        settings.limits.scroll = Duration::from_secs(2);
        assert_eq!(code(settings, &site.url(path)).await, FailureCode::TimedOut, "{path}");
    }
}

#[tokio::test]
async fn a_page_that_crashes_its_tab_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings();
    settings.folder = folder.path().to_owned();
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html("<!doctype html><body><img src=/never>".to_owned()),
        _ => Reply::Silence,
    });
    let profiles = folder.path().to_owned();
    let url = site.url("/");
    let crash = async {
        while !site.requests().contains(&"/never".to_owned()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        processes::kill_renderers(&profiles);
    };
    let (error, ()) = tokio::join!(capture(settings, &url), crash);
    let error = error.err().unwrap();
    assert!(matches!(error, PageError::Crashed), "{error:?}");
    assert_eq!(crate::failure(error).code, FailureCode::CorruptSource);
}

#[tokio::test]
async fn a_browser_that_exits_is_an_internal_failure() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings();
    settings.folder = folder.path().to_owned();
    let url = SourceUrl::parse(&Site::page("<!doctype html><body>").url("/")).unwrap();
    let page = Pages::new(settings).open(&url, None).await.unwrap();
    let running = processes::of(folder.path());
    processes::kill(processes::browser(folder.path()).unwrap());
    let error = page.write_screenshot(&mut tokio::io::sink()).await.err().unwrap();
    assert!(matches!(error, PageError::BrowserGone), "{error:?}");
    assert!(processes::have_exited(&running));
}

#[tokio::test]
async fn a_browser_that_fails_to_start_is_started_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let (browser, starts) = (folder.path().join("browser"), folder.path().join("starts"));
    let site = Site::page("<!doctype html><body style='background:#f0f'>");
    for exits in [1, 2] {
        let script = format!(
            "#!/bin/sh\necho >> {starts}\n[ $(wc -l < {starts}) -le {exits} ] && exit 1\nexec {chromium} \"$@\"\n",
            starts = starts.display(),
            chromium = chromium::executable().display(),
        );
        std::fs::write(&browser, script).unwrap();
        std::fs::set_permissions(&browser, PermissionsExt::from_mode(0o755)).unwrap();
        let mut settings = settings();
        (settings.browser, settings.namespaces) = (Some(browser.clone()), false);
        let captured = capture(settings, &site.url("/")).await;
        match exits {
            1 => assert_eq!(captured.unwrap().at(9, 9), [255, 0, 255]),
            _ => assert!(matches!(captured.err().unwrap(), PageError::BrowserGone)),
        }
        assert_eq!(std::fs::read(&starts).unwrap().len(), 2);
        std::fs::remove_file(&starts).unwrap();
    }
}

#[tokio::test]
async fn a_page_that_uses_too_much_memory_is_too_large() {
    let site = Site::page(
        "<!doctype html><body><script>const kept = [];
         for (let n = 1; n < 200; n++) kept.push(new Uint8Array(64 << 20).fill(n))</script>",
    );
    let mut settings = settings();
    settings.limits.memory = 1 << 30;
    assert_eq!(code(settings, &site.url("/")).await, FailureCode::SourceTooLarge);
}

#[tokio::test]
async fn traffic_is_bounded() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html("<!doctype html><body style='background:#f0f'><img src=/large>".to_owned()),
        "/large" => Reply::of_type("image/png", vec![0; 2 << 20]),
        _ => Reply::Html("x".repeat(2 << 20)),
    });
    let small = || {
        let mut settings = settings();
        settings.limits.traffic = 1 << 20;
        settings
    };
    assert_eq!(code(small(), &site.url("/page")).await, FailureCode::SourceTooLarge);
    let page = capture(small(), &site.url("/")).await.unwrap();
    assert_eq!(page.at(900, 900), [255, 0, 255], "the content loaded within the limit is visible");
}

#[tokio::test]
async fn what_a_page_sends_is_bounded() {
    let site = Site::page(
        "<!doctype html><body style='background:#f0f'><script>
         fetch('/victim', { method: 'POST', body: new Uint8Array(16 << 20) })</script>",
    );
    let page = capture(settings(), &site.url("/")).await.unwrap();
    assert_eq!(page.at(900, 900), [255, 0, 255], "the page is shown");
    let requests = site.requests();
    let sent = requests.iter().filter_map(|request| request.strip_prefix("(body) "));
    let sent = sent.map(|bytes| bytes.parse::<u64>().unwrap()).sum::<u64>();
    assert!((1..5 << 20).contains(&sent), "{sent} bytes");
}

#[tokio::test]
async fn a_page_gets_no_more_requests_than_its_budget() {
    let site = Site::page(
        "<!doctype html><body style='background:#f0f'><script>
         (async () => { for (let n = 0; n < 200; n += 1) await fetch(`/victim/${n}`).catch(() => {}) })()</script>",
    );
    let mut settings = settings();
    settings.limits.requests = 50;
    let page = capture(settings, &site.url("/")).await.unwrap();
    assert_eq!(page.at(900, 900), [255, 0, 255], "the page is shown");
    let requests = site.requests().iter().filter(|path| path.starts_with("/victim")).count();
    assert!((20..=50).contains(&requests), "{requests} requests");
}

#[tokio::test]
async fn a_missing_browser_is_reported() {
    let mut settings = PageSettings::new(AddressPolicy::default(), std::env::temp_dir());
    settings.browser = Some("/nowhere/chromium".into());
    let failure = crate::failure(capture(settings, "http://example.com/").await.err().unwrap());
    assert_eq!(failure.code, FailureCode::UnsupportedFormat);
    assert_eq!(failure.message, "The source is a web page, but this service has no browser for web pages.");
}
