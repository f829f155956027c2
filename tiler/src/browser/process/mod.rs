//! Starts a browser and closes it again, with nothing left behind.
//!
//! Between the tiler and each browser stands a process of its own, the [`supervisor`]. It creates the profile, bounds
//! the browser's memory and processor time, and in the end kills all of its processes, even when the tiler itself was killed. Where the
//! system allows it, the supervisor and the browser run in [`namespaces`], with a [`private_root`] in place of the
//! machine's files.
//!
//! This module finds Chromium's executable, starts the supervisor, and closes it.

pub(super) mod namespaces;
mod private_root;
pub mod supervisor;

use std::env;
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::descriptors;
use supervisor::ExitReason;

/// Places of the browser, in order of preference. Debian's headless shell comes first because it starts in a quarter of
/// the time. Debian's `chromium` is a wrapper that adds extensions and flags, so the executable that it wraps comes
/// before it.
const BROWSERS: [&str; 7] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "chromium-headless-shell",
    "chrome-headless-shell",
    "/usr/lib/chromium/chromium",
    "chromium",
    "google-chrome",
    "google-chrome-stable",
];

/// Flags of every browser: no traffic past the proxy, no features for users, and the same rendering everywhere. The
/// supervisor adds the address of the proxy, the profile and, for root, `--no-sandbox`.
///
/// Source: <https://peter.sh/experiments/chromium-command-line-switches/>, generated from Chromium's source.
const FLAGS: [&str; 36] = [
    "--headless",
    "--remote-debugging-pipe",
    // All traffic goes through the proxy, even to loopback addresses. The browser resolves no names and sends no UDP.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    // Chromium knows the first flag, the headless shell the second. Measured with version 156: either one sends
    // datagrams if it gets only the other's flag.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    // No requests by the browser itself, no crash reports, no features for users.
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,InterestFeedContentSuggestions,MediaRouter,OptimizationHints,Translate",
    "--disable-field-trial-config",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    // No windows opened by a page, no permissions, no sound.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--mute-audio",
    // A page's frames share its process, so that scripts are stopped in all of them and their documents are unfolded.
    // The headless shell does so without the flag. Nothing in this browser is secret from one of them.
    "--disable-site-isolation-trials",
    // WebGL, drawn by the processor.
    "--enable-unsafe-swiftshader",
    // The same rendering on every machine. Subpixel anti-aliasing has coloured fringes that show when zoomed in.
    "--disable-gpu",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--lang=en-US",
];

/// Time for a supervisor to exit: longer than its own limit for killing the browser.
const EXIT_TIMEOUT: Duration = Duration::from_secs(8);

/// A command that starts a browser.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    /// Browser executable.
    pub browser: PathBuf,
    /// Executable with the subcommand `browser-supervisor`: the tiler's own.
    pub supervisor: PathBuf,
    /// Directory for the profile.
    pub folder: PathBuf,
    /// True to run the browser in namespaces of its own.
    pub namespaces: bool,
    /// Memory for the browser, in bytes.
    pub memory: u64,
    /// Processor time for the browser.
    pub cpu: Duration,
    /// Its priority.
    pub nice: i32,
    /// Time for the supervisor to send the listener.
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
    /// Socket for the DevTools protocol.
    pub devtools: UnixStream,
    /// Listener that the browser uses as its proxy.
    pub listener: TcpListener,
}

impl Launch {
    /// Starts a browser. Blocks until the supervisor has sent the listener, which takes a few milliseconds.
    ///
    /// # Errors
    /// The supervisor could not be started or did not send the listener.
    pub(super) fn start(&self) -> io::Result<Started> {
        let (control, supervisor_control) = UnixStream::pair()?;
        let (devtools, browser_devtools) = UnixStream::pair()?;
        let mut command = Command::new(&self.supervisor);
        command.arg("browser-supervisor").args(self.namespaces.then_some("--namespaces"));
        command.arg("--folder").arg(&self.folder).args(["--memory", &self.memory.to_string()]);
        command.args(["--cpu", &self.cpu.as_secs().to_string(), "--nice", &self.nice.to_string()]);
        command.arg("--").arg(&self.browser).args(FLAGS);
        // The tiler's environment contains its credentials.
        command.env_clear().env("PATH", search_path());
        command.envs([("LANG", "en_US.UTF-8"), ("TZ", "UTC")]);
        command.stdin(OwnedFd::from(supervisor_control)).stdout(OwnedFd::from(browser_devtools));
        let supervisor = command.stderr(Stdio::inherit()).process_group(0).spawn()?;
        drop(command); // closes our copies of the supervisor's sockets
        let browser = Browser { running: Some(Running { supervisor, control: control.try_clone()? }) };
        control.set_read_timeout(Some(self.timeout))?;
        Ok(Started { browser, devtools, listener: descriptors::receive(&control)?.into() })
    }
}

impl Browser {
    /// Returns the process id of the supervisor, from which all processes of the browser descend; that of this process
    /// if the browser is closed.
    pub(super) fn supervisor(&self) -> u32 {
        self.running.as_ref().map_or_else(std::process::id, |running| running.supervisor.id())
    }

    /// Closes the browser and waits until its processes have exited. Returns why the supervisor exited, even if that
    /// was earlier.
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
        tracing::error!("a browser's supervisor did not exit in time and is killed");
        let _ = kill_process_group(Pid::from_child(&self.supervisor), Signal::KILL);
        let _ = self.supervisor.wait();
        None
    }
}

/// Finds the browser's executable: `chosen` if it exists; without a choice, the first browser that is installed.
pub fn find_browser(chosen: Option<&Path>) -> Option<PathBuf> {
    match chosen {
        Some(chosen) => on_path(chosen),
        None => BROWSERS.iter().find_map(|browser| on_path(Path::new(browser))),
    }
}

/// Returns the file that a shell would execute: a path as it is, a bare name searched in `PATH`.
fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    env::split_paths(&search_path()).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}
