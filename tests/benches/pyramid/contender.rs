//! The programs that are compared: ours, Debian's `vips`, and the libvips that PyPI's `pyvips-binary` brings, which is newer.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::case::Case;
use crate::measure::{self, Cost};

pub struct Contender {
    pub name: String,
    program: Program,
}

enum Program {
    Tiler(PathBuf),
    Vips,
    /// A Python that has pyvips.
    Pyvips(PathBuf),
}

const SCRIPT: &str = include_str!("dzsave.py");
/// Pinned: results are only comparable so.
const PACKAGES: [&str; 2] = ["pyvips==3.2.0", "pyvips-binary==8.18.7"];

/// Ours, and every libvips that can be had.
pub fn all(target: &Path, folder: &Path) -> Result<Vec<Contender>> {
    let tiler = target.join("release/tiler");
    ensure!(tiler.exists(), "{} is missing", tiler.display());
    let mut all = vec![
        Contender { name: "tiler".into(), program: Program::Tiler(tiler) },
        Contender { name: said(Command::new("vips").arg("--version"))?, program: Program::Vips },
    ];
    match pyvips(&folder.join("python")) {
        Ok(pyvips) => all.push(pyvips),
        Err(error) => eprintln!("bench | without the newer libvips of PyPI: {error:#}"),
    }
    Ok(all)
}

/// Python with pyvips, in a folder of its own.
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
    Ok(Contender { name: format!("pyvips-{version}"), program: Program::Pyvips(python) })
}

/// The first word that a command prints, which names a program and its version here.
fn said(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.split_whitespace().next().unwrap_or_default().to_owned())
}

impl Contender {
    pub fn is_ours(&self) -> bool {
        matches!(self.program, Program::Tiler(_))
    }

    /// Makes a pyramid.
    pub fn run(&self, case: &Case, source: &Path, output: &Path) -> Result<Cost> {
        let Case { tile_size, quality, .. } = case;
        // Ours turns pictures by itself.
        let mut turned = source.as_os_str().to_owned();
        turned.push(if case.picture.turned { "[autorotate]" } else { "" });
        match &self.program {
            Program::Tiler(program) => {
                let mut command = Command::new(program);
                command.arg("convert").arg(source).arg("--output").arg(output);
                command.args([format!("--tile-size={tile_size}"), format!("--quality={quality}")]);
                command.arg("--overlap=1");
                command.args(case.single.then_some("--threads=1"));
                measure::run(&mut command).map(|(cost, _)| cost)
            }
            Program::Vips => {
                let mut command = Command::new("vips");
                command.arg("dzsave").arg(turned).arg(output);
                command.args([format!("--tile-size={tile_size}"), format!("--suffix=.jpg[Q={quality}]")]);
                command.arg("--overlap=1");
                command.envs(case.single.then_some(("VIPS_CONCURRENCY", "1")));
                measure::run(&mut command).map(|(cost, _)| cost)
            }
            Program::Pyvips(python) => {
                let mut command = Command::new(python);
                command.args(["-c", SCRIPT]).arg(turned).arg(output);
                command.args([tile_size.to_string(), quality.to_string()]);
                command.envs(case.single.then_some(("VIPS_CONCURRENCY", "1")));
                let (cost, said) = measure::run(&mut command)?;
                // Its own figures leave out the interpreter's start.
                let mut figures = said.split_whitespace().map(str::parse);
                let mut next = || figures.next().context("no figure").and_then(|figure| Ok(figure?));
                Ok(Cost { wall: next()?, cpu: next()?, ..cost })
            }
        }
    }
}
