//! Chromium as a process: which binary, with which flags, and its start and end. The process that we start is the
//! [`supervisor`](super::cell), which starts the browser and answers for its end.

use std::env;
use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, kill_process_group};

use super::namespaces;
use super::supervisor::Ending;

/// What a browser is started from.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    /// The browser's binary.
    pub browser: PathBuf,
    /// The binary that has `page-cell` as a subcommand: the tiler's own.
    pub cell: PathBuf,
    /// Where the profile's folder is made.
    pub folder: PathBuf,
    /// Whether to build the wall.
    pub walled: bool,
    /// The memory that the browser may use, in bytes.
    pub memory: u64,
    /// How long the cell may take to report.
    pub patience: Duration,
}

/// A running browser. Dropped, it is killed, reaped and its profile deleted, a moment later.
pub(super) struct Browser {
    running: Option<Running>,
}

struct Running {
    cell: Child,
    leash: UnixStream,
}

/// A browser that was started, and the two ends to use it by.
pub(super) struct Started {
    pub browser: Browser,
    /// Where it speaks the debugging protocol.
    pub protocol: UnixStream,
    /// Where its traffic comes to.
    pub listener: TcpListener,
}

/// Debian's headless shell first: it starts in a quarter of the time. Not Debian's `chromium` wrapper before the binary
/// that it wraps: it adds extensions and flags of its own.
const BROWSERS: [&str; 7] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "chromium-headless-shell",
    "chrome-headless-shell",
    "/usr/lib/chromium/chromium",
    "chromium",
    "google-chrome",
    "google-chrome-stable",
];

/// What makes Chromium a camera: quiet, without a way around the proxy, and drawing alike everywhere. The proxy's own
/// address, the profile and, for root, `--no-sandbox` are added by the cell.
const FLAGS: [&str; 34] = [
    "--headless",
    "--remote-debugging-pipe",
    // All traffic through the proxy, loopback too; no look-up, no datagram beside it.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    // Chromium listens to the one spelling, the headless shell to the other. Measured with 156: with only the one that is
    // not its own, either sends datagrams.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    // No calls home, no crash reports, nothing that belongs to a person's browser.
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
    // Nothing that a page could open or ask for.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--mute-audio",
    // The same picture on every machine, without the coloured fringes that subpixel text has when zoomed into.
    "--disable-gpu",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--lang=en-US",
];

/// How long a cell may take to end after its leash was let go: longer than it takes to give up itself.
const TO_END: Duration = Duration::from_secs(8);

/// The browser to use: `chosen` if there is such a file, otherwise the first of the usual ones.
pub(super) fn find(chosen: Option<&Path>) -> Option<PathBuf> {
    match chosen {
        Some(chosen) => on_path(chosen),
        None => BROWSERS.iter().find_map(|browser| on_path(Path::new(browser))),
    }
}

/// The file that a shell would run: a path as it is, a bare name looked for on `PATH`.
fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    env::split_paths(&search_path()).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

impl Launch {
    /// Starts a browser. Blocks until its cell has reported, some milliseconds.
    ///
    /// # Errors
    /// The cell could not be started or did not report.
    pub(super) fn start(&self) -> io::Result<Started> {
        let (leash, leash_end) = UnixStream::pair()?;
        let (protocol, protocol_end) = UnixStream::pair()?;
        let mut command =
            if self.walled { namespaces::command(&self.cell) } else { Command::new(&self.cell) };
        command.arg("page-cell").args(self.cell_options()).arg("--").arg(&self.browser).args(FLAGS);
        // The tiler's environment holds its credentials.
        command.env_clear().env("PATH", search_path());
        command.envs([("LANG", "en_US.UTF-8"), ("TZ", "UTC")]);
        command.stdin(OwnedFd::from(leash_end)).stdout(OwnedFd::from(protocol_end)).process_group(0);
        let cell = command.stderr(Stdio::inherit()).spawn()?;
        drop(command); // it holds copies of the ends that belong to the cell
        let browser = Browser { running: Some(Running { cell, leash: leash.try_clone()? }) };
        leash.set_read_timeout(Some(self.patience))?;
        Ok(Started { browser, protocol, listener: take_listener(&leash)? })
    }

    fn cell_options(&self) -> Vec<OsString> {
        let mut options: Vec<OsString> = Vec::new();
        if self.walled {
            options.push("--walled".into());
        }
        options.extend(["--folder".into(), self.folder.clone().into_os_string()]);
        options.extend(["--memory".into(), self.memory.to_string().into()]);
        options
    }
}

/// Receives the listener that the cell sends through the leash.
fn take_listener(leash: &UnixStream) -> io::Result<TcpListener> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(leash.as_fd(), &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut received = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    received
        .next()
        .map(TcpListener::from)
        .ok_or_else(|| io::Error::other("the browser's cell did not report"))
}

impl Browser {
    /// Ends the browser and waits until nothing of it is left. Tells why the cell ended: a browser that was at an end
    /// already has the reason.
    pub(super) async fn end(mut self) -> Option<Ending> {
        let running = self.running.take()?;
        tokio::task::spawn_blocking(move || running.end()).await.ok().flatten()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            std::thread::spawn(move || running.end());
        }
    }
}

impl Running {
    fn end(mut self) -> Option<Ending> {
        drop(self.leash);
        let give_up = Instant::now() + TO_END;
        loop {
            match self.cell.try_wait() {
                Ok(Some(status)) => return Ending::from_status(status),
                Ok(None) if Instant::now() < give_up => std::thread::sleep(Duration::from_millis(2)),
                _ => break,
            }
        }
        tracing::error!("the cell of a browser did not end and is killed");
        let _ = kill_process_group(Pid::from_child(&self.cell), Signal::KILL);
        let _ = self.cell.wait();
        None
    }
}
