//! Results that are kept, as `go test` keeps them: what passed is not run again while all that it can read is the same. That
//! is the files of some folders, what is built and the packages of the machine. `--again` runs everything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::project::{Profile, Project};
use crate::steps::{Tally, Transcript};

/// What a test can read, beside the programs that are built and what is installed.
#[derive(Clone, Copy)]
pub enum Reads {
    /// The engine, the tiler, and the files of tests.
    Engine,
    /// Everything but Rust: what that says is in the programs, and in the built Worker.
    AllButRust,
    /// Everything.
    Everything,
}

/// The results that are kept of one working copy.
pub struct Kept<'a> {
    project: &'a Project,
    again: bool,
}

impl<'a> Kept<'a> {
    /// Those of a project. With `again` none is taken.
    pub fn new(project: &'a Project, again: bool) -> Self {
        Self { project, again }
    }

    /// The result of tests: the kept one, or else what `run` gives. `name` says which tests they are, and `program` is
    /// what they are in.
    pub fn or_run(
        &self,
        out: &Transcript<'_>,
        name: &str,
        (reads, program): (Reads, Option<&Path>),
        run: impl FnOnce() -> Result<Tally>,
    ) -> Result<Tally> {
        let path = self.project.target.join("kept-results").join(name.replace(['/', ' ', ':'], "_"));
        let key = self.key(reads, program);
        let before = fs::read_to_string(&path).unwrap_or_default();
        if let Some((of, passed)) = before.trim().split_once(' ')
            && let Ok(passed) = passed.parse()
            && !self.again
            && key.as_deref() == Some(of)
        {
            out.line(
                format!("{name}: {passed} passed before, and nothing that it reads has changed").as_bytes(),
            );
            return Ok(Tally { passed, kept: passed, failed: 0 });
        }
        let tally = run()?;
        match key {
            Some(key) if tally.failed == 0 => {
                fs::create_dir_all(path.parent().unwrap_or(&path))?;
                fs::write(path, format!("{key} {}\n", tally.passed))?;
            }
            _ => {
                let _ = fs::remove_file(path); // there may be none
            }
        }
        Ok(tally)
    }

    /// What tells whether something has changed. `None`: that cannot be told here, as without Git.
    fn key(&self, reads: Reads, program: Option<&Path>) -> Option<String> {
        let files: &[&str] = match reads {
            Reads::Engine => &["content", "codecs", "pyramid", "tiler", "tests", "docs", "Cargo.toml"],
            Reads::AllButRust => &[":!*.rs"],
            Reads::Everything => &["."],
        };
        let tiler = self.project.program("tiler", Profile::Dev);
        let built = match reads {
            Reads::Engine => vec![tiler],
            Reads::AllButRust => self.with_worker(vec![]),
            Reads::Everything => self.with_worker(vec![tiler]),
        };
        let of_machine =
            [PathBuf::from("/var/lib/dpkg/status"), self.project.target.join("pdfium/installed")];
        let settings: Vec<String> = std::env::vars()
            .filter(|(name, _)| name.starts_with("EDGEZOOM_"))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        // The names of files go into the sum, too.
        let script = "sum() { xargs -0 -r b2sum; }
            { git ls-files -coz --exclude-standard -- \"$@\" | sum; printf '%s' \"$BUILT\" | tr '\\n' '\\0' | sum; printf '%s' \"$SETTINGS\"; } | b2sum";
        let lines = |paths: Vec<&Path>| {
            let there = paths.into_iter().filter(|path| path.is_file());
            there.map(|path| path.display().to_string()).collect::<Vec<_>>().join("\n")
        };
        let all = built.iter().chain(&of_machine).map(PathBuf::as_path).chain(program).collect();
        let mut shell = Command::new("bash");
        shell.args(["-o", "pipefail", "-ec", script, "bash"]).args(files).current_dir(&self.project.root);
        shell.env("BUILT", lines(all)).env("SETTINGS", settings.join("\n")).stderr(Stdio::null());
        let output = shell.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).split_whitespace().next()?.to_owned())
    }

    /// With the built Worker, what starts it, and the Node packages.
    fn with_worker(&self, mut built: Vec<PathBuf>) -> Vec<PathBuf> {
        let files = ["edge/build/made-of", "node_modules/.package-lock.json"];
        built.extend(files.map(|file| self.project.root.join(file)));
        built.extend(["xtask", "xtask-tools"].map(|name| self.project.program(name, Profile::Dev)));
        built
    }
}
