//! Node packages: wrangler runs the Worker, esbuild and binaryen make it small, OpenSeadragon is served. A Node that is
//! new enough for wrangler is one of them, so that of the machine only has to run npm.

use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::system::{self, Tool};
use crate::command;
use crate::project::Project;

const NPM: [Tool; 2] = [
    Tool { programs: &["node"], package: "nodejs", purpose: "to run npm" },
    Tool { programs: &["npm"], package: "npm", purpose: "to install Node packages" },
];

/// Installs the packages of the lock file, unless just these are installed already.
pub fn require(project: &Project) -> Result<()> {
    let lock =
        std::fs::read(project.root.join("package-lock.json")).context("package-lock.json is missing")?;
    let wanted = hex(&Sha256::digest(lock));
    let stamp = project.root.join("node_modules/.edgezoom-installed");
    let complete = ["node", "wrangler", "esbuild"].iter().all(|tool| project.node_tool_path(tool).exists());
    if complete && installed(&stamp).is_some_and(|installed| installed == wanted) {
        return Ok(());
    }
    system::require(&NPM)?;
    eprintln!("xtask | installing Node packages");
    let mut npm = std::process::Command::new("npm");
    command::run(npm.current_dir(&project.root).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    std::fs::write(&stamp, wanted).with_context(|| format!("{} cannot be written", stamp.display()))
}

fn installed(stamp: &Path) -> Option<String> {
    std::fs::read_to_string(stamp).ok()
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
