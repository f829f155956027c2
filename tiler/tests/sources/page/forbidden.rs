//! A page tries all kinds of requests to an address that the policy forbids, and the server there must receive none.
//! The tests run with and without namespaces, and once with a policy that permits the requests, to prove that they
//! would arrive.

use std::io::Write;
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{io, iter};

use edgezoom_content::AddressPolicy;
use edgezoom_test_support::patience;
use edgezoom_tiler::browser::find_browser;
use edgezoom_tiler::fetch::resolver::Resolver;
use edgezoom_tiler::local_networks;
use futures::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::screenshot::{capture, settings};
use crate::site::{Reply, Site};

const MAGENTA: [u8; 3] = [255, 0, 255];

/// Page that tries the requests. `@` is the forbidden server, `~` a path of the page's server that redirects to it.
const ATTEMPTS: &str = r#"<!doctype html><meta charset=utf-8>
<link rel=icon href="@/icon.png">
<link rel=stylesheet href="@/style.css">
<link rel=preload as=image href="@/preload.png">
<link rel=prefetch href="@/prefetch">
<link rel=preconnect href="@/"><link rel=dns-prefetch href="@/">
<link rel=manifest href="@/manifest.json">
<script type=speculationrules>{"prefetch":[{"urls":["@/speculation"],"eagerness":"immediate"}],
  "prerender":[{"urls":["/prerender"],"eagerness":"immediate"}]}</script>
<style>@import url("@/import.css"); @font-face{font-family:f;src:url("@/font.woff2")} body{margin:0;font-family:f,serif}
  iframe,object,embed,img,video{width:100px;height:100px;border:0;display:block} .visible{height:500px;background:#f0f}</style>
<script src="@/script.js"></script>
<div class=visible></div>
<iframe id=file src="file:///etc/passwd"></iframe>
<img src="@/image.png"><img src="~/image-redirect"><img src="file:///etc/passwd" style="display:none">
<iframe src="@/frame"></iframe><iframe src="~/frame-redirect"></iframe>
<iframe srcdoc="<meta http-equiv=refresh content='0;url=@/refresh'>"></iframe>
<object data="@/object"></object><embed src="@/embed"><video src="@/video.mp4" autoplay muted></video>
<form action="@/form" method=post target=formed><input name=a value=b></form><iframe name=formed></iframe>
<div class=visible></div>
<script>
  const host = '@'.slice(7), quiet = () => {};
  document.querySelector('form').submit();
  fetch('@/fetch', { mode: 'no-cors' }).catch(quiet);
  fetch('@/fetch-post', { mode: 'no-cors', method: 'POST', body: 'x', keepalive: true }).catch(quiet);
  fetch('~/fetch-redirect', { mode: 'no-cors' }).catch(quiet);
  fetch('@/fetch-local', { mode: 'no-cors', targetAddressSpace: 'loopback' }).catch(quiet);
  const request = new XMLHttpRequest(); request.open('GET', '@/xhr'); request.onerror = quiet; request.send();
  navigator.sendBeacon('@/beacon', 'x');
  new WebSocket('ws://' + host + '/socket'); new EventSource('@/events');
  try { new WebTransport('https://' + host + '/transport').ready.catch(quiet) } catch {}
  for (const ice of ['stun:' + host, 'turn:' + host + '?transport=udp', 'turn:' + host + '?transport=tcp']) {
    const peer = new RTCPeerConnection({ iceServers: [{ urls: ice, username: 'u', credential: 'c' }] });
    peer.createDataChannel('c'); peer.createOffer().then(offer => peer.setLocalDescription(offer));
    peer.addIceCandidate({ sdpMLineIndex: 0,
      candidate: 'candidate:1 1 udp 2122260223 127.0.0.1 ' + host.split(':')[1] + ' typ host' }).catch(quiet);
  }
  new Worker(URL.createObjectURL(new Blob(["fetch('@/worker', { mode: 'no-cors' }); importScripts('@/import.js')"])));
  navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).catch(quiet);
  fetch('/login', { credentials: 'include' }).catch(quiet);
</script>"#;

/// Requests that must arrive if they are permitted. Otherwise the test would prove nothing.
const EXPECTED: [&str; 22] = [
    "/style.css",
    "/preload.png",
    "/prefetch",
    "/script.js",
    "/image.png",
    "/image-redirect",
    "/frame",
    "/frame-redirect",
    "/refresh",
    "/object",
    "/form",
    "/fetch",
    "/fetch-post",
    "/fetch-redirect",
    "/xhr",
    "/beacon",
    "/socket",
    "/events",
    "/worker",
    "/import.js",
    "/embed",
    "/service-worker",
];

