//! Nothing that a task starts may outlive it, even if the task is killed. The watchdog is a separate process that reads
//! from a pipe which process groups its parent runs (`+123`, `-123`). When the pipe closes, the parent is gone, and the
//! watchdog ends the groups that are left, and deletes the folders that the pipe has named (`/…`).

use std::collections::HashSet;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// Time that process groups have to terminate before they are killed.
const GRACE: Duration = Duration::from_secs(15);

/// The parent's handle.
pub struct Watchdog {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts a watchdog in a process group of its own: a signal to the parent's group does not reach it.
    pub fn start() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("watchdog").stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut process = command.spawn().context("cannot start the watchdog")?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    /// Adds a process group.
    pub fn watch(&self, group: Pid) -> Result<()> {
        self.tell('+', group)
    }

    /// Removes a process group, which has ended and whose id may be reused.
    pub fn forget(&self, group: Pid) {
        let _ = self.tell('-', group); // fails if the watchdog is gone
    }

    fn tell(&self, sign: char, group: Pid) -> Result<()> {
        let mut pipe = self.pipe.as_ref().context("the watchdog has no pipe")?;
        writeln!(pipe, "{sign}{}", group.as_raw_nonzero()).context("the watchdog has died")
    }
}

impl Drop for Watchdog {
    /// Ends the remaining groups and waits for that.
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.process.wait(); // fails if the watchdog is gone
    }
}

/// Runs the watchdog: reads process groups and folders from standard input until it closes, then ends and deletes them.
pub fn run() -> Result<()> {
    watch(std::io::stdin().lock())
}

fn watch(pipe: impl BufRead) -> Result<()> {
    let (mut groups, mut folders) = (HashSet::new(), vec![]);
    for line in pipe.lines() {
        let line = line?;
        if line.starts_with('/') {
            folders.push(line);
            continue;
        }
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
        let _ = kill_process_group(*group, Signal::TERM); // fails if it is gone
    }
    let deadline = Instant::now() + GRACE;
    for group in &groups {
        while test_kill_process_group(*group).is_ok() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = kill_process_group(*group, Signal::KILL);
    }
    for folder in folders {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_are_left_end_and_folders_are_deleted() {
        let folder = std::env::temp_dir().join(format!("edgezoom-watchdog-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("state")).unwrap();
        let [left, stopped] =
            [(), ()].map(|()| Command::new("sleep").arg("600").process_group(0).spawn().unwrap());
        let pipe = format!("+{0}\n+{1}\n{2}\n-{1}\n", left.id(), stopped.id(), folder.display());
        let ends = std::thread::spawn(move || { left }.wait().unwrap());
        watch(pipe.as_bytes()).unwrap();
        assert!(!ends.join().unwrap().success() && !folder.exists());
        let mut stopped = stopped;
        assert_eq!(stopped.try_wait().unwrap(), None, "it was removed from the list");
        stopped.kill().unwrap();
        stopped.wait().unwrap();
    }
}
