//! The processes of a running system, found in `/proc`, and signals to them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::patience;

/// Returns the processes of the system with this state directory: their environment or command line names it.
///
/// # Errors
/// `/proc` cannot be read.
pub fn of(state: &Path) -> Result<Vec<u32>> {
    let state = state.as_os_str().as_encoded_bytes();
    let mut found = vec![];
    for entry in std::fs::read_dir("/proc")? {
        let folder = entry?.path();
        let id = folder.file_name().and_then(|name| name.to_str()?.parse().ok());
        let Some(id) = id.filter(|id| *id != std::process::id()) else { continue };
        let names = |file| {
            let text = std::fs::read(folder.join(file)).unwrap_or_default(); // it may have ended
            text.windows(state.len()).any(|part| part == state)
        };
        if names("environ") || names("cmdline") {
            found.push(id);
        }
    }
    Ok(found)
}

/// Waits until no process of the system with this state directory is left. Otherwise returns the command lines of those
/// that are.
#[must_use]
pub fn left(state: &Path) -> Vec<String> {
    let deadline = Instant::now() + patience();
    loop {
        let left = of(state).unwrap_or_default();
        if left.is_empty() || Instant::now() > deadline {
            return left
                .into_iter()
                .map(|id| format!("{id} {}", command_line(id).replace('\0', " ")))
                .collect();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the tilers of the system with this state directory.
///
/// # Errors
/// `/proc` cannot be read.
pub fn tilers(state: &Path) -> Result<Vec<u32>> {
    let is_tiler = |id: &u32| {
        let line = command_line(*id);
        let mut words = line.split('\0');
        // The Workers runtime has a `serve` argument too.
        words.next().is_some_and(|program| program.ends_with("/tiler")) && words.next() == Some("serve")
    };
    Ok(of(state)?.into_iter().filter(is_tiler).collect())
}

/// Returns the edge processes of the system with this state directory: wrangler and its runtime.
///
/// # Errors
/// `/proc` cannot be read.
pub fn edge(state: &Path) -> Result<Vec<u32>> {
    let is_edge = |id: &u32| {
        let line = command_line(*id);
        line.contains("workerd") || line.contains("wrangler") && line.contains("--persist-to")
    };
    Ok(of(state)?.into_iter().filter(is_edge).collect())
}

/// Returns the renderers of a tiler.
///
/// # Errors
/// `/proc` cannot be read.
pub fn renderers(tiler: u32) -> Result<Vec<u32>> {
    let is_renderer =
        |id: &u32| parent(*id) == Some(tiler) && command_line(*id).split('\0').nth(1) == Some("render");
    Ok(all()?.into_iter().filter(is_renderer).collect())
}

/// Returns the main process of each of a tiler's browsers.
///
/// # Errors
/// `/proc` cannot be read.
pub fn browsers(tiler: u32) -> Result<Vec<u32>> {
    let is_browser = |id: &u32| {
        let line = command_line(*id);
        line.contains("\0--user-data-dir=")
            && !line.contains("\0--type=")
            && !line.contains("browser-supervisor")
            && std::iter::successors(Some(*id), |id| parent(*id)).any(|ancestor| ancestor == tiler)
    };
    Ok(all()?.into_iter().filter(is_browser).collect())
}

fn all() -> Result<Vec<u32>> {
    let names = std::fs::read_dir("/proc")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<std::io::Result<Vec<_>>>()?;
    Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
}

/// Returns the arguments, each terminated by a zero byte; empty if the process has ended.
fn command_line(id: u32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default()).into_owned()
}

fn parent(id: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?; // it may have ended
    status.lines().find_map(|line| line.strip_prefix("PPid:\t")?.parse().ok())
}

/// Sends a signal.
///
/// # Errors
/// The process does not exist.
pub fn signal(id: u32, signal: Signal) -> Result<()> {
    let process = Pid::from_raw(id.cast_signed()).context("0 is not a process id")?;
    kill_process(process, signal).with_context(|| format!("process {id}"))
}
