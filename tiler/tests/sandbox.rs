//! Tests the sandbox from inside: the test runs itself as a child process, which enters the sandbox and tries
//! operations that it must deny.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::env;
use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::thread;
use std::time::Duration;

use edgezoom_tiler::sandbox::{self, Limits};
use rustix::process::{Pid, Resource, Signal};

/// Environment variable that is set for the child process.
const INSIDE: &str = "EDGEZOOM_TEST_INSIDE";
const MEMORY: u64 = 256 << 20;
const FILE_BYTES: u64 = 1 << 20;

#[test]
fn a_sandboxed_process_can_only_compute() {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "inside", "--ignored", "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let output_text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output_text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output_text.contains("all denied"), "{output_text}");
}

#[test]
fn a_renderer_closes_inherited_files_and_an_abort_is_told_from_a_crash() {
    let child = |name: &str| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
        command
    };
    let left_open = File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&left_open, rustix::io::FdFlags::empty()).unwrap();
    let number = left_open.as_raw_fd();
    let closing = child("closing").env("EDGEZOOM_TEST_FD", number.to_string()).output().unwrap();
    assert!(closing.status.success(), "{}", String::from_utf8_lossy(&closing.stdout));
    let aborting = child("aborting").output().unwrap();
    assert_eq!(aborting.status.signal(), Some(Signal::ABORT.as_raw()));
}

/// The child process with an inherited file.
#[test]
#[ignore = "closes the process's files"]
fn closing() {
    let Some(number) = env::var("EDGEZOOM_TEST_FD").ok().and_then(|number| number.parse::<i32>().ok()) else {
        return;
    };
    let is_open =
        || fs::read_link(format!("/proc/self/fd/{number}")).is_ok_and(|link| link.ends_with("passwd"));
    assert!(is_open());
    sandbox::close_inherited(&[number]).unwrap();
    assert!(is_open(), "close_inherited closed a file to keep");
    sandbox::close_inherited(&[]).unwrap();
    assert!(!is_open());
}

/// The child process that calls abort(3).
#[test]
#[ignore = "aborts the process"]
fn aborting() {
    if env::var_os(INSIDE).is_none() {
        return;
    }
    sandbox::give_up().unwrap();
    sandbox::enter(&Limits { memory: MEMORY, cpu: Duration::from_secs(60), file: None }).unwrap();
    std::process::abort();
}

/// The child process of the first test.
#[test]
#[ignore = "puts the whole process into the sandbox"]
fn inside() {
    if env::var_os(INSIDE).is_none() {
        return;
    }
    let open_before = File::open("/proc/self/exe").unwrap();
    let parent = rustix::process::getppid().unwrap();
    let [file, other] = [(), ()].map(|()| tempfile::tempfile().unwrap());
    let limits =
        Limits { memory: MEMORY, cpu: Duration::from_secs(60), file: Some((file.as_raw_fd(), FILE_BYTES)) };
    sandbox::give_up().unwrap();
    let capabilities = rustix::thread::capabilities(None).unwrap();
    assert!((capabilities.effective | capabilities.permitted | capabilities.inheritable).is_empty());
    sandbox::enter(&limits).unwrap();
    file.write_all_at(b"kept", FILE_BYTES - 4).unwrap();
    let mut kept = [0; 4];
    file.read_exact_at(&mut kept, FILE_BYTES - 4).unwrap();
    assert_eq!(&kept, b"kept");
    denied("write at an offset in another file", other.write_at(b"kept", 0));

    map(&file, libc::MAP_PRIVATE).unwrap();
    denied("map the file as shared", map(&file, libc::MAP_SHARED));
    denied("map shared memory", map(&file, libc::MAP_SHARED | libc::MAP_ANONYMOUS));

    denied("open a file", File::open("/etc/passwd"));
    denied("create a file", File::create("/tmp/edgezoom-sandbox-test"));
    denied("read a folder", fs::read_dir("/"));
    denied("stat a file", fs::metadata("/etc/passwd"));
    denied("delete a file", fs::remove_file("/tmp/edgezoom-sandbox-test"));
    denied("duplicate a descriptor", open_before.try_clone());
    denied("connect", TcpStream::connect("127.0.0.1:1"));
    denied("listen", TcpListener::bind("127.0.0.1:0"));
    denied("send a datagram", UdpSocket::bind("127.0.0.1:0"));
    denied("start a process", Command::new("/bin/true").spawn());
    denied::<()>("execute a program", Err(Command::new("/bin/true").exec()));
    denied("signal the parent", errno(rustix::process::kill_process(parent, Signal::TERM)));
    denied("signal itself", errno(rustix::process::kill_process(rustix::process::getpid(), Signal::TERM)));
    denied("create a pipe", errno(rustix::pipe::pipe()));
    denied("raise the memory limit", errno(rustix::process::setrlimit(Resource::Data, no_limit())));
    denied(
        "change the limits of another process",
        errno(rustix::process::prlimit(Some(Pid::INIT), Resource::Core, no_limit())),
    );

    let mut too_much = Vec::<u8>::new();
    assert!(too_much.try_reserve_exact(MEMORY as usize).is_err(), "memory is not limited");
    let enough = thread::spawn(|| vec![1u8; MEMORY as usize / 4].len());
    assert_eq!(enough.join().unwrap(), MEMORY as usize / 4, "threads should still work");
    println!("all denied");
}

/// Maps a page of `file`, or anonymous memory with `MAP_ANONYMOUS`.
#[allow(unsafe_code, reason = "the C library's call, with arguments that safe wrappers do not pass")]
fn map(file: &File, flags: i32) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses a free address, and nothing uses the memory.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, file.as_raw_fd(), 0) };
    if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn no_limit() -> rustix::process::Rlimit {
    rustix::process::Rlimit { current: None, maximum: None }
}

fn errno<T>(result: rustix::io::Result<T>) -> io::Result<T> {
    result.map_err(io::Error::from)
}

fn denied<T>(what: &str, result: io::Result<T>) {
    match result {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        Err(error) => panic!("{what}: failed, but not with EPERM: {error}"),
        Ok(_) => panic!("{what}: succeeded"),
    }
}
