//! `tiler doctor`: what it finds on the machine of the tests, as this user and as another, with namespaces and without.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

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
