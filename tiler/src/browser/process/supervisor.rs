//! The supervisor: a process between the tiler and one Chromium, run as `tiler browser-supervisor`. It makes sure that
//! nothing of the browser outlives its page, even when the tiler is killed: it creates the profile, measures the
//! browser's memory, and finally kills and reaps all processes and deletes the profile.
//!
//! Its standard input is the control socket. Over it, the supervisor sends the tiler the listener that the browser uses
//! as its proxy. When the tiler closes the socket, the supervisor exits. Its standard output is the socket for the
//! DevTools protocol. In [`namespaces`], the listener is on a loopback interface of the browser's own; a first
//! supervisor process creates the namespaces, starts the second one in them, and passes its exit status on.
//!
//! After unshare(2) with `CLONE_NEWPID` a process cannot start threads (pid_namespaces(7)), and user ids belong to
//! threads (credentials(7)). So this module uses only single-threaded functions, and no async runtime.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, geteuid, getpid, kill_process, kill_process_group, set_child_subreaper,
    setpriority_process, wait,
};

use super::{namespaces, private_root};
use crate::{descriptors, proc};

/// The command line of the supervisor.
#[derive(Debug, clap::Args)]
pub struct SupervisorOptions {
    /// Create namespaces, and supervise in them
    #[arg(long)]
    namespaces: bool,
    /// Set by the first supervisor process: this is the second one, inside the namespaces
    #[arg(long)]
    inside: bool,
    /// Only try to create and set up namespaces
    #[arg(long)]
    probe: bool,
    /// Directory for the profile, if there are no namespaces
    #[arg(long)]
    folder: PathBuf,
    /// Memory for all processes of the browser, and for its files if these are in memory, in bytes
    #[arg(long)]
    memory: u64,
    /// Processor time for all processes of the browser, in seconds
    #[arg(long)]
    cpu: u64,
    /// Priority of all processes of the browser
    #[arg(long)]
    nice: i32,
    /// The browser and its flags, except those that the supervisor adds
    #[arg(last = true, required_unless_present = "probe")]
    browser: Vec<OsString>,
}

/// The reason why a supervisor exited, as its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitReason {
    /// The tiler closed the control socket.
    Closed = 0,
    /// The browser exited by itself.
    BrowserExited = 10,
    /// The browser used more memory than allowed.
    OutOfMemory = 11,
    /// The browser used more processor time than allowed.
    OutOfCpu = 12,
}

/// Interval between measurements. A page can allocate some hundred megabytes in this time.
const MEASURE_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// Directory for the profile in the private root, which is in memory.
const INSIDE: &str = "/tmp";

/// Time for killed processes to exit. The kernel frees gigabytes in well under a second.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the browser, waits until it has to end, and removes its processes and files.
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
    // Makes orphaned processes of the browser children of the supervisor: an init process may not reap them.
    set_child_subreaper(Some(getpid()))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let proxy = listener.local_addr()?.port();
    descriptors::send(rustix::stdio::stdin(), &listener)?;
    drop(listener); // only the tiler keeps it open
    let profile = tempfile::Builder::new().prefix("edgezoom-page-").tempdir_in(if options.inside {
        Path::new(INSIDE)
    } else {
        &options.folder
    })?;
    let mut browser = start(&options.browser, profile.path(), proxy)?;
    // The priority and `die_first` still apply to the shell, so to all that the browser starts. `setpriority` fails
    // only for a process that has exited.
    let _ = setpriority_process(Some(Pid::from_child(&browser)), options.nice);
    die_first(&browser);
    // The tiler notices that the browser has closed the DevTools socket only if the supervisor has no copy of it.
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let exit_reason = wait_for_end(&mut browser, options);
    kill_all(&browser);
    profile.close()?;
    Ok(ExitCode::from(exit_reason? as u8))
}

/// Runs this program again with the same options in new namespaces, and returns its exit status.
fn run_inside() -> io::Result<ExitCode> {
    // Opened before the other process changes the root directory of both.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    namespaces::enter()?;
    let mut options = std::env::args_os().skip(1);
    // This path works even if the user is not allowed to open the program's directory.
    let mut inside = Command::new("/proc/self/exe");
    inside.args(options.next()).arg("--inside").args(options);
    let mut inside = inside.spawn()?;
    // The tiler notices the end of the DevTools socket and of the control socket only if this process has no copies.
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    let status = inside.wait()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn start(browser: &[OsString], profile: &Path, proxy: u16) -> io::Result<Child> {
    let mut user_data = OsString::from("--user-data-dir=");
    user_data.push(profile);
    // `--remote-debugging-pipe` reads from descriptor 3 and writes to 4. A shell assigns them without unsafe code here.
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
            Ok(_) => return Ok(ExitReason::Closed), // the tiler sends nothing, so the stream has ended
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if browser.try_wait()?.is_some() {
            return Ok(ExitReason::BrowserExited);
        }
        let files = if options.inside { private_root::bytes_of_files() } else { 0 };
        let used = proc::use_of_group(Pid::from_child(browser));
        if used.memory.saturating_add(files) > options.memory {
            return Ok(ExitReason::OutOfMemory);
        }
        if used.cpu > Duration::from_secs(options.cpu) {
            return Ok(ExitReason::OutOfCpu);
        }
    }
}

/// Makes the system kill the browser before renderers and the tiler when memory is short (proc_pid_oom_score_adj(5)).
/// Chromium sets lower scores for some of its processes, all above 0.
fn die_first(browser: &Child) {
    // Raising the score is always allowed. Systems without this file do not support it.
    let _ = std::fs::write(format!("/proc/{}/oom_score_adj", browser.id()), "1000");
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
    /// Returns the reason that an exit status stands for.
    #[must_use]
    pub fn from_status(status: std::process::ExitStatus) -> Option<Self> {
        let code = status.code()?;
        [Self::Closed, Self::BrowserExited, Self::OutOfMemory, Self::OutOfCpu]
            .into_iter()
            .find(|reason| *reason as i32 == code)
    }
}
