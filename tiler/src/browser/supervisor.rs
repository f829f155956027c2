//! The cell: the process between the tiler and one Chromium, run as `tiler page-cell`. It sees to it that nothing of the
//! browser outlives its page, even when the tiler is killed: it holds the browser's profile, watches its memory, and when
//! the tiler lets go of the leash it kills every process below it, reaps them and deletes the profile.
//!
//! Its standard input is the leash, a socket over which it first hands the tiler the listener that the browser takes for its
//! proxy. Its standard output is the socket for the browser's debugging protocol. Behind the wall (see
//! [`namespaces`](super::wall)) the listener is on a loopback interface that no one but the browser has.
//!
//! Behind the wall each new process begins a process namespace, after which no thread can be started: only standard,
//! single-threaded means here, and no async runtime around it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{
    Pid, Signal, WaitOptions, geteuid, getpid, kill_process, kill_process_group, set_child_subreaper, wait,
};

use super::{memory, namespaces};

/// What the cell is told on its command line.
#[derive(Debug, clap::Args)]
pub struct CellOptions {
    /// The cell was started in namespaces of its own.
    #[arg(long)]
    walled: bool,
    /// Where to make the profile's folder.
    #[arg(long)]
    folder: PathBuf,
    /// The memory that the browser's processes may use together, in bytes.
    #[arg(long)]
    memory: u64,
    /// The browser and its flags, but for those that only the cell knows.
    #[arg(last = true, required = true)]
    browser: Vec<OsString>,
}

/// Why a cell ended, as its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// The tiler let go of the leash.
    Released = 0,
    /// The browser ended by itself.
    BrowserEnded = 10,
    /// The browser used more memory than allowed.
    OutOfMemory = 11,
}

/// How often the browser's memory is measured. A page allocates some hundred megabytes in that time.
const MEASURE: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// How long killed processes may take to go. The kernel frees gigabytes in well under a second.
const TEAR_DOWN: Duration = Duration::from_secs(5);

/// Starts the browser, waits until its time is over, and leaves nothing of it.
///
/// # Errors
/// The browser could not be started.
pub fn run(options: &CellOptions) -> io::Result<ExitCode> {
    if options.walled {
        namespaces::furnish()?;
    }
    // Whatever the browser leaves behind becomes a child of the cell, not of a far-away init that may never reap it.
    set_child_subreaper(Some(getpid()))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let proxy = listener.local_addr()?.port();
    hand_over(listener)?;
    let profile = tempfile::Builder::new().prefix("edgezoom-page-").tempdir_in(&options.folder)?;
    let mut browser = start(&options.browser, profile.path(), proxy)?;
    // The browser has its end of the protocol's socket; while the cell kept a copy, the tiler would not see it close.
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let ending = watch(&mut browser, options.memory);
    tear_down(&browser);
    profile.close()?;
    Ok(ExitCode::from(ending? as u8))
}

/// Sends the listener through the leash.
fn hand_over(listener: TcpListener) -> io::Result<()> {
    let listeners = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&listeners));
    sendmsg(rustix::stdio::stdin(), &[IoSlice::new(b"L")], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn start(browser: &[OsString], profile: &Path, proxy: u16) -> io::Result<Child> {
    let mut user_data = OsString::from("--user-data-dir=");
    user_data.push(profile);
    // `--remote-debugging-pipe` reads descriptor 3 and writes 4; a shell can number them without unsafe code.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", r#"exec "$@" 3<&1 4>&1 </dev/null >/dev/null"#, "browser"])
        .args(browser)
        .arg(user_data)
        .arg(format!("--proxy-server=http://127.0.0.1:{proxy}"));
    if geteuid().is_root() {
        command.arg("--no-sandbox"); // Chromium refuses to start as root with its sandbox
    }
    command.arg("about:blank");
    command
        .env("HOME", profile)
        .env("TMPDIR", profile)
        .process_group(0)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Waits until the tiler lets go, the browser ends or it uses too much memory.
fn watch(browser: &mut Child, limit: u64) -> io::Result<Ending> {
    loop {
        let leash = rustix::stdio::stdin();
        let mut polled = [PollFd::new(&leash, PollFlags::IN)];
        match poll(&mut polled, Some(&MEASURE)) {
            Ok(0) => {}
            Ok(_) => return Ok(Ending::Released), // the tiler sends nothing: this is the end of the stream
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if browser.try_wait()?.is_some() {
            return Ok(Ending::BrowserEnded);
        }
        if memory::of_group(Pid::from_child(browser)) > limit {
            return Ok(Ending::OutOfMemory);
        }
    }
}

/// Kills and reaps until no child is left: the browser's process group, and what left the group.
fn tear_down(browser: &Child) {
    let give_up = Instant::now() + TEAR_DOWN;
    while Instant::now() < give_up {
        // Errors are of processes that are gone already.
        let _ = kill_process_group(Pid::from_child(browser), Signal::KILL);
        for child in children() {
            let _ = kill_process(child, Signal::KILL);
        }
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => return, // no child is left
        }
    }
}

fn children() -> Vec<Pid> {
    let me = getpid().as_raw_pid();
    let listed = std::fs::read_to_string(format!("/proc/self/task/{me}/children")).unwrap_or_default();
    listed.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

impl Ending {
    /// What an exit status says.
    #[must_use]
    pub fn from_status(status: std::process::ExitStatus) -> Option<Self> {
        let code = status.code()?;
        [Self::Released, Self::BrowserEnded, Self::OutOfMemory]
            .into_iter()
            .find(|ending| *ending as i32 == code)
    }
}
