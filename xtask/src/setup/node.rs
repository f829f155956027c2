//! Node packages: wrangler runs the Worker, esbuild and binaryen make it small, OpenSeadragon is served. A Node that is
//! new enough for wrangler is one of them, so that of the machine only has to run npm.

use anyhow::{Context, Result};

use super::system::{self, Tool};
use crate::command;
use crate::project::Project;

const NPM: [Tool; 2] = [
    Tool { programs: &["node"], package: "nodejs", purpose: "to run npm" },
    Tool { programs: &["npm"], package: "npm", purpose: "to install Node packages" },
];

/// Installs the packages of the lock file, unless these are installed already. A copy of the lock file marks what is.
pub fn require(project: &Project) -> Result<()> {
    let wanted =
        std::fs::read(project.root.join("package-lock.json")).context("package-lock.json is missing")?;
    let stamp = project.root.join("node_modules/.edgezoom-installed");
    let complete = ["node", "wrangler", "esbuild"].iter().all(|tool| project.node_tool_path(tool).exists());
    if complete && std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    system::require(&NPM)?;
    eprintln!("xtask | installing Node packages");
    let mut npm = std::process::Command::new("npm");
    command::run(npm.current_dir(&project.root).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    std::fs::write(&stamp, wanted).with_context(|| format!("{} cannot be written", stamp.display()))
}
