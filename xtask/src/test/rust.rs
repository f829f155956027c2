//! The Rust tests: one call of Cargo compiles and lints all of them, with the features of the whole workspace, and says
//! where the programs are. Then they run without Cargo. A test target that needs a browser, PDFium or a built service says
//! `test = false` in its manifest, so that plain `cargo test` leaves it out; here it runs in a step of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::kept::{Kept, Reads};
use crate::build::linted;
use crate::project::{self, Project};
use crate::steps::{Tally, Transcript};

/// The package with the end-to-end tests.
const END_TO_END: &str = "tests";

/// Tests that run in the step `sources` although their programs run in another one, or run differently there: they measure a
/// whole process's memory, or need a browser that most of their kind do not need.
const MORE: [(&str, &[&str]); 2] =
    [("sources", &["--ignored", "--test-threads=1"]), ("integration", &["--ignored"])];

/// Programs that only need the processor, by their package's folder and name: they run with a lower priority, beside the others.
const PATIENT: [(&str, &str); 4] =
    [("codecs", "integration"), ("pyramid", "integration"), ("tiler", "bombs"), ("tiler", "memory")];

/// Tests of that kind in a program that has others too.
const PATIENT_TESTS: [&str; 2] = ["raster::", "fuzz::"];

/// Tests that wait for a browser most of their time: more at once than there are cores.
const WAITING: &[&str] = &["--test-threads=4"];

/// The test programs, once they are built.
#[derive(Default)]
pub struct Programs(Mutex<Built>);

/// What the compiler made, and what it said.
#[derive(Default)]
struct Built {
    programs: Vec<Program>,
    warnings: u64,
}

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
    /// Compiles all tests, and benchmarks and examples, which Clippy checks too.
    pub fn build(&self, project: &Project, out: &Transcript<'_>) -> Result<Tally> {
        let mut cargo = project.cargo_beside_tests();
        linted(cargo.args([
            "test",
            "--workspace",
            "--no-run",
            "--lib",
            "--bins",
            "--test=*",
            "--benches",
            "--examples",
        ]));
        cargo.arg("--message-format=json");
        let mut built = Built::default();
        out.lines(&mut cargo, |line| {
            let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
            if let Some(text) = message["message"]["rendered"].as_str() {
                out.line(text.as_bytes());
                built.warnings += 1;
            }
            built.programs.extend(Program::of(message));
        })?;
        built.programs.sort_by(|one, other| one.name.cmp(&other.name));
        *self.lock() = built;
        Ok(Tally::default())
    }

    /// Fails when Clippy had something to say about what was built.
    pub fn clippy(&self) -> Result<Tally> {
        let warnings = self.lock().warnings;
        ensure!(warnings == 0, "{warnings} warnings in the step `compile`");
        Ok(Tally::PASSED)
    }

    /// What plain `cargo test` runs, except for the examples in the documentation and for [`Self::patient`].
    pub fn unit(&self, kept: &Kept<'_>, out: &Transcript<'_>) -> Result<Tally> {
        let usual = |program: &Program| program.plain && !program.is_patient() && !program.is_mixed();
        let but_patient = PATIENT_TESTS.map(|tests| ["--skip", tests]).concat();
        let tally = self.run(Some(kept), out, Program::is_mixed, false, &but_patient)?;
        Ok(tally + self.run(None, out, usual, false, &[])?)
    }

    /// What only needs the processor, of what plain `cargo test` runs.
    pub fn patient(&self, kept: &Kept<'_>, out: &Transcript<'_>) -> Result<Tally> {
        let tally = self.run(Some(kept), out, Program::is_patient, true, &[])?;
        Ok(tally + self.run(Some(kept), out, Program::is_mixed, true, &PATIENT_TESTS)?)
    }

    /// The examples in the documentation, which only Cargo can find. It compiles nothing else for them.
    pub fn doc_tests(&self, project: &Project, out: &Transcript<'_>) -> Result<Tally> {
        out.count(linted(project.cargo_beside_tests().args([
            "test",
            "--workspace",
            "--doc",
            "--no-fail-fast",
        ])))
    }

    /// What needs a browser, PDFium or programs to compare with.
    pub fn sources(&self, kept: &Kept<'_>, out: &Transcript<'_>) -> Result<Tally> {
        let is_ours = |program: &Program| !program.plain && !program.folder.ends_with(END_TO_END);
        let mut tally = self.run(Some(kept), out, is_ours, false, WAITING)?;
        for (name, arguments) in MORE {
            tally += self.run(Some(kept), out, |program| program.name == name, false, arguments)?;
        }
        Ok(tally)
    }

    /// What drives the built service from outside.
    pub fn end_to_end(&self, kept: &Kept<'_>, out: &Transcript<'_>) -> Result<Tally> {
        let is_ours = |program: &Program| !program.plain && program.folder.ends_with(END_TO_END);
        self.run(Some(kept), out, is_ours, false, WAITING)
    }

    /// Runs programs, but for those whose results are kept.
    fn run(
        &self,
        kept: Option<&Kept<'_>>,
        out: &Transcript<'_>,
        which: impl Fn(&Program) -> bool,
        is_patient: bool,
        arguments: &[&str],
    ) -> Result<Tally> {
        let programs = self.lock().programs.clone();
        let mut tally = Tally::default();
        for program in programs.iter().filter(|program| which(program)) {
            out.line(format!("\n{}:", program.text()).as_bytes());
            let started = Instant::now();
            let run = || out.count(program.command(is_patient).args(arguments));
            tally += match kept {
                Some(kept) => {
                    let name = [&program.text(), arguments.join(" ").as_str()].join(" ");
                    kept.or_run(out, name.trim(), (program.reads(), Some(&program.path)), run)?
                }
                None => run()?,
            };
            out.line(format!("{}: {:.1} s", program.text(), started.elapsed().as_secs_f64()).as_bytes());
        }
        Ok(tally)
    }

    fn lock(&self) -> MutexGuard<'_, Built> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Program {
    /// The program that a message of Cargo is about, if it is about a test's program.
    fn of(message: Value) -> Option<Self> {
        let is_test = message["profile"]["test"] == true && message["target"]["kind"] != json!(["bench"]);
        let path = message["executable"].as_str().filter(|_| is_test)?;
        Some(Self {
            name: message["target"]["name"].as_str()?.to_owned(),
            folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
            path: path.into(),
            plain: message["target"]["test"] == true,
        })
    }

    /// Whether it only needs the processor.
    fn is_patient(&self) -> bool {
        PATIENT.iter().any(|one| self.is(one))
    }

    /// What it can read.
    fn reads(&self) -> Reads {
        if self.folder.ends_with(END_TO_END) { Reads::Everything } else { Reads::Engine }
    }

    /// Whether some of its tests only need the processor.
    fn is_mixed(&self) -> bool {
        self.is(&("tiler", "integration"))
    }

    /// Whether it is the one with this package's folder and name.
    fn is(&self, (folder, name): &(&str, &str)) -> bool {
        self.folder.ends_with(folder) && self.name == *name
    }

    /// The command that runs it where, and with what, Cargo does.
    fn command(&self, is_patient: bool) -> Command {
        let mut command =
            if is_patient { project::beside_tests(&self.path) } else { Command::new(&self.path) };
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        // Decoders panic on some broken files, and are caught. To print where took a sixth of the time of all pictures' tests.
        command.env("RUST_BACKTRACE", "0");
        command
    }

    /// Its package's folder and its name.
    fn text(&self) -> String {
        let folder = self.folder.file_name().unwrap_or_default();
        format!("{} {}", folder.display(), self.name)
    }
}
