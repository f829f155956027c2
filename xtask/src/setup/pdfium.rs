//! PDFium, the library that draws PDF. It is no Rust crate and in no Debian package: the build that is taken is the one in the
//! Python package `pypdfium2`, pinned by checksum. Laid into `target/pdfium/`, where the tiler looks, with its licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::system::{self, Tool};
use crate::command;
use crate::project::Project;

/// The version of the Python package; its PDFium is 149.0.8149.
const PACKAGE: &str = "pypdfium2==5.15.2";

/// For each architecture what Python's packagers call it, and the checksum of the package's file.
const FILES: [(&str, &str, &str); 2] = [
    ("x86_64", "manylinux2014_x86_64", "dc31aea5b0fb9fefc9b537a65f4113980b2c40798445736a7e6565bc85161e37"),
    ("aarch64", "manylinux2014_aarch64", "dd46e93c0c3a73f6cea8489baff6d77a5d0759dd53fbbce0aeb49c91830176fc"),
];

const PYTHON: [Tool; 2] = [
    Tool { programs: &["python3"], package: "python3", purpose: "to fetch PDFium" },
    Tool { programs: &["pip3", "pip"], package: "python3-pip", purpose: "to fetch PDFium" },
];

/// Installs the library, unless it is there already or the environment names another one.
pub fn require(project: &Project) -> Result<()> {
    if std::env::var_os("EDGEZOOM_PDFIUM").is_some_and(|named| !named.is_empty()) {
        return Ok(());
    }
    let known = FILES.iter().find(|(machine, ..)| *machine == std::env::consts::ARCH);
    let Some((_, platform, checksum)) = known.filter(|_| cfg!(all(target_os = "linux", target_env = "gnu")))
    else {
        bail!("there is no build of PDFium for this machine: name one in EDGEZOOM_PDFIUM");
    };
    let folder = project.target.join("pdfium");
    let stamp = folder.join("installed");
    if folder.join("libpdfium.so").is_file()
        && fs::read_to_string(&stamp).is_ok_and(|installed| installed == *checksum)
    {
        return Ok(());
    }
    system::require(&PYTHON)?;
    eprintln!("xtask | installing PDFium into {}", folder.display());
    // Beside its place, so that it is moved there whole or not at all. Set-up holds a lock: no other one unpacks there.
    let unpacked = project.target.join("pdfium-unpacked");
    let _ = fs::remove_dir_all(&unpacked); // an error: there is none
    fs::create_dir(&unpacked)?;
    let package = download(&unpacked, platform, checksum)?;
    let mut unzip = Command::new("python3");
    command::run(unzip.args(["-m", "zipfile", "-e"]).args([&package, &unpacked]))?;
    let _ = fs::remove_dir_all(&folder); // an error: there is none
    fs::create_dir(&folder)?;
    fs::rename(unpacked.join("pypdfium2_raw/libpdfium.so"), folder.join("libpdfium.so"))?;
    fs::rename(licences(&unpacked)?, folder.join("licenses"))?;
    let _ = fs::remove_dir_all(&unpacked); // an error: the next set-up removes it
    fs::write(stamp, checksum).context("PDFium cannot be marked as installed")
}

/// Downloads the package and gives its file. pip refuses one with another checksum.
fn download(into: &Path, platform: &str, checksum: &str) -> Result<PathBuf> {
    let requirements = into.join("requirements.txt");
    fs::write(&requirements, format!("{PACKAGE} --hash=sha256:{checksum}\n"))?;
    let folder = into.join("package");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--require-hashes", "--no-deps", "--only-binary=:all:", "--quiet"]);
    // Without a network this should fail soon.
    pip.args(["--disable-pip-version-check", "--retries=1", "--timeout=10"]);
    pip.args(["--platform", platform, "--dest"]).arg(&folder).arg("--requirement").arg(requirements);
    command::run(&mut pip)?;
    only_file(&folder)
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let entry = fs::read_dir(folder)?.next().context("pip has downloaded nothing")??;
    Ok(entry.path())
}

/// The folder with the licences, in the one whose name has the package's version.
fn licences(unpacked: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(unpacked)? {
        let licences = entry?.path().join("licenses");
        if licences.is_dir() {
            return Ok(licences);
        }
    }
    bail!("PDFium came without its licences")
}
