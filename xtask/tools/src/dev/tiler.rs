//! A tiler of the local service. It is restarted when it dies, after a pause that grows while it keeps dying; the
//! Worker's leases make that safe.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::process::Command;
use xtask::dev::{Options, free_port};

use super::edge::EdgeAddress;
use super::part::{self, Part};
use super::state::State;
use super::watchdog::Watchdog;

/// First and longest pause before a restart.
const PAUSE: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];
/// Running time after which the pause is short again.
const WELL: Duration = Duration::from_secs(30);

/// One of the local service's tilers.
pub struct Tiler {
    name: String,
    program: PathBuf,
    environment: Vec<(&'static str, String)>,
    note: PathBuf,
    part: Part,
    address: String,
    started: Instant,
}

impl Tiler {
    /// Starts a tiler.
    pub fn start(
        number: usize,
        program: &Path,
        state: &State,
        edge: &EdgeAddress,
        options: &Options,
        watchdog: &Watchdog,
    ) -> Result<Self> {
        let name = if options.tilers == 1 { "tiler".to_owned() } else { format!("tiler {number}") };
        let environment = vec![
            ("EDGEZOOM_EDGE_URL", edge.url()),
            ("EDGEZOOM_TILER_TOKEN", state.token().to_owned()),
            ("EDGEZOOM_QUEUE_URL", edge.queue_url()),
            ("EDGEZOOM_QUEUE_TOKEN", state.token().to_owned()),
            ("EDGEZOOM_S3_ENDPOINT", edge.s3_url()),
            ("EDGEZOOM_S3_BUCKET", "edgezoom-pyramids".to_owned()),
            ("EDGEZOOM_S3_ACCESS_KEY_ID", "local".to_owned()),
            ("EDGEZOOM_S3_SECRET_ACCESS_KEY", "local-secret-for-development".to_owned()),
            ("EDGEZOOM_ALLOW_NETWORKS", options.allow_networks.clone()),
            ("EDGEZOOM_POLL_MS", "100".to_owned()),
            ("EDGEZOOM_API_CALLS", "0".to_owned()), // the local queue has no limit
            ("EDGEZOOM_DRAIN_SECONDS", "0".to_owned()), // Ctrl-C ends everything at once
        ];
        let note = state.tiler_note(number);
        let (part, address) = spawn(&name, program, &environment, &note, watchdog)?;
        let program = program.to_owned();
        Ok(Self { name, program, environment, note, part, address, started: Instant::now() })
    }

    /// Waits until it answers, and fails if it ends before.
    pub async fn ready(&mut self) -> Result<()> {
        tokio::select! {
            answered = part::answers(format!("http://{}/health", self.address), "") => answered,
            status = self.part.ended() => bail!("the {} ended before it was ready: {}", self.name, status?),
        }
    }

    /// Restarts the tiler whenever it ends. Returns only on an error.
    pub async fn keep_running(&mut self, watchdog: &Watchdog) -> Result<Infallible> {
        let [first, most] = PAUSE;
        let mut pause = first;
        loop {
            let status = self.part.ended().await?;
            if self.started.elapsed() >= WELL {
                pause = first;
            }
            eprintln!("xtask | the {} ended: {status}; restarting it in {pause:?}", self.name);
            self.part.end_group(watchdog);
            tokio::time::sleep(pause).await;
            pause = most.min(pause * 2);
            (self.part, self.address) =
                spawn(&self.name, &self.program, &self.environment, &self.note, watchdog)?;
            self.started = Instant::now();
        }
    }

    /// Stops the tiler, which hands its jobs back.
    pub async fn stop(self, watchdog: &Watchdog) -> Result<()> {
        let _ = std::fs::remove_file(&self.note); // it may not exist
        self.part.stop(watchdog).await
    }
}

/// Starts the process with a free port for health and metrics, and writes both into the note.
fn spawn(
    name: &str,
    program: &Path,
    environment: &[(&'static str, String)],
    note: &Path,
    watchdog: &Watchdog,
) -> Result<(Part, String)> {
    let address = format!("127.0.0.1:{}", free_port(0)?);
    let mut command = Command::new(program);
    command.arg("serve").envs(environment.iter().cloned()).env("EDGEZOOM_LISTEN", &address);
    // Its command line shows whose tiler it is, unlike its environment, which it hides.
    if let Some(folder) = std::env::var_os("EDGEZOOM_TMP") {
        command.arg("--tmp").arg(folder);
    }
    let part = Part::start(name, &mut command, watchdog)?;
    let text = serde_json::json!({ "process": part.id(), "address": address }).to_string();
    std::fs::write(note, text).with_context(|| format!("cannot write {}", note.display()))?;
    Ok((part, address))
}
