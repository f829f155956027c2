//! A part of the running system: a process with all it starts, in a process group of its own, whose lines are shown
//! under its name. Ended in order when asked, by force when that takes too long, and by the watchdog when we are gone.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anstream::adapter::strip_bytes;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::watchdog::Watchdog;

/// How long a part has to end once it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// How lines begin that wrangler prints for its users, beside those of the Worker.
const OF_WRANGLER: [&str; 14] = [
    "[wrangler:info]",
    "Using secrets",
    "edgezoom has access",
    "edgezoom-local has access",
    "Binding ",
    "env.",
    "Service bindings,",
    "Attaching additional",
    "⎔",
    "┌",
    "│",
    "├",
    "└",
    "Your Worker ",
];

/// A running part.
pub struct Part {
    name: String,
    process: Child,
    group: Pid,
}

impl Part {
    /// Starts a part; `name` is what its lines are shown under.
    pub fn start(name: &str, command: &mut Command, watchdog: &Watchdog) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut process = command.spawn().with_context(|| format!("the {name} cannot be started"))?;
        let group = process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.with_context(|| format!("the {name} ended at once"))?;
        watchdog.watch(group)?;
        if let Some(lines) = process.stdout.take() {
            tokio::spawn(show(name.to_owned(), lines));
        }
        if let Some(lines) = process.stderr.take() {
            tokio::spawn(show(name.to_owned(), lines));
        }
        Ok(Self { name: name.to_owned(), process, group })
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.group.as_raw_nonzero().get().cast_unsigned()
    }

    /// Waits until it ends by itself. May be dropped and called again.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        Ok(self.process.wait().await?)
    }

    /// Ends whatever it left in its group once it has ended itself.
    pub fn end_group(&self, watchdog: &Watchdog) {
        let _ = kill_process_group(self.group, Signal::KILL); // an error: it left nothing
        watchdog.forget(self.group);
    }

    /// Ends it, and whatever it left in its group.
    pub async fn stop(mut self, watchdog: &Watchdog) -> Result<()> {
        let _ = kill_process_group(self.group, Signal::TERM); // an error: it has ended already
        if timeout(GRACE, self.process.wait()).await.is_err() {
            eprintln!("xtask | the {} does not stop; it is killed", self.name);
        }
        self.end_group(watchdog);
        self.process.wait().await?;
        Ok(())
    }
}

/// Passes lines on until their source closes, without empty ones and colours: wrangler prints both, whatever its options say.
async fn show(name: String, source: impl AsyncRead + Unpin) {
    let mut lines = BufReader::new(source).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = strip_bytes(&line).into_vec();
        let line = String::from_utf8_lossy(line.trim_ascii_end());
        if !line.is_empty() && !OF_WRANGLER.iter().any(|beginning| line.starts_with(beginning)) {
            eprintln!("{name:5} | {line}");
        }
    }
}
