//! The supervisor: a process between the tiler and one Chromium, run as `tiler browser-supervisor`. It makes sure that
//! nothing of the browser outlives its page, even when the tiler is killed: it creates the profile, measures the
//! browser's memory, and at the end kills and reaps all processes and deletes the profile.
//!
//! Its standard input is the control socket. Over it, the supervisor sends the tiler the listener that the browser uses
//! as its proxy; when the tiler closes it, the supervisor exits. Its standard output is the socket for the DevTools
//! protocol. In [`namespaces`](super::namespaces), the listener is on a loopback interface of the browser's own. A process
//! before it creates them and passes its exit status on.
//!
//! After unshare(2) with `CLONE_NEWPID`, a process cannot start threads (pid_namespaces(7)), and users are of threads
//! (credentials(7)). So this module uses only single-threaded functions, and no async runtime.

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

use super::{memory, namespaces, private_root};

/// The command line of the supervisor.
#[derive(Debug, clap::Args)]
pub struct SupervisorOptions {
    /// Creates namespaces, and supervises in them.
    #[arg(long)]
    namespaces: bool,
    /// The process was started in the namespaces.
    #[arg(long)]
    inside: bool,
    /// Only tries out whether namespaces can be created and set up.
    #[arg(long)]
    probe: bool,
    /// The folder for the profile, where there are no namespaces.
    #[arg(long)]
    folder: PathBuf,
    /// The memory that the browser's processes may use together, in bytes, and its files where they are in memory.
    #[arg(long)]
    memory: u64,
    /// The browser and its flags, except those that the supervisor adds.
    #[arg(last = true, required_unless_present = "probe")]
    browser: Vec<OsString>,
}

/// Why a supervisor exited, as its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitReason {
    /// The tiler closed the control socket.
    Closed = 0,
    /// The browser exited by itself.
    BrowserExited = 10,
    /// The browser used more memory than allowed.
    OutOfMemory = 11,
}

/// The interval between measurements of the memory. A page can allocate some hundred megabytes in it.
const MEASURE_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// The folder for the profile in the private root, which is in memory.
const INSIDE: &str = "/tmp";

/// How long killed processes may take to exit. The kernel frees gigabytes in well under a second.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the browser, waits for its end, and removes its processes and files.
///
/// # Errors
/// The browser could not be started.
pub fn run(options: &SupervisorOptions) -> io::Result<ExitCode> {
    if options.inside {
        private_root::enter(options.browser.first().map(Path::new), options.memory)?;
        namespaces::set_up()?;
        if options.probe {
            return namespaces::try_nested().map(|()| ExitCode::SUCCESS);
        }
    } else if options.namespaces {
        return run_inside();
    }
    // Orphaned processes of the browser become children of the supervisor, not of an init process that may not reap
    // them.
    set_child_subreaper(Some(getpid()))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let proxy = listener.local_addr()?.port();
    send_listener(listener)?;
    let profile = tempfile::Builder::new().prefix("edgezoom-page-").tempdir_in(if options.inside {
        Path::new(INSIDE)
    } else {
        &options.folder
    })?;
    let mut browser = start(&options.browser, profile.path(), proxy)?;
    // The tiler notices that the browser has closed the DevTools socket only if the supervisor has no copy of it.
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let exit_reason = wait_for_end(&mut browser, options);
    kill_all(&browser);
    profile.close()?;
    Ok(ExitCode::from(exit_reason? as u8))
}

/// Starts this program anew, with the same options, in new namespaces, and gives its exit status.
fn run_inside() -> io::Result<ExitCode> {
    // Opened here: the other process changes the root directory of both.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    namespaces::enter()?;
    let mut options = std::env::args_os().skip(1);
    // By this name it can be executed wherever it lies, also by a user who may not look there.
    let mut inside = Command::new("/proc/self/exe");
    inside.args(options.next()).arg("--inside").args(options);
    let mut inside = inside.spawn()?;
    // The tiler notices the end of the DevTools socket and of the control socket if this process has no copies.
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    let status = inside.wait()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Sends the listener over the control socket (`SCM_RIGHTS`, unix(7)).
fn send_listener(listener: TcpListener) -> io::Result<()> {
    let listeners = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&listeners));
    sendmsg(rustix::stdio::stdin(), &[IoSlice::new(b"L")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn start(browser: &[OsString], profile: &Path, proxy: u16) -> io::Result<Child> {
    let mut user_data = OsString::from("--user-data-dir=");
    user_data.push(profile);
    // `--remote-debugging-pipe` reads from descriptor 3 and writes to 4. A shell can assign them without unsafe code.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", r#"exec "$@" 3<&1 4>&1 </dev/null >/dev/null"#, "browser"])
        .args(browser)
        .arg(user_data)
        .arg(format!("--proxy-server=http://127.0.0.1:{proxy}"));
    if geteuid().is_root() {
        command.arg("--no-sandbox"); // as root, Chromium refuses to start with its sandbox
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

/// Waits until the tiler closes the control socket, the browser exits, or it uses too much memory.
fn wait_for_end(browser: &mut Child, options: &SupervisorOptions) -> io::Result<ExitReason> {
    loop {
        let control = rustix::stdio::stdin();
        let mut polled = [PollFd::new(&control, PollFlags::IN)];
        match poll(&mut polled, Some(&MEASURE_INTERVAL)) {
            Ok(0) => {}
            Ok(_) => return Ok(ExitReason::Closed), // the tiler sends nothing, so this is the end of the stream
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if browser.try_wait()?.is_some() {
            return Ok(ExitReason::BrowserExited);
        }
        let files = if options.inside { private_root::bytes_of_files() } else { 0 };
        if memory::of_process_group(Pid::from_child(browser)).saturating_add(files) > options.memory {
            return Ok(ExitReason::OutOfMemory);
        }
    }
}

/// Kills and reaps the browser's process group and all other children, until none is left.
fn kill_all(browser: &Child) {
    let deadline = Instant::now() + KILL_TIMEOUT;
    while Instant::now() < deadline {
        // Signals fail only for processes that have exited.
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
    let pid = getpid().as_raw_pid();
    let listed = std::fs::read_to_string(format!("/proc/self/task/{pid}/children")).unwrap_or_default();
    listed.split_ascii_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
}

impl ExitReason {
    /// The reason that an exit status stands for.
    #[must_use]
    pub fn from_status(status: std::process::ExitStatus) -> Option<Self> {
        let code = status.code()?;
        [Self::Closed, Self::BrowserExited, Self::OutOfMemory]
            .into_iter()
            .find(|reason| *reason as i32 == code)
    }
}
