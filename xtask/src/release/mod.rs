//! `cargo xtask release`: an archive with the tiler, PDFium, the viewer of sites, all licences, man pages, completions,
//! the systemd unit and the monitoring. It runs on any Linux whose glibc is at least as new as this machine's: PDFium is
//! a glibc library loaded at run time, so static linking is impossible. `cargo xtask release deb` makes a Debian package
//! of the same files; `worker`, `button` and `local` have the built Worker; `wheel` makes the Python packages.
//!
//! The same commit makes the same bytes in any directory, with the same Rust, C compiler and cargo: nothing in an
//! archive has a time or a path of the machine. `--check` builds twice and compares.

mod deb;
mod packages;
mod sbom;
mod service;
mod wheel;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::project::{Profile, Project};
use crate::setup::{self, Purpose, pinned};
use crate::{build, command};
use packages::{Package, TILER};

/// A part of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The tiler with PDFium, for any Linux
    Tiler,
    /// The same as a Debian package
    Deb,
    /// The built Worker with the commands that deploy it, for machines without Rust
    Worker,
    /// A repository for Cloudflare's deploy button: the built Worker, and the tiler's image by its name
    Button,
    /// The tiler and the built Worker with wrangler, which run the service on one machine
    Local,
    /// The Python packages of the engine and the tiler, for any Linux with glibc 2.28
    Wheel,
}

/// The options of `cargo xtask release`.
#[derive(clap::Args)]
pub struct Options {
    /// Part to release
    #[arg(value_enum, default_value = "tiler")]
    part: Part,
    /// Put the files into this folder instead of an archive
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Profile of the tiler
    #[arg(long, value_enum, default_value = "release")]
    profile: Profile,
    /// Machine that the tiler is for: x86_64-unknown-linux-gnu or aarch64-unknown-linux-gnu [default: this one]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Build the files again in a clone in another directory, and fail unless both are the same bytes
    #[arg(long, conflicts_with_all = ["folder", "profile"])]
    check: bool,
}

impl Options {
    /// Returns the options that build the Python packages for this machine.
    pub fn of_wheel() -> Self {
        Self { part: Part::Wheel, folder: None, profile: Profile::Release, target: None, check: false }
    }
}

/// The folder of all files, in that of Cargo.
const ARCHIVES: &str = "release-archives";
/// Files of the repository, and their names in the archive.
const FILES: [(&str, &str); 8] = [
    ("LICENSE", "LICENSE"),
    ("docs/limits.md", "limits.md"),
    ("docs/operations/guide.md", "operations/guide.md"),
    ("docs/operations/reference.md", "operations/reference.md"),
    ("docs/operations/runbook.md", "operations/runbook.md"),
    ("deploy/systemd/edgezoom-tiler.service", "edgezoom-tiler.service"),
    ("deploy/monitoring/alerts.yml", "monitoring/alerts.yml"),
    ("deploy/monitoring/dashboard.json", "monitoring/dashboard.json"),
];
/// The first line of NOTICES.
const NOTICE: &str = "The tiler contains these packages. PDFium's licences are in pdfium/licenses/, the viewer's in viewer/viewer.js.";
/// Shells, and the names of their completions.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "tiler.bash"), ("fish", "tiler.fish"), ("zsh", "_tiler")];
/// Prefixes of the names of licence files in packages.
const LICENCES: [&str; 5] = ["COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "NOTICE"];

/// Builds and packs the tiler.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    let host = build::host(project)?;
    let target = options.target.as_ref().unwrap_or(&host);
    setup::prepare(project, Purpose::Release)?;
    setup::target(project, target, &host)?;
    let tiler = || build::for_target(project, target, options.profile);
    let (version, machine) = (env!("CARGO_PKG_VERSION"), target.split('-').next().unwrap_or(target));
    let name = match options.part {
        Part::Tiler => format!("edgezoom-tiler-{version}-{machine}-linux"),
        Part::Deb => format!("edgezoom-tiler_{version}_{}", deb::architecture(machine)),
        Part::Worker => format!("edgezoom-worker-{version}"),
        Part::Button => format!("edgezoom-deploy-{version}"),
        Part::Local => format!("edgezoom-local-{version}-{machine}-linux"),
        Part::Wheel => format!("edgezoom-wheels-{version}-{machine}"),
    };
    let parent = project.target.join(ARCHIVES);
    let folder = options.folder.clone().unwrap_or_else(|| parent.join(&name));
    if options.folder.is_none() {
        let _ = fs::remove_dir_all(&folder); // it may not exist
    }
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let mut files = vec![];
    match options.part {
        Part::Tiler => fill(project, target, &tiler()?, &folder)?,
        Part::Deb => {
            fill(project, target, &tiler()?, &folder.join("opt/edgezoom"))?;
            deb::fill(project, &folder, machine)?;
        }
        Part::Worker => service::worker(project, &tiler()?, &folder)?,
        Part::Button => service::button(project, &tiler()?, &folder)?,
        Part::Local => {
            ensure!(
                *target == host,
                "the local service has Node.js for this machine; build on the other one"
            );
            let tiler = tiler()?;
            fill(project, target, &tiler, &folder)?;
            service::local(project, &tiler, &folder.join("service"))?;
        }
        Part::Wheel => files = wheel::build(project, target, &folder)?,
    }
    if options.folder.is_some() {
        return Ok(());
    }
    match options.part {
        Part::Wheel => {}
        Part::Deb => files.push(deb::pack(&folder)?),
        _ => files.push(pack(&parent, &name)?),
    }
    for file in &files {
        let (folder, name) = (file.parent().unwrap_or(&parent), file.file_name().unwrap_or_default());
        let sum = command::output(Command::new("sha256sum").current_dir(folder).arg(name))?;
        fs::write(file.with_added_extension("sha256"), &sum)?;
        print!("{}\n{sum}", file.display());
    }
    if options.check { check(project, target, options.part, &files) } else { Ok(()) }
}

