//! `tiler doctor`: what it finds on the machine of the tests, as this user and as another, with namespaces and without.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{Read, Write};
use std::process::{Command, Output};

const TILER: &str = env!("CARGO_BIN_EXE_tiler");

fn doctor(mut command: Command, args: &[&str]) -> (String, bool) {
    let Output { stdout, stderr, status } = command.arg("doctor").args(args).output().unwrap();
    assert!(stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    (String::from_utf8(stdout).unwrap(), status.success())
}

/// As root and as nobody where the tests run as root, else as the user that they run as.
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
fn the_sandbox_holds_for_every_user_and_root_is_told_apart() {
    for (is_root, command) in users() {
        let (text, succeeded) = doctor(command, &["--require", "user", "--chromium", "/no/browser"]);
        assert!(text.contains("ok       renderer: sandbox: holds"), "{text}");
        assert_eq!(text.contains("MISSING  user: the tiler runs as root"), is_root, "{text}");
        assert!(text.contains("missing  web pages: browser"), "{text}");
        assert_eq!(succeeded, !is_root, "{text}");
    }
}

#[test]
fn what_is_asked_for_and_missing_fails_with_a_remedy() {
    let mut command = Command::new(TILER);
    command.env("EDGEZOOM_PDFIUM", "/no/library.so");
    let (text, succeeded) = doctor(command, &["--require", "pdf", "--chromium", "/no/browser"]);
    assert!(!succeeded);
    assert!(text.contains("MISSING  PDF: library"), "{text}");
    assert!(text.contains("→ copy libpdfium.so beside the program"), "{text}");
    let (text, succeeded) =
        doctor(Command::new(TILER), &["--tmp", "/no/folder", "--chromium", "/no/browser"]);
    assert!(!succeeded && text.contains("MISSING  temporary files"), "{text}");
}

/// A server that answers one request so.
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
fn an_edge_that_does_not_know_its_address_is_an_error() {
    let unset =
        edge("503 Service Unavailable", "The service is not set up yet: its operator has to set BASE_URL.");
    for (address, found, succeeds) in [
        (edge("200 OK", "{}"), "ok       edge: ", true),
        (unset, "MISSING  edge: 503 Service Unavailable: The service is not set up", false),
        (edge("500 Internal Server Error", ""), "answers 500", false),
        ("http://127.0.0.1:1/".to_owned(), "does not answer", false),
    ] {
        let args = ["--edge-url", &address, "--chromium", "/no/browser"];
        let (text, succeeded) = doctor(Command::new(TILER), &args);
        assert!(text.contains(found), "{text}");
        assert_eq!(succeeded, succeeds, "{text}");
        assert_eq!(
            text.contains("→ put the service's address into BASE_URL"),
            text.contains("503"),
            "{text}"
        );
    }
}

#[test]
fn a_browser_without_namespaces_is_an_error() {
    // Any program will do for a browser: it is not started. Without a PATH there is no unshare(1), and no namespaces.
    for (path, is_missing) in [("/nowhere", true), ("/usr/bin:/bin", false)] {
        let mut command = Command::new(TILER);
        command.env("PATH", path);
        let (text, succeeded) = doctor(command, &["--chromium", TILER]);
        if is_missing || text.contains("MISSING") {
            assert!(!succeeded && text.contains("MISSING  web pages: namespaces"), "{text}");
        } else {
            assert!(succeeded && text.contains("ok       web pages: namespaces"), "{text}");
        }
    }
}
