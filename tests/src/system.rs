//! The real local service: `cargo xtask dev` on a free port with its state in a temporary directory. Dropping it stops
//! it; xtask's watchdog does so if the tests are killed. A failed test shows its log. Tests that do it no harm share one.

use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Deref;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::{eventually, patience, processes};

/// The options of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of tilers.
    pub tilers: usize,
    /// Networks that sources may be in. By default the source server's first address; its second is never allowed.
    pub allow_networks: &'static str,
    /// Time without a report after which a tiler loses its job.
    pub lease: Duration,
    /// Pauses after transient failures, in seconds.
    pub retries: &'static str,
    /// True to run tilers built in release profile.
    pub release: bool,
    /// True if the Workers runtime collects all garbage after each megabyte of allocations, so that its memory is what
    /// it uses. By default about 16 MB accumulate in each of thirty isolates, and 4 KB a request outside V8's heap.
    pub collects_all_garbage: bool,
    /// True to start without tilers, as if their program were still being built, until [`System::complete`].
    pub building: bool,
    /// Number of queued messages above which new contents get 503.
    pub backlog_limit: u64,
    /// Maximum number of tiles for a client per day.
    pub client_tiles_a_day: u64,
    /// True to reject new contents.
    pub maintenance: bool,
    /// Log format of the tilers: `text` or `json`.
    pub log: &'static str,
    /// Size in MiB of a file system of its own for the tilers' temporary files; `None`: they are in the state
    /// directory.
    pub disk: Option<u32>,
    /// True to give tilers and the Workers runtime wrong clocks.
    pub wrong_clocks: bool,
    /// Port of the edge; 0 for any.
    pub port: u16,
    /// Port of a proxy through which the tilers call the edge. The edge is restarted then when it is killed.
    pub faults_at: Option<u16>,
}

/// A running system.
pub struct System {
    process: Child,
    watchdog: Child,
    url: String,
    /// Receives the URL when pages answer without a tiler, and when the service is ready.
    answers: Mutex<Receiver<String>>,
    log: Arc<Mutex<Vec<String>>>,
    logger: JoinHandle<()>,
    state: Arc<TempDir>,
}

/// A system that several tests use. Dropping it shows the log since then.
pub struct Shared {
    system: Arc<System>,
    from: usize,
}

/// A tiler of a running system.
#[derive(Clone, Debug)]
pub struct RunningTiler {
    /// Process id.
    pub process: u32,
    /// Address of its health and metrics.
    pub address: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tilers: 1,
            allow_networks: "127.0.0.1/32",
            lease: Duration::from_secs(60),
            retries: "1,2,3",
            release: false,
            collects_all_garbage: false,
            building: false,
            backlog_limit: 10_000,
            client_tiles_a_day: 1_000_000,
            maintenance: false,
            log: "text",
            disk: None,
            wrong_clocks: false,
            port: 0,
            faults_at: None,
        }
    }
}

impl Options {
    /// Returns the command that runs a system with these options.
    ///
    /// # Errors
    /// xtask is not built.
    pub fn command(self, state: &Path, port: u16) -> Result<Command> {
        let temporary = System::temporary(state);
        std::fs::create_dir_all(&temporary)?;
        let mut command = match self.disk {
            Some(size) => with_disk(&temporary, size, &xtask()?),
            None => Command::new(xtask()?),
        };
        if self.wrong_clocks {
            command.env("LD_PRELOAD", wrong_clock(state)?);
        }
        // Everything is built. Asking Cargo would take seconds each time, and its lock.
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
        command.env("CLIENT_TILES_A_DAY", self.client_tiles_a_day.to_string()); // wrangler reads it
        command.env("EDGEZOOM_TMP", temporary);
        command.env("EDGEZOOM_ALLOW_NETWORKS", self.allow_networks);
        command.env("EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX", "true"); // root without user namespaces can run the tests
        command.env("EDGEZOOM_HOST_INTERVAL_MS", "0"); // all sources are on one host
        command.env("EDGEZOOM_LEASE_SECONDS", self.lease.as_secs().to_string());
        command.env("EDGEZOOM_RETRY_SECONDS", self.retries);
        command.env("EDGEZOOM_LOG", self.log);
        command.env("EDGEZOOM_TEST_STATE", state); // inherited by all its processes: `processes` finds them by it
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.building {
            command.arg("--building").stdin(Stdio::piped());
        }
        Ok(command)
    }
}

impl System {
    /// Returns the system with default options that the tests of this program share.
    ///
    /// # Errors
    /// The system does not start.
    pub fn shared() -> Result<Shared> {
        Self::shared_with(Options::default())
    }

