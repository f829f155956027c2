//! The machine on which a benchmark runs.

use std::fs;
use std::process::Command;

use anyhow::Result;

/// Describes the machine in one line: processor, memory, kernel, date.
pub fn machine() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(String::new(), |kilobytes| format!(", {} GiB", (kilobytes + (1 << 19)) >> 20));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let date = Command::new("date").args(["--utc", "+%Y-%m-%d %H:%M UTC"]).output()?.stdout;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    Ok(format!(
        "{cores} cores of {processor}{memory}, Linux {}, load {load} before the first run, {}.",
        kernel.trim(),
        String::from_utf8_lossy(&date).trim()
    ))
}

/// Returns the first value of a field in a file of `/proc`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
