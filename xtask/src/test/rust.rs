//! The Rust tests: one call of Cargo compiles and lints all of them, with the features of the whole workspace, and
//! lists the programs. Then they run without Cargo. A test target that needs a browser, PDFium or a built service has
//! `test = false` in its manifest, so plain `cargo test` skips it; here it runs in a step of its own.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::cache::Reads;
use super::suite::{Runtime, Suite};
use crate::build::linted;
use crate::project::Project;
use crate::steps::{Tally, Transcript};

/// Directory of the package with the end-to-end tests.
const END_TO_END: &str = "tests";

/// Ignored tests that also run in the step `sources`, by program: they measure a whole process's memory, or need a
/// browser that the others in their program do not.
const MORE: [(&str, &[&str]); 2] =
    [("sources", &["page::memory", "--ignored"]), ("integration", &["serve::pages", "--ignored"])];

/// CPU-bound programs, by package directory and name: they run with low priority beside the others.
const PATIENT: [(&str, &str); 5] = [
    ("codecs", "formats"),
    ("codecs", "integration"),
    ("pyramid", "integration"),
    ("tiler", "bombs"),
    ("tiler", "memory"),
];

/// The program that runs the tests in Python, which are CPU-bound, too.
const PYTHON: (&str, &str) = ("python", "pytest");

/// CPU-bound tests in a program that has others too.
const PATIENT_TESTS: [&str; 1] = ["fuzz::"];

/// The variable that lets other programs answer in place of the references that they made.
pub const JUDGES: &str = "EDGEZOOM_JUDGES";

/// Programs with tests that compare with references, and the beginnings of these tests.
const JUDGED: [(&str, &[&str]); 3] = [
    ("sources", &["damaged", "documents", "drawings", "scripts", "text", "--skip", "page::"]),
    ("formats", &[]),
    ("integration", &["kept", "dzsave", "libvips"]),
];

/// Use of the programs that made the committed references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Judges {
    /// Compare with what they make today
    Compare,
    /// Also write the references anew, and pictures of the differences to target/judges
    Remake,
}

/// Number of tests that run at once in a program whose tests mostly wait.
const AT_ONCE: usize = 3;

/// The test programs, empty until [`Programs::build`].
#[derive(Default)]
pub struct Programs(Mutex<Built>);

/// Output of the compiler.
#[derive(Default)]
struct Built {
    programs: Vec<Program>,
    warnings: u64,
}

/// A test program.
#[derive(Clone, Debug)]
struct Program {
    /// Name of the target, as in `cargo test --test <name>`.
    name: String,
    /// Directory of its package, in which Cargo would run it.
    folder: PathBuf,
    path: PathBuf,
    /// True if plain `cargo test` runs it.
    plain: bool,
}

impl Programs {
    /// Compiles all tests, and benchmarks and examples for Clippy.
    pub fn build(&self, project: &Project, out: &Transcript<'_>) -> Result<Tally> {
        let mut cargo = project.cargo_beside_tests();
        linted(project, &mut cargo).args(["test", "--workspace", "--no-run", "--message-format=json"]);
        cargo.args(["--lib", "--bins", "--test=*", "--benches", "--examples"]);
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

    /// Fails if Clippy gave a warning.
    pub fn clippy(&self) -> Result<Tally> {
        let warnings = self.lock().warnings;
        ensure!(warnings == 0, "{warnings} warnings in the step `compile`");
        Ok(Tally::PASSED)
    }

    /// Returns what plain `cargo test` runs, except doc tests and [`Self::patient`].
    pub fn unit(&self) -> Vec<Suite> {
        let usual = |program: &Program| program.plain && !program.is_patient() && !program.is_mixed();
        let but_patient = PATIENT_TESTS.map(|tests| ["--skip", tests]).concat();
        let mut suites = self.suites(Program::is_mixed, true, &but_patient);
        suites.extend(self.suites(usual, false, &[]));
        suites
    }

    /// Returns the CPU-bound tests among those that plain `cargo test` runs.
    pub fn patient(&self) -> Vec<Suite> {
        let mut suites = self.suites(Program::is_patient, false, &[]);
        suites.extend(self.suites(Program::is_mixed, false, &PATIENT_TESTS));
        suites
    }

    /// Runs the examples in the documentation, which only Cargo can find. Besides them it compiles the edge's library,
    /// which has none, but without which dependencies would have other features.
    pub fn doc_tests(&self, project: &Project, out: &Transcript<'_>) -> Result<Tally> {
        let mut cargo = project.cargo_beside_tests();
        out.count(linted(project, &mut cargo).args(["test", "--workspace", "--doc", "--no-fail-fast"]))
    }

    /// Returns the tests that need a browser, PDFium or other renderers.
    pub fn sources(&self) -> Vec<Suite> {
        let is_ours = |program: &Program| {
            !program.plain && !program.is(&PYTHON) && !program.folder.ends_with(END_TO_END)
        };
        let mut suites = self.suites(is_ours, true, &[]);
        for (name, part) in MORE {
            suites.extend(self.suites(|program| program.name == name, true, part));
        }
        suites
    }

    /// Returns the tests of the Python package.
    pub fn python(&self) -> Vec<Suite> {
        self.suites(|program| program.is(&PYTHON), false, &[])
    }

    /// Returns the tests that drive the built service from outside.
    pub fn end_to_end(&self) -> Vec<Suite> {
        self.suites(|program| !program.plain && program.folder.ends_with(END_TO_END), true, &[])
    }

    /// Returns the tests that compare with references which other programs made, and lets these programs answer.
    pub fn judges(&self, judges: Judges) -> Vec<Suite> {
        let value = if judges == Judges::Remake { "remake" } else { "1" };
        let suites = JUDGED.iter().flat_map(|(name, tests)| {
            let suites = self.suites(|program| program.name == *name, true, tests);
            suites.into_iter().map(|suite| Suite { variables: vec![(JUDGES, value.to_owned())], ..suite })
        });
        suites.collect()
    }

    fn suites(&self, which: impl Fn(&Program) -> bool, waits: bool, part: &[&str]) -> Vec<Suite> {
        let programs = self.lock();
        let chosen = programs.programs.iter().filter(|program| which(program));
        let suite = |program: &Program| Suite {
            name: program.text(),
            path: program.path.clone(),
            folder: program.folder.clone(),
            runtime: Runtime::Native,
            reads: program.reads(),
            waiting: waits.then_some(AT_ONCE),
            part: part.iter().map(|word| (*word).to_owned()).collect(),
            variables: vec![],
        };
        chosen.map(suite).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Built> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Program {
    /// Returns the test program that one of Cargo's messages reports, if it reports one.
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

    /// Returns true if it is CPU-bound.
    fn is_patient(&self) -> bool {
        PATIENT.iter().any(|one| self.is(one))
    }

    /// Returns what it can read.
    fn reads(&self) -> Reads {
        if self.folder.ends_with(END_TO_END) { Reads::Everything } else { Reads::Engine }
    }

    /// Returns true if only some of its tests are CPU-bound.
    fn is_mixed(&self) -> bool {
        self.is(&("tiler", "integration"))
    }

    /// Returns true if it has this package directory and name.
    fn is(&self, (folder, name): &(&str, &str)) -> bool {
        self.folder.ends_with(folder) && self.name == *name
    }

    /// Returns its package directory and name.
    fn text(&self) -> String {
        let folder = self.folder.file_name().unwrap_or_default();
        format!("{} {}", folder.display(), self.name)
    }
}
