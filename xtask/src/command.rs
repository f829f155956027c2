//! Running other programs to completion. Their output goes to standard error, so that standard output carries only a
//! task's own results.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a command; an error names the command that cannot be started or fails.
pub fn run(command: &mut Command) -> Result<()> {
    run_shown(command.stdout(std::io::stderr()))
}

/// Runs a command whose standard output is the task's.
pub fn run_shown(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` failed: {status}", text(command));
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", text(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns true if a command starts and succeeds. Its output is discarded.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Returns true if a program of this name is in `PATH`, or `program` is the absolute path of a file.
pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Returns the command as one would type it.
pub fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", text(command))
}
