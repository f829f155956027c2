//! Dialogs, popups, permissions, endless loading, redirects, and cleanup after a page is closed.

use std::sync::Arc;
use std::time::Duration;

use edgezoom_content::SourceUrl;
use edgezoom_tiler::browser::Pages;
use tokio::sync::Notify;

use crate::processes;
use crate::screenshot::{Screenshot, capture, capture_url, settings};
use crate::site::{Reply, Site};

const MAGENTA: [u8; 3] = [255, 0, 255];

#[tokio::test]
async fn dialogs_are_dismissed() {
    let site = Site::page(
        "<!doctype html><body><script>
         onbeforeunload = event => { event.preventDefault(); return 'stay' };
         alert(1); const yes = confirm(2); const text = prompt(3, 'x'); print();
         document.body.style.background = yes || text !== null ? '#000' : '#f0f'</script>",
    );
    assert_eq!(capture_url(&site.url("/")).await.at(99, 99), MAGENTA);
}

#[tokio::test]
async fn popups_and_downloads_are_prevented() {
    let site = Site::serve("127.0.0.2", |path| {
        match path {
        "/" => Reply::Html(
            "<!doctype html><body style='background:#f0f'><a href=/file download>a</a><a href=/popup target=_blank>b</a>
             <script>window.open('/popup'); document.querySelectorAll('a').forEach(link => link.click());
             onload = () => { const frame = document.createElement('iframe'); frame.hidden = true; frame.src = '/file';
               document.body.append(frame) }</script>"
                .to_owned(),
        ),
        "/file" => Reply::Raw(200, "Content-Disposition: attachment; filename=download.bin\r\n".to_owned(), vec![1; 99]),
        _ => Reply::Html("<p>popup".to_owned()),
    }
    });
    assert_eq!(capture_url(&site.url("/")).await.at(900, 900), MAGENTA);
    assert!(!site.requests().contains(&"/popup".to_owned()), "{:?}", site.requests());
    assert!(!std::path::Path::new("download.bin").exists());
}

#[tokio::test]
async fn permissions_are_denied() {
    let site = Site::page(
        "<!doctype html><body><script>
         const denied = new Promise(done => navigator.geolocation.getCurrentPosition(() => done(0), () => done(1)));
         const camera = navigator.mediaDevices.getUserMedia({ video: true }).then(() => 0, () => 1);
         const notices = Notification.requestPermission().then(state => state === 'granted' ? 0 : 1);
         Promise.all([denied, camera, notices]).then(all =>
           document.body.style.background = all.every(Boolean) ? '#f0f' : '#000')</script>",
    );
    assert_eq!(capture_url(&site.url("/")).await.at(99, 99), MAGENTA);
}

#[tokio::test]
async fn a_picture_that_never_arrives_is_left_out() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html("<!doctype html><body style='background:#f0f'><img src=/never>".to_owned()),
        _ => Reply::Silence,
    });
    let mut settings = settings();
    settings.limits.settle = Duration::from_secs(4);
    assert_eq!(capture(settings, &site.url("/")).await.unwrap().at(900, 900), MAGENTA);
}

#[tokio::test]
async fn a_page_that_never_stops_sending_requests_is_captured() {
    let site = Site::serve("127.0.0.2", |path| {
        match path {
        "/" => Reply::Html(
            "<!doctype html><body style='background:#f0f'><script>
             setInterval(() => fetch('/poll?' + Math.random()), 100); fetch('/long'); new EventSource('/events')</script>"
                .to_owned(),
        ),
        "/long" | "/events" => Reply::Silence,
        _ => Reply::status(200),
    }
    });
    let mut settings = settings();
    settings.limits.settle = Duration::from_secs(4);
    assert_eq!(capture(settings, &site.url("/")).await.unwrap().at(900, 900), MAGENTA);
}

#[tokio::test]
async fn a_page_that_reloads_for_ever_is_captured() {
    let site = Site::page(
        "<!doctype html><body style='background:#f0f'><script>setTimeout(() => location.reload(), 50)</script>",
    );
    assert_eq!(capture_url(&site.url("/")).await.at(900, 900), MAGENTA);
    assert!(site.requests().iter().filter(|path| *path == "/").count() <= 3, "{:?}", site.requests());
}

#[tokio::test]
async fn a_script_that_never_ends_is_stopped() {
    for script in ["for (;;);", "const end = Date.now() + 100; while (Date.now() < end);"] {
        let site = Site::page(&format!(
            "<!doctype html><body><script>setTimeout(() => {{ {script} }}, 300);
             setTimeout(() => document.body.style.background = '#f0f', 2000)</script>"
        ));
        let mut settings = settings();
        settings.limits.command = Duration::from_secs(4);
        assert_eq!(capture(settings, &site.url("/")).await.unwrap().at(900, 900), MAGENTA, "{script}");
    }
}

#[tokio::test]
async fn a_page_that_leaves_for_a_server_that_does_not_respond_is_captured() {
    let site = Site::serve("127.0.0.2", |path| {
        match path {
        "/" => Reply::Html(
            "<!doctype html><body style='background:#f0f'><script>setTimeout(() => location = '/never', 300)</script>"
                .to_owned(),
        ),
        _ => Reply::Silence,
    }
    });
    let mut settings = settings();
    settings.limits.settle = Duration::from_secs(8);
    let page = capture(settings, &site.url("/")).await.unwrap();
    assert_eq!((page.at(900, 900), page.url), (MAGENTA, site.url("/")));
}

