//! The Rust tests: one call of Cargo compiles all of them, with the features of the whole workspace, and says where the
//! programs are. Then they run without Cargo. A test target that needs a browser, PDFium or a built service says
//! `test = false` in its manifest, so that plain `cargo test` leaves it out; here it runs in a step of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use serde_json::Value;

use crate::project::Project;
use crate::steps::{Tally, Transcript};

/// The package with the end-to-end tests.
const END_TO_END: &str = "tests";

/// Tests that run in the step `sources` although their programs run in another one, or run differently there: they measure a
/// whole process's memory, or need a browser that most of their kind do not need.
const MORE: [(&str, &[&str]); 2] =
    [("sources", &["--ignored", "--test-threads=1"]), ("integration", &["--ignored"])];

/// Tests that wait for a browser most of their time: more at once than there are cores.
const WAITING: &[&str] = &["--test-threads=4"];

/// The test programs, once they are built.
#[derive(Default)]
pub struct Programs(Mutex<Vec<Program>>);

/// One of them.
#[derive(Clone, Debug)]
struct Program {
    /// The target's name, as in `cargo test --test <name>`.
    name: String,
    /// The folder of its package, where Cargo would run it.
    folder: PathBuf,
    path: PathBuf,
    /// Whether plain `cargo test` runs it.
    plain: bool,
}

impl Programs {
    /// Compiles all tests.
    pub fn build(&self, project: &Project, out: &Transcript<'_>) -> Result<Tally> {
        let mut cargo = project.cargo_beside_tests();
        cargo.args(["test", "--workspace", "--no-run", "--lib", "--bins", "--test=*"]);
        cargo.arg("--message-format=json-render-diagnostics");
        let mut programs = vec![];
        out.lines(&mut cargo, |line| {
            programs.extend(serde_json::from_slice(line).ok().and_then(Program::of))
        })?;
        programs.sort_by(|one, other| one.name.cmp(&other.name));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = programs;
        Ok(Tally::default())
    }

    /// What plain `cargo test` runs, except for the examples in the documentation.
    pub fn unit(&self, out: &Transcript<'_>) -> Result<Tally> {
        self.run(out, |program| program.plain, &[])
    }

    /// The examples in the documentation, which only Cargo can find. It compiles nothing else for them.
    pub fn doc_tests(&self, project: &Project, out: &Transcript<'_>) -> Result<Tally> {
        out.count(project.cargo().args(["test", "--workspace", "--doc", "--no-fail-fast"]))
    }

    /// What needs a browser, PDFium or programs to compare with.
    pub fn sources(&self, out: &Transcript<'_>) -> Result<Tally> {
        let mut tally =
            self.run(out, |program| !program.plain && !program.folder.ends_with(END_TO_END), WAITING)?;
        for (name, arguments) in MORE {
            tally += self.run(out, |program| program.name == name, arguments)?;
        }
        Ok(tally)
    }

    /// What drives the built service from outside.
    pub fn end_to_end(&self, out: &Transcript<'_>) -> Result<Tally> {
        self.run(out, |program| !program.plain && program.folder.ends_with(END_TO_END), &[])
    }

    fn run(
        &self,
        out: &Transcript<'_>,
        which: impl Fn(&Program) -> bool,
        arguments: &[&str],
    ) -> Result<Tally> {
        let programs = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut tally = Tally::default();
        for program in programs.iter().filter(|program| which(program)) {
            out.line(format!("\n{}:", program.text()).as_bytes());
            let started = Instant::now();
            tally += out.count(program.command().args(arguments))?;
            out.line(format!("{}: {:.1} s", program.text(), started.elapsed().as_secs_f64()).as_bytes());
        }
        Ok(tally)
    }
}

impl Program {
    /// The program that a message of Cargo is about, if it is about a test's program.
    fn of(message: Value) -> Option<Self> {
        let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
        Some(Self {
            name: message["target"]["name"].as_str()?.to_owned(),
            folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
            path: path.into(),
            plain: message["target"]["test"] == true,
        })
    }

    /// The command that runs it where, and with what, Cargo does.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// Its package's folder and its name.
    fn text(&self) -> String {
        let folder = self.folder.file_name().unwrap_or_default();
        format!("{} {}", folder.display(), self.name)
    }
}
