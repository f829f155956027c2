//! The packages that the workspace is built of, as `cargo metadata` tells them.

use anyhow::Result;
use serde::Deserialize;
use xtask::command;
use xtask::project::Project;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A package of some version.
#[derive(Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// As an SPDX expression.
    pub license: Option<String>,
}

/// All packages for these targets; for every target when none is named.
pub fn of(project: &Project, targets: &[String]) -> Result<Vec<Package>> {
    let mut cargo = project.cargo();
    cargo.args(["metadata", "--format-version=1", "--locked"]);
    for target in targets {
        cargo.args(["--filter-platform", target]);
    }
    let metadata: Metadata = serde_json::from_str(&command::output(&mut cargo)?)?;
    Ok(metadata.packages)
}