    /// Returns the system with these options that the tests of this program share. The watchdog ends it with the program.
    ///
    /// # Errors
    /// The system does not start.
    pub fn shared_with(options: Options) -> Result<Shared> {
        static ALL: Mutex<Vec<(Options, Arc<System>)>> = Mutex::new(vec![]);
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(of, _)| *of == options).map(|(_, system)| Arc::clone(system));
        let system = match known {
            Some(system) => system,
            None => {
                let mut system = Self::start(options)?;
                let pipe = system.watchdog.stdin.as_mut().context("no pipe")?;
                writeln!(pipe, "/{}", system.state.path().display())?;
                let system = Arc::new(system);
                all.push((options, Arc::clone(&system)));
                system
            }
        };
        let from = system.lines().len();
        Ok(Shared { system, from })
    }

    /// Starts a system without any state.
    ///
    /// # Errors
    /// The system does not start.
    pub fn start(options: Options) -> Result<Self> {
        Self::start_with(options, Arc::new(tempfile::Builder::new().prefix("edgezoom-").tempdir()?))
    }

    /// Starts a system with the state that another one left.
    ///
    /// # Errors
    /// The system does not start.
    pub fn start_with(options: Options, state: Arc<TempDir>) -> Result<Self> {
        let port = options.port;
        let mut process = options.command(state.path(), port)?.process_group(0).spawn().context("xtask")?;
        let watchdog = watch(process.id())?;
        let log = Arc::default();
        let lines = process.stderr.take().context("xtask's errors")?;
        let logger = keep(lines, Arc::clone(&log));
        let answers = Mutex::new(ready_line(process.stdout.take().context("xtask's output")?));
        let mut system = Self { process, watchdog, url: String::new(), answers, log, logger, state };
        system.url = system.answers()?;
        Ok(system)
    }

    /// Waits for the URL that the service prints.
    fn answers(&self) -> Result<String> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let url = answers.recv_timeout(patience());
        url.with_context(|| format!("the system does not start:\n{}", self.log()))
    }

    /// Starts the tilers of a system with the option [`Options::building`].
    ///
    /// # Errors
    /// They do not start.
    pub fn complete(&mut self) -> Result<()> {
        writeln!(self.process.stdin.take().context("it is complete")?, "built")?;
        self.answers().map(drop)
    }

    /// Tells a system with the option [`Options::building`] that its tilers cannot be built.
    pub fn fail_to_build(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Returns the base URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the state directory, which exists until the last reference is dropped.
    #[must_use]
    pub fn state(&self) -> Arc<TempDir> {
        Arc::clone(&self.state)
    }

    /// Returns the tilers' directory for temporary files, for a system with this state directory.
    #[must_use]
    pub fn temporary(state: &Path) -> PathBuf {
        state.join("temporary")
    }

    /// Returns the process id of xtask.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Returns the tilers' token.
    ///
    /// # Errors
    /// The token cannot be read.
    pub fn token(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.state.path().join("token"))?.trim().to_owned())
    }

    /// Returns a `tiler admin` command.
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

    /// Returns the first tiler's current process.
    ///
    /// # Errors
    /// No tiler runs.
    pub fn tiler(&self) -> Result<RunningTiler> {
        let path: PathBuf = self.state.path().join("tiler-1.json");
        let note: serde_json::Value = serde_json::from_slice(&std::fs::read(path).context("no tiler runs")?)?;
        let process = note["process"].as_u64().context("no process")?.try_into()?;
        Ok(RunningTiler { process, address: note["address"].as_str().context("no address")?.to_owned() })
    }

    /// Returns the keys of all stored objects that begin with `prefix`, sorted. Reads the store itself, not through the
    /// Worker.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn stored(&self, prefix: &str) -> Result<Vec<String>> {
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .endpoint_url(format!("{}/cdn-cgi/local/r2/s3/", self.url)) // the SDK adds no slash before the bucket
            .credentials_provider(Credentials::new(
                "local",
                "local-secret-for-development",
                None,
                None,
                "tests",
            ))
            .region(Region::new("auto"))
            .force_path_style(true)
            .build();
        let objects = aws_sdk_s3::Client::from_conf(config).list_objects_v2();
        let mut pages = objects.bucket("edgezoom-pyramids").prefix(prefix).into_paginator().send();
        let mut keys = vec![];
        while let Some(page) = pages.next().await {
            keys.extend(page?.contents().iter().filter_map(|object| object.key().map(str::to_owned)));
        }
        keys.sort();
        Ok(keys)
    }

    /// Waits until no object is stored whose key begins with `prefix`.
    ///
    /// # Errors
    /// Some stay.
    pub async fn keeps_nothing(&self, prefix: &str) -> Result<()> {
        let mut kept = vec![];
        let gone = eventually("an empty store", async || {
            kept = self.stored(prefix).await?;
            Ok(kept.is_empty().then_some(()))
        });
        gone.await.with_context(|| format!("these objects are left: {kept:?}"))
    }

    /// Returns the log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.lines().join("\n")
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until xtask and its children have closed the log, and returns all of it.
    ///
    /// # Errors
    /// One of them does not end.
    pub fn whole_log(&self) -> Result<String> {
        let deadline = Instant::now() + patience();
        while !self.logger.is_finished() {
            ensure!(Instant::now() < deadline, "the log stays open:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(self.log())
    }

    /// Sends xtask a signal and waits for its end.
    ///
    /// # Errors
    /// It does not end.
    pub fn end(&mut self, signal: Signal) -> Result<ExitStatus> {
        processes::signal(self.process.id(), signal)?;
        self.wait().with_context(|| format!("after {signal:?}"))
    }

    /// Waits for the end of xtask.
    ///
    /// # Errors
    /// It does not end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let deadline = Instant::now() + patience();
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("xtask does not end:\n{}", self.log())
    }
}

