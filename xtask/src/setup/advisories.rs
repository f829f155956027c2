//! The database of known weaknesses of Rust packages, which RustSec keeps on GitHub. It cannot be had everywhere, and nothing
//! but a check needs it: what is missing is said, and is no error.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};

use crate::command;
use crate::project::Project;

const DATABASE: &str = "https://github.com/RustSec/advisory-db";
/// The environment variable with a folder that has a copy of it.
const FOLDER: &str = "EDGEZOOM_ADVISORY_DB";
/// How long a copy is good for.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long bringing it may take, in seconds: it has 10 MB.
const PATIENCE: &str = "90";

/// Brings the database, or a newer one, and says where it is.
///
/// # Errors
/// It cannot be had.
pub fn bring(project: &Project) -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
        return Ok(folder.into());
    }
    let folder = project.target.join("advisory-db");
    if age(&folder).is_some_and(|age| age < DAY) {
        return Ok(folder);
    }
    let fresh = project.target.join("advisory-db-fresh");
    let _ = fs::remove_dir_all(&fresh); // an error: there is none
    let mut clone = Command::new("timeout");
    clone.args([PATIENCE, "git", "clone", "--quiet", "--depth=1", DATABASE]).arg(&fresh);
    clone.env("GIT_TERMINAL_PROMPT", "0");
    match command::run(&mut clone) {
        Ok(()) => {
            let _ = fs::remove_dir_all(&folder); // an error: there is none
            fs::rename(&fresh, &folder)?;
        }
        Err(error) => {
            let age = age(&folder).with_context(|| format!("{DATABASE} cannot be reached: {error:#}"))?;
            eprintln!("xtask | the database of advisories is {} days old", age.as_secs() / DAY.as_secs());
        }
    }
    ensure!(folder.join("crates").is_dir(), "{DATABASE} has changed its layout");
    Ok(folder)
}

/// How long ago a copy was made.
fn age(folder: &std::path::Path) -> Option<Duration> {
    let made = fs::metadata(folder.join(".git")).ok()?.modified().ok()?;
    SystemTime::now().duration_since(made).ok()
}
