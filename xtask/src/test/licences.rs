//! The step `licences`: licences of all dependencies, and advisories about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};

use crate::build;
use crate::command;
use crate::project::Project;
use crate::steps::{Tally, Transcript};

/// RustSec's database of advisories.
const DATABASE: &str = "https://github.com/RustSec/advisory-db";
/// The environment variable that names a copy of the database.
const FOLDER: &str = "EDGEZOOM_ADVISORY_DB";
/// Age at which a copy is downloaded again.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Seconds that downloading its 10 MB may take.
const PATIENCE: &str = "90";

/// Checks everything in `deny.toml` if cargo-deny is installed. Installing it takes minutes, so without it `xtask/tools` checks licences
/// and advisories. A machine that cannot download the database checks no advisories, and says so.
pub fn check(project: &Project, out: &Transcript<'_>) -> Result<Tally> {
    let database = database(project);
    if let Err(error) = &database {
        out.line(format!("ADVISORIES ARE NOT CHECKED: {error:#}").as_bytes());
    }
    if command::succeeds(project.cargo().args(["deny", "--version"])) {
        let mut check = project.cargo();
        check.args(["deny", "check", "bans", "licenses", "sources"]);
        return out.check(check.args(database.is_ok().then_some("advisories")));
    }
    out.line(b"cargo-deny is not installed; checking only licences and advisories");
    out.check(build::tool(project, ["dependencies"]).args(database.ok()))
}

/// Downloads the database, unless there is a recent copy, and returns its path.
fn database(project: &Project) -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
        return Ok(folder.into());
    }
    let folder = project.target.join("advisory-db");
    if age(&folder).is_some_and(|age| age < DAY) {
        return Ok(folder);
    }
    let fresh = project.target.join("advisory-db-fresh");
    let _ = fs::remove_dir_all(&fresh); // it may not exist
    let mut clone = Command::new("timeout");
    clone.args([PATIENCE, "git", "clone", "--quiet", "--depth=1", DATABASE]).arg(&fresh);
    clone.env("GIT_TERMINAL_PROMPT", "0");
    match command::run(&mut clone) {
        Ok(()) => {
            let _ = fs::remove_dir_all(&folder); // it may not exist
            fs::rename(&fresh, &folder)?;
        }
        Err(error) => {
            let age = age(&folder).with_context(|| format!("cannot download {DATABASE}: {error:#}"))?;
            eprintln!(
                "xtask | the copy of the advisory database is {} days old",
                age.as_secs() / DAY.as_secs()
            );
        }
    }
    ensure!(folder.join("crates").is_dir(), "the layout of {DATABASE} has changed");
    Ok(folder)
}

/// Returns the age of a copy, if there is one.
fn age(folder: &Path) -> Option<Duration> {
    let made = fs::metadata(folder.join(".git")).ok()?.modified().ok()?;
    SystemTime::now().duration_since(made).ok()
}
