//! The Debian package: the files of the archive in the same place, with the unit, a configuration file and `tiler` in `PATH`. `dpkg-deb`
//! packs it, which every Debian has; cargo-deb would compile for minutes and could not know the generated files.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;
use crate::project::Project;

/// Files of the repository, their names in the package, and their modes.
const FILES: [(&str, &str, &str); 6] = [
    ("deploy/debian/tiler.env", "etc/edgezoom/tiler.env", "600"), // it will have secrets
    ("deploy/systemd/edgezoom-tiler.service", "usr/lib/systemd/system/edgezoom-tiler.service", "644"),
    ("LICENSE", "usr/share/doc/edgezoom-tiler/copyright", "644"),
    ("deploy/debian/postinst", "DEBIAN/postinst", "755"),
    ("deploy/debian/prerm", "DEBIAN/prerm", "755"),
    ("deploy/debian/postrm", "DEBIAN/postrm", "755"),
];

/// Returns Debian's name of a machine.
pub fn architecture(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Adds to a directory with the archive's files in `opt/edgezoom` all else that the package has.
pub fn fill(project: &Project, folder: &Path, machine: &str) -> Result<()> {
    // The archive's modes depend on the umask.
    command::run(Command::new("chmod").args(["-R", "u+rwX,go+rX,go-w"]).arg(folder))?;
    for (from, to, mode) in FILES {
        let mut install = project.command("install");
        command::run(install.args(["-D", "--mode", mode, from]).arg(folder.join(to)))?;
    }
    fs::create_dir_all(folder.join("usr/bin"))?;
    symlink("/opt/edgezoom/tiler", folder.join("usr/bin/tiler"))?;
    fs::write(folder.join("DEBIAN/conffiles"), "/etc/edgezoom/tiler.env\n")?;
    let size = command::output(Command::new("du").args(["-sk", "--apparent-size"]).arg(folder))?;
    let size = size.split_whitespace().next().context("`du` printed nothing")?;
    let mut control = fs::read_to_string(project.root.join("deploy/debian/control"))?;
    writeln!(control, "Version: {}\nArchitecture: {}", env!("CARGO_PKG_VERSION"), architecture(machine))?;
    writeln!(control, "Installed-Size: {size}")?;
    fs::write(folder.join("DEBIAN/control"), control).context("cannot write the package's fields")
}

/// Packs the directory and returns the package.
pub fn pack(folder: &Path) -> Result<PathBuf> {
    let package = folder.with_added_extension("deb");
    let mut pack = Command::new("dpkg-deb");
    // Reproducible: times are not kept.
    pack.env("SOURCE_DATE_EPOCH", "0").args(["--root-owner-group", "--build"]);
    command::run(pack.arg(folder).arg(&package))?;
    Ok(package)
}