#[tokio::test]
async fn a_page_stays_while_it_is_scrolled() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html(
            "<!doctype html><body style='margin:0'><div style='height:5000px;background:#f0f'></div>
             <script>onscroll = () => location = '/next'</script>"
                .to_owned(),
        ),
        _ => Reply::Html("<!doctype html><body>next".to_owned()),
    });
    let page = capture_url(&site.url("/")).await;
    assert_eq!((page.height, page.at(900, 9900)), (10_000, MAGENTA));
    assert!(!site.requests().contains(&"/next".to_owned()));
}

#[tokio::test]
async fn a_page_is_drawn_however_long_its_requests_take() {
    // Chromium draws no frame while the page's clock is behind real time.
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html(
            "<!doctype html><body><script>fetch('/slow').then(() => requestAnimationFrame(() =>
             document.body.style.background = '#f0f'))</script>"
                .to_owned(),
        ),
        _ => {
            std::thread::sleep(Duration::from_secs(3));
            Reply::status(200)
        }
    });
    let mut settings = settings();
    settings.limits.virtual_time = Duration::from_secs(1);
    assert_eq!(capture(settings, &site.url("/")).await.unwrap().at(900, 900), MAGENTA);
}

#[tokio::test]
async fn redirects_of_every_kind_lead_to_the_page() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::redirect("/meta"),
        "/meta" => Reply::Html("<meta http-equiv=refresh content='0;url=/script'>".to_owned()),
        "/script" => Reply::Html("<script>location.replace('/end')</script>".to_owned()),
        _ => Reply::Html("<!doctype html><title>End</title><body style='background:#f0f'>".to_owned()),
    });
    let page = capture_url(&site.url("/")).await;
    assert_eq!((page.title.as_str(), &page.url), ("End", &site.url("/end")));
    assert_eq!(page.at(99, 99), MAGENTA);
}

#[tokio::test]
async fn requests_name_the_service_and_not_the_proxys_password() {
    let site = Site::page("<!doctype html><body>");
    capture_url(&site.url("/")).await;
    let heads = site.heads();
    assert!(heads.contains("Edgezoom/") && heads.contains(" Chrome/"), "{heads}");
    assert!(!heads.contains("Headless") && !heads.to_lowercase().contains("proxy"), "{heads}");
    assert!(heads.contains(&format!("Host: {}", site.address)), "{heads}");
}

#[tokio::test]
async fn pages_share_no_storage() {
    let site = Site::page(
        "<!doctype html><body><script>
         document.body.style.background = localStorage.been || document.cookie ? '#000' : '#f0f';
         localStorage.been = 1; document.cookie = 'been=1;max-age=9999'</script>",
    );
    let pages = Pages::new(settings());
    let url = SourceUrl::parse(&site.url("/")).unwrap();
    for _ in 0..2 {
        let page = Screenshot::of(pages.open(&url, None).await.unwrap()).await.unwrap();
        assert_eq!(page.at(99, 99), MAGENTA);
    }
}

#[tokio::test]
async fn a_captured_page_leaves_no_process_and_no_file() {
    for namespaces in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = settings();
        (settings.namespaces, settings.folder) = (namespaces, folder.path().to_owned());
        let url = SourceUrl::parse(&Site::page("<!doctype html><body>").url("/")).unwrap();
        let page = Pages::new(settings).open(&url, None).await.unwrap();
        let running = processes::of(folder.path());
        assert!(running.len() >= 3, "{running:?}");
        page.write_screenshot(&mut tokio::io::sink()).await.unwrap();
        assert!(processes::have_exited(&running), "namespaces: {namespaces}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_cancelled_page_leaves_no_process_and_no_file() {
    for namespaces in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = settings();
        (settings.namespaces, settings.folder) = (namespaces, folder.path().to_owned());
        let asked = Arc::new(Notify::new());
        let asking = Arc::clone(&asked);
        let site = Site::serve("127.0.0.2", move |_| {
            asking.notify_one();
            Reply::Silence
        });
        let url = SourceUrl::parse(&site.url("/")).unwrap();
        let pages = Pages::new(settings);
        let running = async {
            asked.notified().await;
            processes::of(folder.path())
        };
        let running = tokio::select! {
            _ = pages.open(&url, None) => panic!("a page opened without a response"),
            running = running => running, // this cancels the opening
        };
        assert!(!running.is_empty());
        assert!(processes::have_exited(&running), "namespaces: {namespaces}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn the_number_of_open_pages_is_limited() {
    let site = Site::page("<!doctype html><body>");
    let url = SourceUrl::parse(&site.url("/")).unwrap();
    let others = Pages::new(settings());
    let mut settings = settings();
    settings.limits.at_once = std::num::NonZeroUsize::MIN;
    let pages = Pages::new(settings);
    let first = pages.open(&url, None).await.unwrap();
    let mut second = std::pin::pin!(pages.open(&url, None));
    // Two pages without this limit are opened and closed in the meantime.
    for _ in 0..2 {
        tokio::select! {
            _ = &mut second => panic!("a second page opened"),
            other = others.open(&url, None) => drop(other.unwrap()),
        }
    }
    first.write_screenshot(&mut tokio::io::sink()).await.unwrap();
    second.await.unwrap();
}
