//! `cargo xtask release`: an archive with the tiler, PDFium, all licences, the systemd unit and the monitoring. It runs on any Linux whose
//! glibc is at least as new as this machine's: PDFium is a glibc library loaded at run time, so static linking is impossible.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::project::{Profile, Project};
use crate::setup::{self, Purpose};
use crate::{build, command};

/// The options of `cargo xtask release`.
#[derive(clap::Args)]
pub struct Options {
    /// Put the files into this folder instead of an archive
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Profile of the tiler
    #[arg(long, value_enum, default_value = "release")]
    profile: Profile,
}

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
/// Prefixes of the names of licence files in packages.
const LICENCES: [&str; 5] = ["COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "NOTICE"];

/// Builds and packs the tiler.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    setup::prepare(project, Purpose::Release)?;
    let tiler = build::program(project, build::TILER, options.profile)?;
    if let Some(folder) = &options.folder {
        return fill(project, &tiler, folder);
    }
    let name = format!("edgezoom-tiler-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let parent = project.target.join("release-archives");
    let folder = parent.join(&name);
    let _ = fs::remove_dir_all(&folder); // it may not exist
    fill(project, &tiler, &folder)?;
    let archive = parent.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    // Reproducible: the same files make the same archive.
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--mode=go-w"]);
    command::run(tar.args(["--use-compress-program=gzip -n", "--create", "--file"]).arg(&archive).args([
        "--directory".as_ref(),
        parent.as_os_str(),
        name.as_ref(),
    ]))?;
    let sum = command::output(
        Command::new("sha256sum").current_dir(&parent).arg(archive.file_name().unwrap_or_default()),
    )?;
    fs::write(parent.join(format!("{name}.tar.gz.sha256")), &sum)?;
    print!("{}\n{sum}", archive.display());
    Ok(())
}

fn fill(project: &Project, tiler: &Path, folder: &Path) -> Result<()> {
    for name in ["monitoring", "operations"] {
        fs::create_dir_all(folder.join(name)).with_context(|| format!("{}", folder.display()))?;
    }
    fs::copy(tiler, folder.join("tiler")).context("cannot copy the tiler")?;
    command::run(Command::new("cp").arg("-R").arg(project.target.join("pdfium")).arg(folder))?;
    for (from, to) in FILES {
        fs::copy(project.root.join(from), folder.join(to)).with_context(|| from.to_owned())?;
    }
    fs::write(folder.join("NOTICES"), notices(project)?).context("cannot write NOTICES")
}

/// Returns the licences of all crates in the tiler, with their licence files.
fn notices(project: &Project) -> Result<String> {
    let target = command::output(project.cargo().args(["-vV"]))?;
    let host =
        target.lines().find_map(|line| line.strip_prefix("host: ")).context("`cargo -vV` printed no host")?;
    let mut tree = project.cargo();
    tree.args(["tree", "--package=edgezoom-tiler", "--edges=normal", "--prefix=none", "--locked"]);
    let tree = command::output(tree.args(["--format={p}", "--target", host]))?;
    let linked: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(" (").next()).collect();
    let mut metadata = project.cargo();
    metadata.args(["metadata", "--format-version=1", "--locked"]);
    // Without the filter, Cargo downloads other systems' dependencies too.
    let metadata = command::output(metadata.args(["--filter-platform", host]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let mut text =
        "The tiler contains these packages. PDFium's licences are in pdfium/licenses/.\n".to_owned();
    for package in metadata["packages"].as_array().context("`cargo metadata` listed no packages")? {
        let field = |name: &str| package[name].as_str().unwrap_or_default();
        let name = format!("{} v{}", field("name"), field("version"));
        if !linked.contains(name.as_str()) || package["source"].is_null() {
            continue;
        }
        write!(text, "\n{}\n{name}: {}\n{}\n", "-".repeat(80), field("license"), field("repository"))?;
        for path in licence_files(Path::new(field("manifest_path")))? {
            write!(text, "\n{}\n", String::from_utf8_lossy(&fs::read(path)?).trim_end())?;
        }
    }
    Ok(text)
}

fn licence_files(manifest: &Path) -> Result<Vec<PathBuf>> {
    let folder = manifest.parent().context("a package without a directory")?;
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
