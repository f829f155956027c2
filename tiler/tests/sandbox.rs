//! The sandbox from inside: this test runs itself as another process, locks that in, and looks what still goes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::env;
use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use edgezoom_tiler::sandbox;
use rustix::process::{Pid, Resource, Signal};

/// What is in the environment of the process that is to lock itself in.
const INSIDE: &str = "EDGEZOOM_TEST_INSIDE";
const MEMORY: u64 = 256 << 20;

#[test]
fn nothing_but_computing_is_left() {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "inside", "--ignored", "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("all refused"), "{said}");
}

/// Not a test by itself: what the one above runs.
#[test]
#[ignore = "locks the whole process in"]
fn inside() {
    if env::var_os(INSIDE).is_none() {
        return;
    }
    let open_before = File::open("/proc/self/exe").unwrap();
    let parent = rustix::process::getppid().unwrap();
    sandbox::enter(MEMORY, Duration::from_secs(60)).unwrap();

    refused("open a file", File::open("/etc/passwd"));
    refused("create a file", File::create("/tmp/edgezoom-sandbox-test"));
    refused("read a folder", fs::read_dir("/"));
    refused("look at a file", fs::metadata("/etc/passwd"));
    refused("delete a file", fs::remove_file("/tmp/edgezoom-sandbox-test"));
    refused("duplicate what is open", open_before.try_clone());
    refused("connect", TcpStream::connect("127.0.0.1:1"));
    refused("listen", TcpListener::bind("127.0.0.1:0"));
    refused("a datagram", UdpSocket::bind("127.0.0.1:0"));
    refused("a process", Command::new("/bin/true").spawn());
    refused::<()>("another program", Err(Command::new("/bin/true").exec()));
    refused("a signal to the parent", errno(rustix::process::kill_process(parent, Signal::TERM)));
    refused(
        "a signal to itself",
        errno(rustix::process::kill_process(rustix::process::getpid(), Signal::TERM)),
    );
    refused("a pipe", errno(rustix::pipe::pipe()));
    refused("more memory", errno(rustix::process::setrlimit(Resource::Data, no_limit())));
    refused("another's limits", errno(rustix::process::prlimit(Some(Pid::INIT), Resource::Core, no_limit())));

    let mut too_much = Vec::<u8>::new();
    assert!(too_much.try_reserve_exact(MEMORY as usize).is_err(), "memory is not limited");
    let enough = thread::spawn(|| vec![1u8; MEMORY as usize / 4].len());
    assert_eq!(enough.join().unwrap(), MEMORY as usize / 4, "threads still work");
    println!("all refused");
}

fn no_limit() -> rustix::process::Rlimit {
    rustix::process::Rlimit { current: None, maximum: None }
}

fn errno<T>(result: rustix::io::Result<T>) -> io::Result<T> {
    result.map_err(io::Error::from)
}

fn refused<T>(what: &str, result: io::Result<T>) {
    match result {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        Err(error) => panic!("{what}: not refused but failed: {error}"),
        Ok(_) => panic!("{what}: was possible"),
    }
}