impl Deref for Shared {
    type Target = System;

    fn deref(&self) -> &System {
        &self.system
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        eprintln!("{}", self.system.lines()[self.from..].join("\n")); // shown if the test fails
    }
}

impl Drop for System {
    fn drop(&mut self) {
        eprintln!("{}", self.log()); // shown if the test fails
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = self.end(Signal::TERM); // the watchdog ends it otherwise
        }
        drop(self.watchdog.stdin.take());
        let _ = (self.watchdog.wait(), self.process.wait());
        let left = processes::left(self.state.path());
        assert!(left.is_empty() || std::thread::panicking(), "the system has left processes: {left:?}");
    }
}

/// Returns a command that runs a program with a file system in memory at `folder`, in a mount namespace.
pub(crate) fn with_disk(folder: &Path, mebibytes: u32, program: &Path) -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let mount = format!("mount -t tmpfs -o size={mebibytes}m,mode=1777 tmpfs \"$0\" && exec \"$@\"");
    command.args(["--mount", "--", "sh", "-c", &mount]).arg(folder).arg(program);
    command
}

/// Compiles the library that makes clocks wrong.
fn wrong_clock(state: &Path) -> Result<PathBuf> {
    let library = state.join("clock.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/chaos/clock.c");
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    let status = compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
    ensure!(status.context("cc")?.success(), "{source} does not compile");
    Ok(library)
}

/// Returns the xtask program.
///
/// # Errors
/// It is not built.
pub fn xtask() -> Result<PathBuf> {
    built("xtask")
}

/// Returns the path of a program in dev profile; the tests themselves may be built in another one.
///
/// # Errors
/// The program is not built.
pub fn built(name: &str) -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).context("the tests do not run from a target folder")?;
    let path = target.join("debug").join(name);
    if !path.exists() {
        bail!("{} is missing; build it with `cargo xtask test end-to-end`", path.display());
    }
    Ok(path)
}

/// Starts a watchdog that ends a process group when the tests are killed.
pub(crate) fn watch(group: u32) -> Result<Child> {
    let mut command = Command::new(built("xtask-tools")?);
    let mut watchdog = command.arg("watchdog").stdin(Stdio::piped()).process_group(0).spawn()?;
    writeln!(watchdog.stdin.as_mut().context("no pipe")?, "+{group}")?;
    Ok(watchdog)
}

/// Appends lines to the log until their source closes.
fn keep(lines: impl Read + Send + 'static, log: Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(lines).lines().map_while(Result::ok) {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    })
}

/// Returns a channel that receives the system's URL when its pages answer without a tiler, and when it is ready. It
/// closes if the system ends.
fn ready_line(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(("pages:" | "ready:", url)) = line.split_once(' ') {
                let url = url.split(' ').next().unwrap_or_default();
                let _ = sender.send(url.to_owned()); // fails if the wait has timed out
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_tilers_and_workers_runtimes_have_wrong_clocks() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let library = wrong_clock(folder.path())?;
        // Returns by how many seconds the clock of a program with this name is wrong.
        let wrong = |name: &str| -> Result<u64> {
            let output = Command::new("date").arg0(name).arg("+%s").env("LD_PRELOAD", &library).output()?;
            let told: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
            Ok(told.abs_diff(now))
        };
        // One in five processes has the right time.
        let most = |name| (0..20).try_fold(0, |most, _| Ok::<_, anyhow::Error>(wrong(name)?.max(most)));
        assert!(most("/opt/edgezoom/tiler")? >= 140);
        assert!((4..60).contains(&most("workerd")?));
        assert!(wrong("node")? < 4);
        Ok(())
    }
}