/// Serves the page at 127.0.0.2. It sends its requests to `forbidden`.
fn attacker(forbidden: String) -> Site {
    Site::serve("127.0.0.2", move |path| match path {
        "/" => {
            Reply::Html(ATTEMPTS.replace('@', &forbidden).replace("\"~", "\"/away").replace("'~", "'/away"))
        }
        "/worker.js" => Reply::of_type(
            "text/javascript",
            format!("fetch('{forbidden}/service-worker', {{ mode: 'no-cors' }}).catch(() => {{}})"),
        ),
        "/login" => Reply::Raw(407, "Proxy-Authenticate: Basic realm=\"page\"\r\n".to_owned(), Vec::new()),
        path => match path.strip_prefix("/away") {
            Some(path) => Reply::redirect(&format!("{forbidden}{path}")),
            None => Reply::status(404),
        },
    })
}

/// Serves the address that must not receive a request, with a UDP socket on the same port.
fn target() -> (Site, UdpSocket) {
    target_at("127.0.0.1")
}

fn target_at(address: &str) -> (Site, UdpSocket) {
    let site = Site::serve(address, |_| Reply::Html("<body style='background:#000'>".to_owned()));
    let datagrams = UdpSocket::bind(site.address).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    (site, datagrams)
}

/// Returns combinations of namespaces and browser: the default browser with and without namespaces, and each installed
/// Chromium, because their flags differ.
fn variants() -> Vec<(bool, Option<PathBuf>)> {
    let browsers =
        ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium"].map(PathBuf::from);
    let browsers = browsers.into_iter().filter(|browser| browser.exists()).map(Some);
    let mut variants: Vec<_> = browsers.map(|browser| (false, browser)).collect();
    variants.extend([(true, None), (false, None)]);
    variants
}

/// Returns two policies that forbid the address: one does not allow its network, and one denies it within an allowed
/// network.
fn policies() -> [AddressPolicy; 2] {
    let denying = AddressPolicy::allowing("127.0.0.0/8").unwrap().denying("127.0.0.1/32").unwrap();
    [AddressPolicy::allowing("127.0.0.2/32").unwrap(), denying]
}

#[tokio::test]
async fn forbidden_servers_receive_no_request() {
    attack("127.0.0.1", &policies()).await;
}

/// Runs the page in all variants. The server at `address`, which the policies forbid, must receive nothing.
async fn attack(address: &str, policies: &[AddressPolicy]) {
    for ((namespaces, browser), policy) in variants().into_iter().zip(policies.iter().cycle()) {
        let (forbidden, datagrams) = target_at(address);
        let site = attacker(forbidden.url(""));
        let mut settings = settings();
        settings.namespaces = namespaces;
        settings.browser = browser.clone();
        settings.policy = policy.clone();
        settings.limits.quiet = Duration::from_secs(3);
        let page = capture(settings, &site.url("/")).await.unwrap();
        // The browser has exited, so these arrive after everything that it sent.
        TcpStream::connect(forbidden.address).unwrap().write_all(b"GET /last HTTP/1.1\r\n\r\n").unwrap();
        UdpSocket::bind((address, 0)).unwrap().send_to(b"last", forbidden.address).unwrap();
        while !forbidden.requests().contains(&"/last".to_owned()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(forbidden.requests(), ["(connection)", "/last"], "{browser:?}, namespaces: {namespaces}");
        let mut datagram = [0; 4];
        datagrams.recv(&mut datagram).unwrap();
        assert_eq!(&datagram, b"last", "{browser:?}, namespaces: {namespaces}: a datagram arrived");
        assert!(site.requests().contains(&"/worker.js".to_owned()), "{:?}", site.requests());

        assert_eq!(page.at(10, 10), MAGENTA);
        assert_eq!(page.count(MAGENTA), 2 * 1000 * 2560, "the rest of the page is visible");
        let file = (1000..1200).flat_map(|y| (0..200).map(move |x| (x, y)));
        assert!(file.into_iter().all(|(x, y)| page.at(x, y) == [255; 3]), "a local file is visible");
    }
}

#[test]
fn this_machines_own_global_address_receives_no_request() {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    command.args(["--net", "--"]).arg(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "page::forbidden::attacks_on_an_own_global_address",
        "--ignored",
        "--nocapture",
    ]);
    let output = command.env(NAMESPACE, "").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Environment variable of the process in the network namespace.
const NAMESPACE: &str = "EDGEZOOM_TEST_NAMESPACE";

/// Runs in the namespace, and does nothing by itself: it changes the loopback interface.
#[tokio::test]
#[ignore = "changes the network"]
async fn attacks_on_an_own_global_address() {
    if std::env::var_os(NAMESPACE).is_none() {
        return;
    }
    const OWN: &str = "93.184.216.34";
    for arguments in [&["link", "set", "lo", "up"][..], &["address", "add", OWN, "dev", "lo"]] {
        assert!(Command::new("ip").args(arguments).status().unwrap().success(), "ip {arguments:?}");
    }
    let policy = AddressPolicy::allowing("127.0.0.2/32").unwrap();
    attack(OWN, &[policy.clone().refusing_local(local_networks::follow(vec![]).unwrap())]).await;
    // Without the list, they arrive.
    let (own, _) = target_at(OWN);
    let mut settings = settings();
    settings.policy = policy;
    capture(settings, &attacker(own.url("")).url("/")).await.unwrap();
    let requests = own.requests();
    assert!(
        ["/frame", "/fetch", "/image.png"].iter().all(|path| requests.iter().any(|it| it == path)),
        "{requests:?}"
    );
}

#[tokio::test]
async fn all_requests_arrive_when_they_are_permitted() {
    let (allowed, _) = target();
    let site = attacker(allowed.url(""));
    let mut settings = settings();
    settings.policy = AddressPolicy::allowing("127.0.0.0/8").unwrap();
    settings.limits.quiet = Duration::from_secs(3);
    capture(settings, &site.url("/")).await.unwrap();
    let requests = allowed.requests();
    let missed: Vec<&str> =
        EXPECTED.into_iter().filter(|path| !requests.iter().any(|request| request == path)).collect();
    assert_eq!(missed, [""; 0], "{requests:?}");
}

/// Without our flags and proxy, the page's WebRTC and WebTransport reach the server over UDP. This proves that the test
/// above would detect them.
#[test]
fn datagrams_of_webrtc_and_quic_arrive_from_an_unmodified_browser() {
    let (target, datagrams) = target();
    let site = attacker(target.url(""));
    let profile = tempfile::tempdir().unwrap();
    let mut browser = Command::new(find_browser(None).unwrap());
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-quic",
        "--remote-debugging-port=0",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.path().display())).arg(site.url("/"));
    let mut browser = browser.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    let end = Instant::now() + patience();
    let (mut stun, mut quic) = (false, false);
    while !(stun && quic) && Instant::now() < end {
        let mut packet = [0; 2000];
        match datagrams.recv(&mut packet) {
            Ok(_) => {
                stun |= packet[4..8] == [0x21, 0x12, 0xa4, 0x42]; // magic cookie (RFC 8489, section 5)
                quic |= packet[0] & 0xc0 == 0xc0; // long header (RFC 9000, section 17.2)
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    kill_process_group(Pid::from_child(&browser), Signal::KILL).unwrap();
    browser.wait().unwrap();
    assert!(stun && quic, "STUN {stun}, QUIC {quic}: {:?}", site.requests());
}

#[tokio::test]
async fn names_and_other_spellings_of_a_forbidden_address_are_refused() {
    struct Loopback;
    impl Resolver for Loopback {
        fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]) })
        }
    }
    let (forbidden, _) = target();
    let port = forbidden.address.port();
    let hosts =
        ["localhost", "a.localhost", "evil.example.com", "127.1", "0", "0.0.0.0", "2130706433", "0x7f.1"];
    let hosts =
        hosts.into_iter().chain(["[::1]", "[::ffff:127.0.0.1]", "[::]", "169.254.169.254", "127.0.0.1."]);
    let images: String = hosts.map(|host| format!("<img src='http://{host}:{port}/'>")).collect();
    let site = Site::page(&format!("<!doctype html><body style='background:#f0f'>{images}"));
    for namespaces in [true, false] {
        let mut settings = settings();
        settings.namespaces = namespaces;
        settings.resolver = Arc::new(Loopback);
        let page = capture(settings, &site.url("/")).await.unwrap();
        assert_eq!(page.at(2000, 1500), MAGENTA);
    }
    assert_eq!(forbidden.requests(), [""; 0]);
}

