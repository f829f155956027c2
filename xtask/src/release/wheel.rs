//! The Python packages: the engine, and the tiler for `edgezoom` on the command line. GCC compiles C and assembles, and Zig
//! links, because it has the symbols of every glibc.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{notices, packages};
use crate::project::{Profile, Project};
use crate::setup::pinned;
use crate::{build, command};

/// Folders of the packages, their crates, and the names and tags of their files.
const PACKAGES: [(&str, &str, &str, &str); 2] = [
    ("engine/python", "edgezoom-python", "edgezoom", "cp311-abi3"),
    ("tiler", packages::TILER, "edgezoom_tiler", "py3-none"),
];
/// The oldest glibc that they run with, and its name among Python's platforms.
const GLIBC: (&str, &str) = ("2.28", "manylinux_2_28");
const NOTICE: &str = "This package contains the following. The viewer's licences are in viewer/viewer.js.";

/// Builds the packages into a folder, and returns their paths.
pub fn build(project: &Project, target: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let (maturin, zig) = pinned::wheel_tools(project)?;
    command::run(project.npm()?.args(["run", "--silent", "build:wheel"]))?;
    let date = command::output(project.command("git").args(["log", "-1", "--format=%ct"]))?;
    let machine = target.split('-').next().unwrap_or(target);
    let linker = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
    let (glibc, platform) = GLIBC;
    let build = |(package, name, file, tag): (&str, _, _, _)| {
        let root = project.root.join(package);
        let text = notices(NOTICE, &packages::linked(project, name, target)?)?;
        fs::write(root.join("NOTICES"), text).context("cannot write NOTICES")?;
        let mut wheel = project.command(&maturin.to_string_lossy());
        build::stamp(project, wheel.current_dir(&root));
        wheel.args(["build", "--release", "--compatibility", platform, "--out"]).arg(folder);
        build::cross(project, &mut wheel, target, Profile::Release)?;
        wheel.env(&linker, project.root.join("xtask/zig.sh")).env("EDGEZOOM_ZIG", &zig);
        wheel.env("EDGEZOOM_ZIG_TARGET", format!("{machine}-linux-gnu.{glibc}"));
        command::run(wheel.env("SOURCE_DATE_EPOCH", date.trim()))?;
        Ok(folder.join(format!("{file}-{}-{tag}-{platform}_{machine}.whl", env!("CARGO_PKG_VERSION"))))
    };
    PACKAGES.into_iter().map(build).collect()
}
