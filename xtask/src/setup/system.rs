//! Programs that the system's package manager brings. Installed on Debian and its kin when that can be done without
//! asking for a password; elsewhere the message says what to install.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;

/// A program and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Any one of these will do: names on the path, or absolute paths.
    pub programs: &'static [&'static str],
    /// The Debian package that brings it.
    pub package: &'static str,
    /// What it is needed for.
    pub purpose: &'static str,
}

/// Installs the tools that are missing.
pub fn require(tools: &[Tool]) -> Result<()> {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !tool.is_there()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for tool in &missing {
        eprintln!("xtask | {} is missing, needed {}", tool.package, tool.purpose);
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    let packages_text = packages.join(" ");
    let Some(apt) = apt_get() else {
        bail!(
            "install these with your system's package manager, then try again (the names are Debian's): {packages_text}"
        );
    };
    eprintln!("xtask | installing {packages_text}");
    let install =
        || command::run(apt().args(["install", "--yes", "--no-install-recommends"]).args(&packages));
    if install().is_err() {
        eprintln!("xtask | once more, with a fresh list of packages");
        command::run(apt().arg("update"))?;
        install().with_context(|| format!("these packages could not be installed: {packages_text}"))?;
    }
    match missing.iter().find(|tool| !tool.is_there()) {
        Some(tool) => bail!("{} is installed, but none of {:?} is there", tool.package, tool.programs),
        None => Ok(()),
    }
}

/// Installs the tools that are missing where that can be done; elsewhere says what will not work. For what the service can do
/// without.
pub fn wish(tools: &[Tool]) {
    if let Err(error) = require(tools) {
        eprintln!("xtask | going on without: {error:#}");
    }
}

impl Tool {
    fn is_there(&self) -> bool {
        self.programs.iter().any(|program| command::on_path(program))
    }
}

/// A way to make `apt-get` commands that need not ask for a password; `None` where there is none.
fn apt_get() -> Option<impl Fn() -> Command> {
    if !command::on_path("apt-get") {
        return None;
    }
    let root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !root && !command::succeeds(Command::new("sudo").args(["--non-interactive", "true"])) {
        return None;
    }
    Some(move || {
        let mut apt = Command::new(if root { "env" } else { "sudo" });
        apt.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]);
        apt
    })
}
