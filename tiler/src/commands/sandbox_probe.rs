//! `tiler sandbox-probe`: the process in which `tiler doctor` tries the renderer's sandbox out. Not called by users.

use std::process::ExitCode;

/// Prints the findings as JSON.
pub fn run() -> anyhow::Result<ExitCode> {
    let findings = edgezoom_tiler::sandbox::probe::run()?;
    println!("{}", serde_json::to_string(&findings)?);
    Ok(ExitCode::SUCCESS)
}
