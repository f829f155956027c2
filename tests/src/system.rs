//! The real local system: `cargo xtask dev` with its state in a temporary folder and any free port. It is stopped when it
//! is dropped, and ended by xtask's watchdog when the tests are killed; what it logged is shown when a test fails.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::processes;

/// How a system is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many tilers.
    pub tilers: usize,
    /// Networks that sources may lie in. The source server's first address, by default; its second is never in.
    pub allow_networks: &'static str,
    /// How long a tiler may be silent.
    pub lease: Duration,
    /// The pauses after attempts that failed for a reason that may pass, in seconds.
    pub retries: &'static str,
    /// How many tiles a tiler uploads at once.
    pub uploads: u32,
    /// How pyramids are stored: `archive` or `tiles`.
    pub layout: &'static str,
    /// Whether the tilers are built for speed.
    pub release: bool,
    /// Whether the Worker's runtime collects all garbage whenever a megabyte has gathered, so that its memory is what is in use.
    /// Left to itself it lets some 16 MB gather in each of thirty isolates, and 4 KB for each request outside of what V8 counts.
    pub collects_all_garbage: bool,
    /// How many messages may wait while new contents are taken.
    pub backlog_limit: u64,
    /// Whether nothing new is taken.
    pub maintenance: bool,
    /// The format of the tilers' log: `text` or `json`.
    pub log: &'static str,
    /// The edge's port; 0 for any.
    pub port: u16,
    /// The port at which the tilers call the edge, where something stands between them. The edge is started anew then when
    /// it is killed.
    pub faults_at: Option<u16>,
}

/// A running system.
pub struct System {
    process: Child,
    watchdog: Child,
    url: String,
    log: Arc<Mutex<Vec<String>>>,
    logger: JoinHandle<()>,
    state: Arc<TempDir>,
}

/// A tiler of a running system.
#[derive(Clone, Debug)]
pub struct RunningTiler {
    /// The number of its process.
    pub process: u32,
    /// Where it tells its health and metrics.
    pub address: String,
}

/// How long a system may take to be ready, on a machine that is busy.
const START: Duration = Duration::from_secs(120);
/// How long it may take to be gone.
const END: Duration = Duration::from_secs(60);

impl Default for Options {
    fn default() -> Self {
        Self {
            tilers: 1,
            allow_networks: "127.0.0.1/32",
            lease: Duration::from_secs(60),
            retries: "1,2,3",
            uploads: 16,
            layout: "archive",
            release: false,
            collects_all_garbage: false,
            backlog_limit: 10_000,
            maintenance: false,
            log: "text",
            port: 0,
            faults_at: None,
        }
    }
}

impl Options {
    /// The command that runs a system so.
    ///
    /// # Errors
    /// xtask is not built.
    pub fn command(self, state: &Path, port: u16) -> Result<Command> {
        let mut command = Command::new(xtask()?);
        // What is built stays so while tests run: a look by Cargo would take seconds each time, and a lock.
        command.arg("dev").arg("--built").arg("--state").arg(state).arg(format!("--port={port}"));
        command.arg(format!("--tilers={}", self.tilers));
        command.arg(if self.release { "--profile=release" } else { "--profile=dev" });
        command.arg(format!("--backlog-limit={}", self.backlog_limit));
        if self.maintenance {
            command.arg("--maintenance");
        }
        if let Some(port) = self.faults_at {
            command.arg(format!("--faults-at={port}"));
        }
        if self.collects_all_garbage {
            command.env("MINIFLARE_WORKERD_V8_FLAGS", "--gc-global --max-semi-space-size=1");
        }
        let temporary = System::temporary(state);
        std::fs::create_dir_all(&temporary)?;
        command.env("EDGEZOOM_TMP", temporary);
        command.env("EDGEZOOM_ALLOW_NETWORKS", self.allow_networks);
        command.env("EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX", "true"); // tests without namespaces run as root too
        command.env("EDGEZOOM_HOST_INTERVAL_MS", "0"); // all sources are on one host
        command.env("EDGEZOOM_LEASE_SECONDS", self.lease.as_secs().to_string());
        command.env("EDGEZOOM_RETRY_SECONDS", self.retries);
        command.env("EDGEZOOM_LAYOUT", self.layout).env("EDGEZOOM_LOG", self.log);
        command.env("EDGEZOOM_UPLOADS", self.uploads.to_string());
        command.env("EDGEZOOM_TEST_STATE", state); // all that it starts inherits it: `processes` finds them by it
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

impl System {
    /// The system that the tests of one program share: as it is by default. It runs until the last reference is dropped.
    ///
    /// # Errors
    /// It does not come up.
    pub fn shared() -> Result<Arc<Self>> {
        static SHARED: Mutex<Weak<System>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(system) = shared.upgrade() {
            return Ok(system);
        }
        let system = Arc::new(Self::start(Options::default())?);
        *shared = Arc::downgrade(&system);
        Ok(system)
    }

    /// Starts a system that knows nothing yet.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start(options: Options) -> Result<Self> {
        Self::start_with(options, Arc::new(tempfile::Builder::new().prefix("edgezoom-").tempdir()?))
    }

    /// Starts a system that knows what another one left in its state folder.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start_with(options: Options, state: Arc<TempDir>) -> Result<Self> {
        let port = options.port;
        let mut process = options.command(state.path(), port)?.process_group(0).spawn().context("xtask")?;
        let watchdog = watch(process.id())?;
        let log = Arc::default();
        let lines = process.stderr.take().context("xtask's errors")?;
        let logger = keep(lines, Arc::clone(&log));
        let ready = ready_line(process.stdout.take().context("xtask's output")?);
        let mut system = Self { process, watchdog, url: String::new(), log, logger, state };
        match ready.recv_timeout(START) {
            Ok(url) => system.url = url,
            Err(_) => bail!("the system does not come up:\n{}", system.log()),
        }
        Ok(system)
    }

