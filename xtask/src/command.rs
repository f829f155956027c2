//! Running other programs to their end. What they print goes to standard error, so that standard output carries only
//! what a task itself has to say.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a command; an error names it when it cannot be started or fails.
pub fn run(command: &mut Command) -> Result<()> {
    run_shown(command.stdout(std::io::stderr()))
}

/// Runs a command whose standard output is the task's own.
pub fn run_shown(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` failed: {status}", text(command));
    }
    Ok(())
}

/// Runs a command and gives what it prints to standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", text(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether a command can be run and says that all is well. Nothing of what it prints is shown.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Whether a program of this name is on the path.
pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// A command as one would type it.
pub fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn cannot_start(command: &Command) -> String {
    format!("`{}` cannot be started", text(command))
}
