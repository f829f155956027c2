//! `cargo xtask test-arm64`: the engine's tests and the tiles of all kinds of sources on ARM64, under an emulator of
//! processes. The emulator has no seccomp, so the renderer's filter is interpreted there;
//! `deploy/tests/arm64-machine.sh` boots a kernel instead.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::build;
use crate::command;
use crate::project::{Profile, Project};
use crate::setup::{self, ARM64_LINUX, Purpose, pinned};

/// The test programs, and the tests that run in them.
const TESTED: [(&str, &str); 5] = [
    ("edgezoom_geometry", ""),
    ("edgezoom_jpeg", ""),
    ("edgezoom_codecs", ""),
    ("edgezoom_pyramid", ""),
    ("edgezoom_tiler", "system_calls::"),
];
/// The example that converts without a sandbox.
const EXAMPLE: &str = "dzsave";

/// Compares the tiles with this machine's, then runs the tests; with a `name`, only the tests whose names contain it.
pub fn run(project: &Project, name: &str) -> Result<()> {
    setup::prepare(project, Purpose::Release)?;
    setup::target(project, ARM64_LINUX, &build::host(project)?)?;
    setup::emulator(project)?;
    // Both are compiled as the archive is, so that the same dependencies serve all three.
    let build = |arguments: &[&str]| -> Result<_> {
        let mut cargo = project.cargo();
        cargo.args(arguments).args(["--workspace", "--release", "--message-format=json-render-diagnostics"]);
        build::cross(project, &mut cargo, ARM64_LINUX, Profile::Release)?;
        Ok(executables(&command::output(&mut cargo)?))
    };
    if name.is_empty() {
        let mut native = build::programs(project, &[], Profile::Dev);
        native.args(["--example", EXAMPLE, "--message-format=json-render-diagnostics"]);
        let native = executables(&command::output(&mut native)?);
        compare(project, find(&native, EXAMPLE)?, find(&build(&["build", "--example", EXAMPLE])?, EXAMPLE)?)?;
    }
    let programs = build(&["test", "--no-run", "--lib"])?;
    for (program, part) in TESTED {
        let tests = if name.is_empty() { part } else { name };
        command::run_shown(emulated(find(&programs, program)?).current_dir(&project.root).arg(tests))?;
    }
    Ok(())
}

fn find<'a>(programs: &'a BTreeMap<String, PathBuf>, name: &str) -> Result<&'a PathBuf> {
    programs.get(name).with_context(|| format!("Cargo built no {name}"))
}

fn emulated(program: &Path) -> Command {
    let mut emulator = Command::new("qemu-aarch64");
    emulator.args(["-L", "/usr/aarch64-linux-gnu"]).arg(program);
    emulator
}

/// Returns the programs in Cargo's messages by name.
fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let named = messages.filter_map(|message| {
        let path = message["executable"].as_str()?;
        Some((message["target"]["name"].as_str()?.to_owned(), path.into()))
    });
    named.collect()
}

/// Converts the repository's pictures, documents and drawings on both machines. Fails if any tile differs.
fn compare(project: &Project, native: &Path, arm64: &Path) -> Result<()> {
    let folder = project.target.join("test-arm64");
    let _ = fs::remove_dir_all(&folder); // it may not exist
    fs::create_dir_all(&folder)?;
    let corpus = fs::read_dir(project.root.join("tiler/tests/corpus"))?;
    let mut sources = corpus.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    sources.push(project.root.join("docs/viewer.jpg"));
    sources.extend(damaged(&project.root.join("tiler/tests/corpus/baseline.jpg"), &folder)?);
    sources.sort();
    let host = build::host(project)?;
    let (mut same, mut different) = (0, vec![]);
    for source in &sources {
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let convert = |mut program: Command, target: &str| -> Result<Vec<u8>> {
            let folder = folder.join(target).join(&name);
            fs::create_dir_all(&folder)?;
            program.env("EDGEZOOM_PDFIUM", pinned::pdfium_folder(project, target).join("libpdfium.so"));
            let output = program.arg(source).arg(folder.join("out")).output()?;
            Ok(if output.status.success() { output.stdout } else { output.stderr })
        };
        let outputs = (convert(Command::new(native), &host)?, convert(emulated(arm64), ARM64_LINUX)?);
        let mut diff = Command::new("diff");
        diff.arg("-r").args([&host, ARM64_LINUX].map(|target| folder.join(target).join(&name)));
        if outputs.0 == outputs.1 && command::succeeds(&mut diff) {
            same += 1;
        } else {
            different.push(name);
        }
    }
    ensure!(different.is_empty(), "these differ on ARM64, see {}: {different:?}", folder.display());
    ensure!(same > 0, "there are no sources to compare");
    println!("{same} sources have the same tiles on ARM64");
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Makes copies of a baseline JPEG with a changed byte, and with quantisation that makes most values overflow: our
/// decoder shows these alike on all machines. libjpeg, which decodes progressive files, does not.
fn damaged(picture: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let file = fs::read(picture).with_context(|| picture.display().to_string())?;
    let find =
        |marker: [u8; 2]| file.windows(2).position(|pair| pair == marker).context("a marker is missing");
    let (steps, scan) = (find([0xff, 0xdb])? + 5, find([0xff, 0xda])? + 14);
    let copy = |number: usize| {
        let mut copy = file.clone();
        if number % 2 == 1 {
            copy[steps..steps + 64].fill(255);
        }
        copy[scan + (file.len() - scan) * number / 20] ^= 0x55;
        let path = folder.join(format!("damaged-{number}.jpg"));
        fs::write(&path, copy)?;
        Ok(path)
    };
    (0..20).map(copy).collect()
}
