//! Installs what a task needs: system packages, the compiler's WebAssembly target, npm packages, PDFium, cargo-deny,
//! IIIF's viewers and validator, anywidget. Every check looks at the machine and is quick, so each task starts with its set-up.

mod debian;
pub mod pinned;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::command;
use crate::project::Project;
use debian::{ARM64, COMPILING, EMULATOR, FONTS, NPM, PYRAMID_BENCHMARK, TESTING, WEB_PAGES};

/// The target that the Worker is compiled for.
pub const WASM: &str = "wasm32-unknown-unknown";
/// The target of 64-bit ARM machines.
pub const ARM64_LINUX: &str = "aarch64-unknown-linux-gnu";

/// Purpose of a set-up, which determines the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Purpose {
    /// Compile the workspace
    Compile,
    /// Build and run the service
    Run,
    /// Deploy the service
    Deploy,
    /// Build the tiler for other machines
    Release,
    /// Test everything, in a browser too
    Test,
    /// Measure the whole service
    BenchService,
    /// Compare the pyramid engine with libvips
    BenchPyramid,
    /// Measure PDF, SVG and web pages
    BenchSources,
}

/// Returns the command that installs what `purpose` needs, for a step that captures its output.
pub fn command(purpose: Purpose) -> Result<Command> {
    let mut setup = Command::new(std::env::current_exe()?);
    let name = purpose.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    setup.args(["setup", "--for"]).arg(name);
    Ok(setup)
}

/// Installs what `purpose` needs, and reports what it installs.
pub fn prepare(project: &Project, purpose: Purpose) -> Result<()> {
    let _lock = project.lock()?;
    match purpose {
        Purpose::Compile | Purpose::BenchService | Purpose::Deploy => debian::require(&[COMPILING])?,
        Purpose::Run => {
            debian::require(&[COMPILING])?;
            // Without these only web pages or PDF fail, and say why.
            for result in [debian::require(&[WEB_PAGES, FONTS]), pinned::pdfium(project)] {
                if let Err(error) = result {
                    eprintln!("xtask | continuing without: {error:#}");
                }
            }
        }
        Purpose::Test => {
            debian::require(&[COMPILING, FONTS, TESTING])?;
            pinned::pdfium(project)?;
        }
        Purpose::Release => debian::require(&[COMPILING])?,
        Purpose::BenchPyramid => debian::require(&[COMPILING, PYRAMID_BENCHMARK])?,
        Purpose::BenchSources => {
            debian::require(&[COMPILING, WEB_PAGES, FONTS])?;
            pinned::pdfium(project)?;
        }
    }
    if !matches!(purpose, Purpose::Release | Purpose::BenchPyramid | Purpose::BenchSources) {
        rust_target(WASM)?;
    }
    if !matches!(purpose, Purpose::Compile | Purpose::BenchPyramid | Purpose::BenchSources) {
        npm_packages(project)?;
    }
    if purpose == Purpose::Test {
        pinned::viewers(project)?;
        pinned::iiif_validator(project)?;
        pinned::notebook(project)?;
        debian::print_browsers();
    }
    Ok(())
}

/// Installs what building the tiler for another machine needs, and that machine's PDFium.
pub fn target(project: &Project, target: &str, host: &str) -> Result<()> {
    let _lock = project.lock()?;
    if target != host {
        ensure!(target == ARM64_LINUX, "cannot build for {target} on {host}; build on such a machine");
        debian::require(&[ARM64])?;
        rust_target(target)?;
    }
    pinned::pdfium_for(project, target)
}

/// Installs the emulator that runs the tests of [`ARM64_LINUX`] on another machine.
pub fn emulator(project: &Project) -> Result<()> {
    let _lock = project.lock()?;
    debian::require(&[EMULATOR])
}

/// Installs a target's standard library by name, because some machines disable rustup's automatic installs.
pub fn rust_target(target: &str) -> Result<()> {
    let sysroot = command::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(target).is_dir() {
        return Ok(());
    }
    if !command::on_path("rustup") {
        bail!(
            "the Rust compiler lacks the standard library for {target}; install it as you installed the compiler"
        );
    }
    eprintln!("xtask | installing Rust's standard library for {target}");
    command::run(Command::new("rustup").args(["target", "add", target]))
}

/// Installs the npm packages of the lock file: wrangler runs the Worker, esbuild makes it small, OpenSeadragon is
/// served, and a Node.js that is new enough for wrangler, so the machine's only has to run npm. A copy of the lock file
/// marks what is installed.
fn npm_packages(project: &Project) -> Result<()> {
    let wanted =
        std::fs::read(project.root.join("package-lock.json")).context("package-lock.json is missing")?;
    let stamp = project.root.join("node_modules/.edgezoom-installed");
    let complete = ["node", "wrangler", "esbuild"].iter().all(|tool| project.node_tool_path(tool).exists());
    if complete && std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    debian::require(&[NPM])?;
    eprintln!("xtask | installing npm packages");
    let mut npm = Command::new("npm");
    command::run(npm.current_dir(&project.root).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    std::fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}
