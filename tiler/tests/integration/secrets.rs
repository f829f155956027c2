//! Tests what other processes of the tiler's user can read of a running service.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Returns a command that runs a program as a user without privileges: this one, or nobody if the tests run as root.
fn unprivileged(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", program]);
    command
}

/// Returns the files in `/proc` of a process that another process of the same user can read.
fn readable(process: &Child) -> Vec<&'static str> {
    let can_read = |file: &&str| {
        let path = format!("/proc/{}/{file}", process.id());
        // Of a directory, the name of an entry's target counts, and of memory the permission to open it.
        let script = match *file {
            "fd" => "readlink \"$1\"/0 || readlink \"$1\"/1",
            "mem" => "exec 3< \"$1\"",
            _ => "grep --quiet --text . \"$1\"",
        };
        let mut reader = unprivileged("sh");
        reader.args(["-c", script, "sh", &path]).stdout(Stdio::null()).stderr(Stdio::null());
        reader.status().unwrap().success()
    };
    ["environ", "maps", "mem", "fd"].into_iter().filter(can_read).collect()
}

#[test]
fn a_browser_of_the_same_user_cannot_read_the_tokens_of_the_service() {
    let mut ordinary = unprivileged("sleep").arg("600").env("A", "b").stdout(Stdio::null()).spawn().unwrap();
    // The process is the other program's before it executes this one.
    while std::fs::read(format!("/proc/{}/cmdline", ordinary.id())).unwrap() != b"sleep\x00600\0" {
        std::thread::yield_now();
    }
    let of_ordinary = readable(&ordinary);
    ordinary.kill().unwrap();
    ordinary.wait().unwrap();
    assert_eq!(of_ordinary, ["environ", "maps", "mem", "fd"]);

    let mut serve = unprivileged(env!("CARGO_BIN_EXE_tiler"))
        .arg("serve")
        .envs([
            ("EDGEZOOM_EDGE_URL", "http://127.0.0.1:9/"),
            ("EDGEZOOM_TILER_TOKEN", "tiler-token"),
            ("EDGEZOOM_QUEUE_URL", "http://127.0.0.1:9/"),
            ("EDGEZOOM_QUEUE_TOKEN", "queue-token"),
            ("EDGEZOOM_S3_ENDPOINT", "http://127.0.0.1:9/"),
            ("EDGEZOOM_S3_BUCKET", "pyramids"),
            ("EDGEZOOM_S3_ACCESS_KEY_ID", "key"),
            ("EDGEZOOM_S3_SECRET_ACCESS_KEY", "store-secret"),
            ("EDGEZOOM_CHROMIUM", "/no/browser"),
            ("EDGEZOOM_LISTEN", "127.0.0.1:0"),
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(serve.stderr.take().unwrap()).lines().map_while(Result::ok);
    let has_started = log.any(|line| line.contains("tiler serves"));
    let of_service = readable(&serve);
    assert_eq!(serve.try_wait().unwrap(), None, "a process that has ended has no secrets");
    // The service writes a line when it ends, and needs no reader for it.
    drop(log);
    let process = rustix::process::Pid::from_child(&serve);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(serve.wait().unwrap().success());
    assert!(has_started);
    assert_eq!(of_service, [""; 0]);
}
