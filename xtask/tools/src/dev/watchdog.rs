//! Nothing that a task started may outlive it, even when the task is killed with no chance to clean up. A watchdog is a
//! process of its own that hears from its master, over a pipe, which process groups run. When the pipe closes, the master
//! is gone, and the watchdog ends what is left of them.

use std::collections::HashSet;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// How long process groups have to end in order before they are killed.
const GRACE: Duration = Duration::from_secs(15);

/// The master's end.
pub struct Watchdog {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts a watchdog, in a process group of its own: what ends the master's group does not end it.
    pub fn start() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("watchdog").stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut process = command.spawn().context("the watchdog cannot be started")?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    /// Has a process group ended when this process ends.
    pub fn watch(&self, group: Pid) -> Result<()> {
        self.tell('+', group)
    }

    /// Forgets a process group: it is gone, and its number may come to mean another.
    pub fn forget(&self, group: Pid) {
        let _ = self.tell('-', group); // an error: the watchdog is gone, and with it what it knew
    }

    fn tell(&self, sign: char, group: Pid) -> Result<()> {
        let mut pipe = self.pipe.as_ref().context("the watchdog has no pipe")?;
        writeln!(pipe, "{sign}{}", group.as_raw_nonzero()).context("the watchdog is gone")
    }
}

impl Drop for Watchdog {
    /// Ends what is still watched, and waits for it.
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.process.wait(); // there is nothing to be done about a watchdog that is gone
    }
}

/// The watchdog's own work: reads process groups from standard input until it closes, then ends them.
pub fn run() -> Result<()> {
    let mut groups = HashSet::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let Some(group) = line.get(1..).and_then(|digits| digits.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        if line.starts_with('+') {
            groups.insert(group)
        } else {
            groups.remove(&group)
        };
    }
    for group in &groups {
        let _ = kill_process_group(*group, Signal::TERM); // an error: it is gone already
    }
    let deadline = Instant::now() + GRACE;
    for group in &groups {
        while test_kill_process_group(*group).is_ok() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = kill_process_group(*group, Signal::KILL);
    }
    Ok(())
}
