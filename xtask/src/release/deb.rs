//! The Debian package: the files of the archive in the same place, with the unit, a configuration file, and links to
//! `tiler`, its man pages and completions. `dpkg-deb` packs it, which every Debian has; cargo-deb would compile for
//! minutes and could not know the generated files.

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

/// Files of the archive, and the places where Debian's programs look for them.
const LINKS: [(&str, &str); 4] = [
    ("tiler", "usr/bin/tiler"),
    ("completions/tiler.bash", "usr/share/bash-completion/completions/tiler"),
    ("completions/tiler.fish", "usr/share/fish/vendor_completions.d/tiler.fish"),
    ("completions/_tiler", "usr/share/zsh/vendor-completions/_tiler"),
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
    for (from, to) in LINKS {
        link(folder, from, to)?;
    }
    if let Ok(pages) = fs::read_dir(folder.join("opt/edgezoom/man")) {
        for page in pages {
            let name = page?.file_name().to_string_lossy().into_owned();
            link(folder, &format!("man/{name}"), &format!("usr/share/man/man1/{name}"))?;
        }
    }
    fs::write(folder.join("DEBIAN/conffiles"), "/etc/edgezoom/tiler.env\n")?;
    let size = command::output(Command::new("du").args(["-sk", "--apparent-size"]).arg(folder))?;
    let size = size.split_whitespace().next().context("`du` printed nothing")?;
    let mut control = fs::read_to_string(project.root.join("deploy/debian/control"))?;
    writeln!(control, "Version: {}\nArchitecture: {}", env!("CARGO_PKG_VERSION"), architecture(machine))?;
    writeln!(control, "Installed-Size: {size}")?;
    fs::write(folder.join("DEBIAN/control"), control).context("cannot write the package's fields")
}

/// Makes a link to one of the archive's files, if it exists.
fn link(folder: &Path, from: &str, to: &str) -> Result<()> {
    let (at, path) = (Path::new("opt/edgezoom").join(from), folder.join(to));
    if !folder.join(&at).exists() {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    symlink(Path::new("/").join(at), &path).with_context(|| format!("cannot link {to}"))
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