    /// The base URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder that keeps its state. It stays until the last reference is dropped.
    #[must_use]
    pub fn state(&self) -> Arc<TempDir> {
        Arc::clone(&self.state)
    }

    /// The folder for the tilers' temporary files, of the system that keeps its state there.
    #[must_use]
    pub fn temporary(state: &Path) -> PathBuf {
        state.join("temporary")
    }

    /// The number of xtask's process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// What Worker and tilers prove themselves to each other with.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn token(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.state.path().join("token"))?.trim().to_owned())
    }

    /// A command of the operator: `tiler admin`.
    ///
    /// # Errors
    /// The tiler is not built, or the operator's token cannot be read.
    pub fn admin(&self, arguments: &[&str]) -> Result<Command> {
        let token = std::fs::read_to_string(self.state.path().join("admin-token"))?;
        let mut command = Command::new(built("tiler")?);
        command.env("EDGEZOOM_EDGE_URL", &self.url).env("EDGEZOOM_ADMIN_TOKEN", token.trim());
        command
            .arg("admin")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }

    /// The first tiler, as it runs now.
    ///
    /// # Errors
    /// None runs.
    pub fn tiler(&self) -> Result<RunningTiler> {
        let path: PathBuf = self.state.path().join("tiler-1.json");
        let note: serde_json::Value = serde_json::from_slice(&std::fs::read(path).context("no tiler runs")?)?;
        let process = note["process"].as_u64().context("no process")?.try_into()?;
        Ok(RunningTiler { process, address: note["address"].as_str().context("no address")?.to_owned() })
    }

    /// What it logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// What it logged in all, once xtask and its children have ended. A last line may be read after xtask's end.
    ///
    /// # Errors
    /// One of them does not end.
    pub fn whole_log(&self) -> Result<String> {
        let deadline = Instant::now() + END;
        while !self.logger.is_finished() {
            ensure!(Instant::now() < deadline, "its log stays open:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(self.log())
    }

    /// Sends xtask a signal, and waits until it has ended.
    ///
    /// # Errors
    /// It does not end.
    pub fn end(&mut self, signal: Signal) -> Result<ExitStatus> {
        processes::signal(self.process.id(), signal)?;
        self.wait().with_context(|| format!("after {signal:?}"))
    }

    /// Waits until xtask has ended.
    ///
    /// # Errors
    /// It does not end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let deadline = Instant::now() + END;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("xtask does not end:\n{}", self.log())
    }
}

impl Drop for System {
    fn drop(&mut self) {
        eprintln!("{}", self.log()); // shown when the test failed
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = self.end(Signal::TERM); // an error: the watchdog sees to it
        }
        drop(self.watchdog.stdin.take());
        let _ = (self.watchdog.wait(), self.process.wait());
    }
}

/// The xtask that `cargo xtask` built.
///
/// # Errors
/// It is not there.
pub fn xtask() -> Result<PathBuf> {
    built("xtask")
}

/// A program that `cargo xtask` built. It lies beside the folder of the tests, or beside that of the other profile.
///
/// # Errors
/// It is not there.
pub fn built(name: &str) -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).context("the tests do not run from a target folder")?;
    let path = target.join("debug").join(name);
    if !path.exists() {
        bail!("{} is missing: `cargo xtask test end-to-end` builds it", path.display());
    }
    Ok(path)
}

/// Has a process group ended when the tests are killed.
pub(crate) fn watch(group: u32) -> Result<Child> {
    let mut command = Command::new(built("xtask-tools")?);
    let mut watchdog = command.arg("watchdog").stdin(Stdio::piped()).process_group(0).spawn()?;
    writeln!(watchdog.stdin.as_mut().context("no pipe")?, "+{group}")?;
    Ok(watchdog)
}

/// Keeps lines until their source closes.
fn keep(lines: impl Read + Send + 'static, log: Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(lines).lines().map_while(Result::ok) {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    })
}

/// Waits for the line that says where the system answers. The channel closes when none comes.
fn ready_line(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(url) = line.strip_prefix("ready: ") {
                let _ = sender.send(url.to_owned()); // an error: the wait has timed out
            }
        }
    });
    receiver
}
