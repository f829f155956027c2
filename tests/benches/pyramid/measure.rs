//! The cost of a command, including its child processes.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use wait4::Wait4;

/// Interval between memory samples. The kernel keeps each process's high-water mark, so only growth in the last moments
/// is missed. The maximum from `wait4` would start with this process's mark.
const LOOK: Duration = Duration::from_millis(5);

/// Cost of a run.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Wall time in seconds.
    pub wall: f64,
    /// CPU time in seconds.
    pub cpu: f64,
    /// Sum of all processes' high-water marks in MiB, an upper bound of the memory in use.
    pub peak_mib: f64,
}

/// Runs a command and returns its cost and output.
pub fn run(command: &mut Command) -> Result<(Cost, String)> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let (id, ended) = (child.id(), AtomicBool::new(false));
    let mut said = String::new();
    let (used, wall, watched) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(id, &ended));
        child.stdout.take().context("no pipe")?.read_to_string(&mut said)?;
        let used = child.wait4()?;
        let wall = begun.elapsed();
        ended.store(true, Ordering::Relaxed);
        Ok::<_, anyhow::Error>((used, wall, watcher.join().unwrap_or_default()))
    })?;
    ensure!(used.status.success(), "{command:?}: {}", used.status);
    let cpu = used.rusage.utime + used.rusage.stime;
    let cost = Cost {
        wall: wall.as_secs_f64(),
        cpu: cpu.as_secs_f64(),
        peak_mib: watched as f64 / f64::from(1 << 20),
    };
    Ok((cost, said))
}

/// Returns the sum of the high-water marks of a process and its children in bytes.
fn watch(id: u32, ended: &AtomicBool) -> u64 {
    let mut marks: Vec<(u32, u64)> = vec![];
    while !ended.load(Ordering::Relaxed) {
        for process in [vec![id], children(id)].concat() {
            let Some(mark) = high_water_mark(process) else { continue };
            match marks.iter_mut().find(|(known, _)| *known == process) {
                // Not the maximum: before exec, a process has its parent's mark.
                Some((_, last)) => *last = mark,
                None => marks.push((process, mark)),
            }
        }
        thread::sleep(LOOK);
    }
    marks.iter().map(|(_, mark)| mark).sum()
}

fn children(id: u32) -> Vec<u32> {
    let of = |path: String| fs::read_to_string(path).unwrap_or_default();
    let children = of(format!("/proc/{id}/task/{id}/children"));
    children.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn high_water_mark(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}
