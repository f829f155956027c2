//! The compared programs: the tiler, Debian's `vips`, and the newer libvips of PyPI's `pyvips-binary`; or the Python
//! package, `pyvips-binary` and sharp; and the directories for their output.

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::{Builder, TempDir};

use crate::case::Case;
use crate::measure::{self, Cost};

pub struct Contender {
    pub name: String,
    program: Program,
}

enum Program {
    Tiler(PathBuf),
    Vips,
    /// A Python interpreter, and the module to import.
    Python(PathBuf, &'static str),
    /// A Node.js.
    Sharp(PathBuf),
}

const SCRIPT: &str = include_str!("dzsave.py");
/// Pinned to keep results comparable.
const PACKAGES: [&str; 3] = ["numpy==2.3.5", "pyvips==3.2.0", "pyvips-binary==8.18.7"];
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The module of the Python package.
const WHEEL: &str = "edgezoom";

/// Returns the tiler and every available libvips.
pub fn all(target: &Path, folder: &Path) -> Result<Vec<Contender>> {
    let tiler = target.join("release/tiler");
    ensure!(tiler.exists(), "{} is missing; run `cargo xtask bench pyramid`", tiler.display());
    let mut all = vec![
        Contender { name: "tiler".into(), program: Program::Tiler(tiler) },
        Contender { name: said(Command::new("vips").arg("--version"))?, program: Program::Vips },
    ];
    match pyvips(&folder.join("python")) {
        Ok(pyvips) => all.push(pyvips),
        Err(error) => eprintln!("bench | continuing without the libvips of PyPI: {error:#}"),
    }
    Ok(all)
}

/// Returns the Python package, of the wheel that `cargo xtask bench wheel` has built, and the programs to compare it with.
pub fn wheels(target: &Path, folder: &Path) -> Result<Vec<Contender>> {
    let pyvips = pyvips(&folder.join("python"))?;
    let Program::Python(python, _) = &pyvips.program else { return Ok(vec![]) };
    let built = Path::new("release-archives").join(format!("edgezoom-wheels-{VERSION}-{ARCH}"));
    let wheel = target.join(built).join(format!("edgezoom-{VERSION}-cp311-abi3-manylinux_2_28_{ARCH}.whl"));
    let install = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"];
    said(Command::new(python).args(install).arg(&wheel))?;
    let node = Path::new(env!("CARGO_MANIFEST_DIR")).join("../node_modules/.bin/node");
    let version = "import sharp from 'sharp'; console.log('sharp-' + sharp.versions.sharp)";
    let name = said(Command::new(&node).args(["--input-type=module", "--eval", version]))?;
    let ours =
        Contender { name: format!("edgezoom-{VERSION}"), program: Program::Python(python.clone(), WHEEL) };
    Ok(vec![ours, pyvips, Contender { name, program: Program::Sharp(node) }])
}

/// Installs pyvips into a virtual environment.
fn pyvips(folder: &Path) -> Result<Contender> {
    let python = folder.join("bin/python");
    if !python.exists() {
        said(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    let version = "import pyvips; print(*(pyvips.version(part) for part in range(3)), sep='.')";
    let ask = || said(Command::new(&python).args(["-c", version]));
    let version = ask().or_else(|_| {
        said(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
        ask()
    })?;
    Ok(Contender { name: format!("pyvips-{version}"), program: Program::Python(python, "pyvips") })
}

/// Returns the first word of a command's output: a program and its version.
fn said(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.split_whitespace().next().unwrap_or_default().to_owned())
}

impl Contender {
    pub fn is_ours(&self) -> bool {
        matches!(self.program, Program::Tiler(_) | Program::Python(_, WHEEL))
    }

    /// Makes a pyramid and returns its cost.
    pub fn run(&self, case: &Case, source: &Path, output: &Path) -> Result<Cost> {
        let Case { tile_size, overlap, quality, .. } = case;
        // The tiler rotates by default.
        let mut turned = source.as_os_str().to_owned();
        turned.push(if case.picture.turned { "[autorotate]" } else { "" });
        match &self.program {
            Program::Tiler(program) => {
                let mut command = Command::new(program);
                command.arg("convert").arg(source).arg("--output").arg(output);
                command.args([format!("--tile-size={tile_size}"), format!("--quality={quality}")]);
                command.arg(format!("--overlap={overlap}"));
                command.args(case.single.then_some("--threads=1"));
                measure::run(&mut command).map(|(cost, _)| cost)
            }
            Program::Vips => {
                let mut command = Command::new("vips");
                command.arg("dzsave").arg(turned).arg(output);
                command.args([format!("--tile-size={tile_size}"), format!("--suffix=.jpg[Q={quality}]")]);
                command.arg(format!("--overlap={overlap}"));
                command.envs(case.single.then_some(("VIPS_CONCURRENCY", "1")));
                measure::run(&mut command).map(|(cost, _)| cost)
            }
            Program::Python(python, module) => {
                let mut command = Command::new(python);
                command.args(["-c", SCRIPT, module]).arg(turned);
                command.envs(case.single.then_some(("VIPS_CONCURRENCY", "1")));
                run_script(command, case, output)
            }
            Program::Sharp(node) => {
                let mut command = Command::new(node);
                command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/pyramid/dzsave.mjs"));
                command.arg(source);
                run_script(command, case, output)
            }
        }
    }
}

/// Runs a script, whose figures exclude the interpreter's start.
fn run_script(mut command: Command, case: &Case, output: &Path) -> Result<Cost> {
    command.arg(output).args([case.tile_size, case.overlap].map(|pixels| pixels.to_string()));
    let (cost, said) = measure::run(command.arg(case.quality.to_string()))?;
    let mut figures = said.split_whitespace().map(str::parse);
    let mut next = || figures.next().context("no figure").and_then(|figure| Ok(figure?));
    Ok(Cost { wall: next()?, cpu: next()?, ..cost })
}

/// Linux's file system in memory.
const MEMORY: &str = "/dev/shm";

/// Creates the output directories.
pub struct Outputs {
    folder: TempDir,
    is_memory: bool,
}

impl Outputs {
    /// Uses memory if possible, so that no disk is measured, or else `folder`.
    pub fn new(folder: &Path) -> Result<Self> {
        let new = |parent: &Path| Builder::new().prefix("edgezoom-output-").tempdir_in(parent);
        let memory = new(Path::new(MEMORY)).ok();
        let is_memory = memory.is_some();
        Ok(Self { folder: memory.map_or_else(|| new(folder), Ok)?, is_memory })
    }

    /// Returns an empty directory. In memory it is deleted when dropped. On a disk it stays until the end: after
    /// deletions ext4 searches for free inodes for minutes, which took 40 % of the next run's time.
    pub fn next(&self) -> Result<TempDir> {
        Ok(Builder::new().disable_cleanup(!self.is_memory).tempdir_in(self.folder.path())?)
    }
}