/// Packs the directory `name` and returns the archive.
fn pack(parent: &Path, name: &str) -> Result<PathBuf> {
    let archive = parent.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--mode=go-w,a+rX"]);
    command::run(tar.args(["--use-compress-program=gzip -n", "--create", "--file"]).arg(&archive).args([
        "--directory".as_ref(),
        parent.as_os_str(),
        name.as_ref(),
    ]))?;
    Ok(archive)
}

/// Builds the files again from nothing, in a clone of the commit with directories of its own, and compares.
fn check(project: &Project, target: &str, part: Part, files: &[PathBuf]) -> Result<()> {
    let changes = command::output(project.command("git").args(["status", "--porcelain"]))?;
    ensure!(changes.is_empty(), "commit these changes first, so that the clone has them:\n{changes}");
    let parent = project.target.join("release-check");
    let _ = fs::remove_dir_all(&parent); // it may not exist
    let (clone, cargo_home) = (parent.join("another-directory-with-a-longer-name"), parent.join("cargo"));
    fs::create_dir_all(&cargo_home)?;
    // Other paths for the same downloads.
    std::os::unix::fs::symlink(build::cargo_home()?.join("registry"), cargo_home.join("registry"))?;
    command::run(project.command("git").args(["clone", "--quiet", "--shared", "."]).arg(&clone))?;
    let mut again = project.cargo();
    let part = part.to_possible_value().context("a part without a name")?;
    again.current_dir(&clone).args(["xtask", "release", part.get_name(), "--target", target]);
    again.env("CARGO_HOME", &cargo_home).env_remove("CARGO_TARGET_DIR");
    command::run(&mut again)?;
    for file in files {
        let other = clone.join("target").join(file.strip_prefix(&project.target)?);
        command::run(Command::new("cmp").args([file, &other]))?;
    }
    println!("the same bytes again");
    fs::remove_dir_all(&parent).with_context(|| format!("cannot remove {}", parent.display()))
}

fn fill(project: &Project, target: &str, tiler: &Path, folder: &Path) -> Result<()> {
    for name in ["monitoring", "operations"] {
        fs::create_dir_all(folder.join(name)).with_context(|| format!("{}", folder.display()))?;
    }
    let (host, program) = (build::host(project)?, folder.join("tiler"));
    fs::copy(tiler, &program).context("cannot copy the tiler")?;
    remove_paths(&program, target, &host)?;
    let (pdfium, copy) = (pinned::pdfium_folder(project, target), folder.join("pdfium"));
    command::run(Command::new("cp").args(["-R", "--no-target-directory"]).arg(&pdfium).arg(&copy))?;
    command::run(project.node_tool("node")?.arg("edge/viewer/build.mjs"))?;
    let (viewer, copy) = (project.root.join("edge/build/site"), folder.join("viewer"));
    command::run(Command::new("cp").args(["-R", "--no-target-directory"]).arg(viewer).arg(copy))?;
    for (from, to) in FILES {
        fs::copy(project.root.join(from), folder.join(to)).with_context(|| from.to_owned())?;
    }
    if target == host {
        write_help(tiler, folder)?;
    }
    let packages = packages::linked(project, TILER, target)?;
    fs::write(folder.join("NOTICES"), notices(NOTICE, &packages)?).context("cannot write NOTICES")?;
    let sum = command::output(Command::new("sha256sum").arg(pdfium.join("libpdfium.so")))?;
    let bill = sbom::cyclonedx(&packages, sum.split(' ').next().unwrap_or_default(), target)?;
    fs::write(folder.join("sbom.cdx.json"), bill).context("cannot write the SBOM")
}

/// Removes the names of assembler sources, which NASM writes with their paths, and the build ID, which the linker
/// computes from them too.
fn remove_paths(program: &Path, target: &str, host: &str) -> Result<()> {
    let mut objcopy = Command::new(if target == host { "objcopy" } else { "aarch64-linux-gnu-objcopy" });
    objcopy.args(["--wildcard", "--strip-symbol=/*", "--remove-section=.note.gnu.build-id"]);
    command::run(objcopy.arg(program))
}

/// Writes man pages and completions. The tiler prints them, so an archive for another machine has none.
fn write_help(tiler: &Path, folder: &Path) -> Result<()> {
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    command::run(Command::new(tiler).arg("man").arg(&man))?;
    for (shell, name) in COMPLETIONS {
        let script = command::output(Command::new(tiler).args(["completions", shell]))?;
        fs::write(completions.join(name), script).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// Returns the licences of all crates in a program, with their licence files, below a line.
fn notices(first: &str, packages: &[Package]) -> Result<String> {
    let mut text = format!("{first}\n");
    for package in packages.iter().filter(|package| !package.is_ours()) {
        let Package { name, version, licence, repository, .. } = package;
        write!(text, "\n{}\n{name} v{version}: {licence}\n{repository}\n", "-".repeat(80))?;
        for path in licence_files(&package.folder)? {
            write!(text, "\n{}\n", String::from_utf8_lossy(&fs::read(path)?).trim_end())?;
        }
    }
    Ok(text)
}

fn licence_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.file_type()?.is_file() && LICENCES.iter().any(|beginning| name.starts_with(beginning)) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