#[tokio::test]
async fn dns_rebinding_gains_nothing() {
    /// Resolves to the address of the page the first time, and then to a forbidden one.
    #[derive(Default)]
    struct Rebinding(AtomicUsize);
    impl Resolver for Rebinding {
        fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            if name != "rebind.example.com" {
                return Box::pin(async { Ok(vec![]) }); // some browsers send their own requests
            }
            let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
            let address = if first { "127.0.0.2" } else { "127.0.0.1" };
            Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
        }
    }
    // Both servers need the same port, which may be in use at the second address.
    let (forbidden, listener) =
        iter::repeat_with(|| Site::serve("127.0.0.1", |_| Reply::Html("secret".to_owned())))
            .take(20)
            .find_map(|site| {
                TcpListener::bind(("127.0.0.2", site.address.port())).ok().map(|second| (site, second))
            })
            .unwrap();
    let port = forbidden.address.port();
    let site = Site::serve_on(listener, |_| {
        Reply::Html(
            "<!doctype html><body style='background:#f0f'><img src=/image><iframe src=/frame></iframe><script>
             const read = () => fetch('/secret').then(answer => answer.text())
               .then(text => { if (text.includes('secret')) document.body.style.background = '#000' }, () => {});
             read(); setTimeout(read, 300); setTimeout(read, 600)</script>"
                .to_owned(),
        )
    });
    let mut settings = settings();
    let resolver = Arc::new(Rebinding::default());
    settings.resolver = Arc::clone(&resolver) as Arc<dyn Resolver>;
    let page = capture(settings, &format!("http://rebind.example.com:{port}/")).await.unwrap();
    assert_eq!(page.at(2000, 1500), MAGENTA);
    assert!(resolver.0.load(Ordering::SeqCst) >= 4, "the name was resolved again");
    assert_eq!(site.requests(), ["(connection)", "/"]);
    assert_eq!(forbidden.requests(), [""; 0]);
}
