//! Looking at processes from outside: which ones belong to a system, and sending them signals.

use std::path::Path;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

/// The processes whose environment or command line names `state`, as those of the system that keeps its state there do.
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

/// The renderer processes of a tiler.
///
/// # Errors
/// `/proc` cannot be read.
pub fn renderers(tiler: u32) -> Result<Vec<u32>> {
    let parent = format!("PPid:\t{tiler}\n");
    let mut found = vec![];
    for entry in std::fs::read_dir("/proc")? {
        let folder = entry?.path();
        let Some(id) = folder.file_name().and_then(|name| name.to_str()?.parse().ok()) else { continue };
        let status = std::fs::read_to_string(folder.join("status")).unwrap_or_default(); // it may have ended
        let command = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        if status.contains(&parent) && command.split(|byte| *byte == 0).nth(1) == Some(b"render") {
            found.push(id);
        }
    }
    Ok(found)
}

/// Sends a signal.
///
/// # Errors
/// There is no such process.
pub fn signal(id: u32, signal: Signal) -> Result<()> {
    let process = Pid::from_raw(id.cast_signed()).context("0 is no process")?;
    kill_process(process, signal).with_context(|| format!("process {id}"))
}
