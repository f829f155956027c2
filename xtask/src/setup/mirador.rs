//! Mirador, a viewer for IIIF that a test shows a picture in: the built script alone, from its npm package. Installed as a
//! package it would bring 250 others, which that script contains. Pinned by checksum; laid into `target/mirador/`.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;
use crate::project::Project;

const PACKAGE: &str = "mirador@4.0.0";
const FILE: &str = "mirador-4.0.0.tgz";
const CHECKSUM: &str = "ac2423944bd52ffb5a0fc02ff280c117fe39433fac56e50c0b79f0d1ca7c57e6";
/// What is taken of the package.
const PARTS: [&str; 2] = ["package/dist/mirador.min.js", "package/LICENSE"];

/// Installs it, unless it is there already.
pub fn require(project: &Project) -> Result<()> {
    let folder = project.target.join("mirador");
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == CHECKSUM) {
        return Ok(());
    }
    eprintln!("xtask | installing Mirador into {}", folder.display());
    fs::create_dir_all(&folder)?;
    let mut pack = project.npm()?;
    command::run(pack.args(["pack", PACKAGE, "--silent", "--pack-destination"]).arg(&folder))?;
    let sums = folder.join("sums");
    fs::write(&sums, format!("{CHECKSUM}  {FILE}\n"))?;
    command::run(Command::new("sha256sum").current_dir(&folder).args(["--check", "--status"]).arg(&sums))?;
    let mut unpack = Command::new("tar");
    command::run(unpack.current_dir(&folder).args(["-xzf", FILE, "--strip-components=1"]).args(PARTS))?;
    fs::remove_file(folder.join(FILE))?;
    fs::write(stamp, CHECKSUM).context("Mirador cannot be marked as installed")
}
