//! Starts a browser through its [`supervisor`](super::supervisor), and closes it.

use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, kill_process_group};

use super::executable::search_path;
use super::flags::FLAGS;
use super::supervisor::ExitReason;

/// What a browser is started with.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    /// The browser's executable.
    pub browser: PathBuf,
    /// The executable with the subcommand `browser-supervisor`: the tiler's own.
    pub supervisor: PathBuf,
    /// The folder for the profile.
    pub folder: PathBuf,
    /// Whether to run the browser in namespaces of its own.
    pub namespaces: bool,
    /// The memory that the browser may use, in bytes.
    pub memory: u64,
    /// How long the supervisor may take to send the listener.
    pub timeout: Duration,
}

/// A running browser. When dropped, it is closed in the background: killed, reaped and its profile deleted.
pub(super) struct Browser {
    running: Option<Running>,
}

struct Running {
    supervisor: Child,
    /// Closing this socket makes the supervisor exit.
    control: UnixStream,
}

/// A started browser and its sockets.
pub(super) struct Started {
    pub browser: Browser,
    /// The socket for the DevTools protocol.
    pub devtools: UnixStream,
    /// The listener that the browser uses as its proxy.
    pub listener: TcpListener,
}

/// How long a supervisor may take to exit: longer than its own limit for killing the browser.
const EXIT_TIMEOUT: Duration = Duration::from_secs(8);

impl Launch {
    /// Starts a browser. Blocks until the supervisor has sent the listener, which takes some milliseconds.
    ///
    /// # Errors
    /// The supervisor could not be started or did not send the listener.
    pub(super) fn start(&self) -> io::Result<Started> {
        let (control, supervisor_control) = UnixStream::pair()?;
        let (devtools, browser_devtools) = UnixStream::pair()?;
        let mut command = Command::new(&self.supervisor);
        command.arg("browser-supervisor").args(self.supervisor_options());
        command.arg("--").arg(&self.browser).args(FLAGS);
        // The tiler's environment contains its credentials.
        command.env_clear().env("PATH", search_path());
        command.envs([("LANG", "en_US.UTF-8"), ("TZ", "UTC")]);
        command.stdin(OwnedFd::from(supervisor_control)).stdout(OwnedFd::from(browser_devtools));
        let supervisor = command.stderr(Stdio::inherit()).process_group(0).spawn()?;
        drop(command); // closes our copies of the supervisor's sockets
        let browser = Browser { running: Some(Running { supervisor, control: control.try_clone()? }) };
        control.set_read_timeout(Some(self.timeout))?;
        Ok(Started { browser, devtools, listener: receive_listener(&control)? })
    }

    fn supervisor_options(&self) -> Vec<OsString> {
        let mut options: Vec<OsString> = Vec::new();
        if self.namespaces {
            options.push("--namespaces".into());
        }
        options.extend(["--folder".into(), self.folder.clone().into_os_string()]);
        options.extend(["--memory".into(), self.memory.to_string().into()]);
        options
    }
}

/// Receives the listener from the supervisor, as a file descriptor (`SCM_RIGHTS`, unix(7)).
fn receive_listener(control: &UnixStream) -> io::Result<TcpListener> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(control.as_fd(), &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut received = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    received
        .next()
        .map(TcpListener::from)
        .ok_or_else(|| io::Error::other("the browser's supervisor sent no listener"))
}

impl Browser {
    /// Closes the browser and waits until its processes have exited. Returns why the supervisor exited: for a browser
    /// that had exited before, its reason.
    pub(super) async fn close(mut self) -> Option<ExitReason> {
        let running = self.running.take()?;
        tokio::task::spawn_blocking(move || running.close()).await.ok().flatten()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            std::thread::spawn(move || running.close());
        }
    }
}

impl Running {
    fn close(mut self) -> Option<ExitReason> {
        drop(self.control);
        let deadline = Instant::now() + EXIT_TIMEOUT;
        loop {
            match self.supervisor.try_wait() {
                Ok(Some(status)) => return ExitReason::from_status(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                _ => break,
            }
        }
        tracing::error!("the supervisor of a browser did not exit in time and is killed");
        let _ = kill_process_group(Pid::from_child(&self.supervisor), Signal::KILL);
        let _ = self.supervisor.wait();
        None
    }
}
