//! Tests `tiler doctor` on this machine, as this user and as another, with and without namespaces.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::io::{Read, Write};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

const TILER: &str = env!("CARGO_BIN_EXE_tiler");

fn doctor(mut command: Command, args: &[&str]) -> (String, bool) {
    let Output { stdout, stderr, status } = command.arg("doctor").args(args).output().unwrap();
    assert!(stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    (String::from_utf8(stdout).unwrap(), status.success())
}

/// Returns commands that run the tiler as this user and, if the tests run as root, as nobody. True stands for root.
fn users() -> Vec<(bool, Command)> {
    let is_root = rustix::process::geteuid().is_root();
    let mut users = vec![(is_root, Command::new(TILER))];
    if is_root {
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", TILER]);
        users.push((false, nobody));
    }
    users
}

#[test]
fn the_sandbox_works_for_every_user_and_only_root_is_reported() {
    for (is_root, command) in users() {
        let (text, succeeded) = doctor(command, &["--require", "user", "--chromium", "/no/browser"]);
        assert!(text.contains("ok       renderer: sandbox: works"), "{text}");
        assert_eq!(text.contains("MISSING  user: the tiler runs as root"), is_root, "{text}");
        assert!(text.contains("missing  web pages: browser"), "{text}");
        assert_eq!(succeeded, !is_root, "{text}");
    }
}

#[test]
fn a_missing_requirement_fails_with_a_remedy() {
    let mut command = Command::new(TILER);
    command.env("EDGEZOOM_PDFIUM", "/no/library.so");
    let (text, succeeded) = doctor(command, &["--require", "pdf", "--chromium", "/no/browser"]);
    assert!(!succeeded);
    assert!(text.contains("MISSING  PDF: library"), "{text}");
    assert!(text.contains("→ copy libpdfium.so to the program's directory"), "{text}");
    let (text, succeeded) =
        doctor(Command::new(TILER), &["--tmp", "/no/folder", "--chromium", "/no/browser"]);
    assert!(!succeeded && text.contains("MISSING  temporary files"), "{text}");
}

/// Starts a server that responds to one request.
fn edge(status: &str, body: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1000]);
        stream.write_all(answer.as_bytes()).unwrap();
    });
    format!("http://{address}/")
}

#[test]
fn an_edge_that_does_not_know_its_url_is_an_error() {
    let unset =
        edge("503 Service Unavailable", "The service is not set up yet: its operator has to set BASE_URL.");
    for (address, found, succeeds) in [
        (edge("200 OK", "{}"), "ok       edge: ", true),
        (unset, "MISSING  edge: 503 Service Unavailable: The service is not set up", false),
        (edge("500 Internal Server Error", ""), "responds with 500", false),
        ("http://127.0.0.1:1/".to_owned(), "Connection refused", false),
    ] {
        let args = ["--edge-url", &address, "--chromium", "/no/browser"];
        let (text, succeeded) = doctor(Command::new(TILER), &args);
        assert!(text.contains(found), "{text}");
        assert_eq!(succeeded, succeeds, "{text}");
        assert_eq!(
            text.contains("→ set the service's domain in edgezoom.toml"),
            text.contains("503 Service"),
            "{text}"
        );
    }
}

/// Runs the tiler as the same users, with a system call filter that forbids namespaces like that of most containers. A
/// child process of the tests installs the filter and then executes the tiler.
fn without_namespaces(arguments: &str) -> Vec<(bool, Output)> {
    let child = std::env::current_exe().unwrap();
    let commands = users().into_iter().map(|(is_root, mut command)| {
        let program = command.get_program().to_owned();
        if program == TILER {
            command = Command::new(&child);
        } else {
            let switch: Vec<_> = command.get_args().take_while(|argument| *argument != TILER).collect();
            let mut switched = Command::new(&program);
            switched.args(switch).arg(&child);
            command = switched;
        }
        command.args([
            "--exact",
            "doctor::becomes_the_tiler",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        (is_root, command.env(ARGUMENTS, arguments).output().unwrap())
    });
    commands.collect()
}

/// Environment variable with the arguments for the tiler that the child process executes.
const ARGUMENTS: &str = "EDGEZOOM_TEST_ARGUMENTS";

/// The child process, not a test by itself.
#[test]
#[ignore = "replaces the process"]
fn becomes_the_tiler() {
    use std::os::unix::process::CommandExt;

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let architecture: TargetArch = std::env::consts::ARCH.try_into().unwrap();
    let forbidden = [(libc::SYS_unshare, vec![])].into_iter().collect();
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(forbidden, SeccompAction::Allow, denied, architecture).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    panic!("{}", Command::new(TILER).args(arguments.split(' ')).exec());
}

#[test]
fn namespaces_are_tested_for_every_user() {
    // Any program can stand in for the browser, because it is not started.
    for (is_root, command) in users() {
        let (text, succeeded) = doctor(command, &["--chromium", TILER]);
        let works =
            text.contains("ok       web pages: namespaces: work: pages have no network except the proxy");
        let container = text.contains("MISSING  web pages: namespaces: ") && !succeeded;
        assert!(works || container, "{text}");
        let user = if is_root { "as the user nobody" } else { "as this user" };
        assert!(!works || succeeded && text.contains(user), "{text}");
    }
    for (is_root, output) in without_namespaces(&format!("doctor --chromium {TILER}")) {
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!output.status.success(), "{text}");
        let reason = "MISSING  web pages: namespaces: cannot create namespaces: Operation not permitted (os error 1); ";
        let then = if is_root {
            "web pages are refused"
        } else {
            "only Chromium's own sandbox and the proxy confine"
        };
        assert!(text.contains(&format!("{reason}{then}")) && text.contains("→ allow them: sysctl"), "{text}");
    }
}

#[test]
fn root_opens_web_pages_without_namespaces_only_with_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    std::fs::write(&page, "<!doctype html>").unwrap();
    let convert = format!("convert {} --output {0}.out --chromium {TILER}", page.display());
    let refused = "The source is a web page, but this service has no sandbox for web pages.";
    for (arguments, is_refused) in
        [(convert.clone(), true), (convert + " --web-pages-without-sandbox", false)]
    {
        for (is_root, output) in without_namespaces(&arguments) {
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success(), "the tiler is no browser");
            assert_eq!(error.contains(refused), is_root && is_refused, "{error}");
        }
    }
}

#[test]
fn a_browser_without_updates_for_sixty_days_is_reported_and_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let browser = folder.path().join("chromium");
    std::fs::write(&browser, "#!/bin/sh\n").unwrap();
    for (days, is_old) in [(59, false), (61, true)] {
        let built = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        std::fs::File::options().write(true).open(&browser).unwrap().set_modified(built).unwrap();
        let (text, _) = doctor(Command::new(TILER), &["--chromium", browser.to_str().unwrap()]);
        let mark = if is_old { "old    " } else { "ok     " };
        assert!(text.contains(&format!("{mark}  web pages: browser's age: built {days} days ago")), "{text}");
        assert_eq!(text.contains("→ update it"), is_old, "{text}");
    }
}
