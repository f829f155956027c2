//! Cached test results, as in `go test`: tests that passed do not run again while everything that they can read is
//! unchanged: files of the repository, built programs, the machine's packages. `--again` runs everything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::project::{Profile, Project};
use crate::steps::{Tally, Transcript};

/// Inputs of a test besides its program and the installed packages.
#[derive(Clone, Copy)]
pub enum Reads {
    /// The engine, the tiler, and the files of tests.
    Engine,
    /// Everything except Rust files: those are in the programs and in the built Worker.
    AllButRust,
    /// Everything.
    Everything,
}

/// The cached results of one working copy.
pub struct Cache<'a> {
    project: &'a Project,
    again: bool,
}

impl<'a> Cache<'a> {
    /// Returns the cache of a project. With `again` it stores results and returns none.
    pub fn new(project: &'a Project, again: bool) -> Self {
        Self { project, again }
    }

    /// Returns the cached result of the tests called `name` in `program`, or else runs them.
    pub fn or_run(
        &self,
        out: &Transcript<'_>,
        name: &str,
        (reads, program): (Reads, Option<&Path>),
        run: impl FnOnce() -> Result<Tally>,
    ) -> Result<Tally> {
        let path = self.project.target.join("cached-results").join(name.replace(['/', ' ', ':'], "_"));
        let key = self.key(reads, program);
        let cached = fs::read_to_string(&path).unwrap_or_default();
        if let Some((of, passed)) = cached.trim().split_once(' ')
            && let Ok(passed) = passed.parse()
            && !self.again
            && key.as_deref() == Some(of)
        {
            out.line(format!("{name}: {passed} passed (cached)").as_bytes());
            return Ok(Tally { passed, cached: passed, failed: 0 });
        }
        let tally = run()?;
        match key {
            Some(key) if tally.failed == 0 => {
                fs::create_dir_all(path.parent().unwrap_or(&path))?;
                fs::write(path, format!("{key} {}\n", tally.passed))?;
            }
            _ => {
                let _ = fs::remove_file(path); // it may not exist
            }
        }
        Ok(tally)
    }

    /// Returns a digest of everything that a test can read, or `None` if that fails, for example without Git.
    fn key(&self, reads: Reads, program: Option<&Path>) -> Option<String> {
        let built = |name| self.project.program(name, Profile::Dev);
        let mut files =
            vec![PathBuf::from("/var/lib/dpkg/status"), self.project.target.join("pdfium/installed")];
        files.extend(program.map(Path::to_owned));
        let sources: &[&str] = match reads {
            Reads::Engine => &["docs", "engine", "tests", "tiler", "Cargo.toml"],
            Reads::AllButRust => &[":!*.rs"],
            Reads::Everything => &["."],
        };
        if !matches!(reads, Reads::AllButRust) {
            files.push(built("tiler"));
        }
        if !matches!(reads, Reads::Engine) {
            let worker = ["edge/build/made-of", "node_modules/.package-lock.json"];
            files.extend(worker.map(|file| self.project.root.join(file)));
            files.extend(["xtask", "xtask-tools"].map(built));
        }
        let files = files.iter().filter(|path| path.is_file()).map(|path| path.display().to_string());
        let settings = std::env::vars().filter(|(name, _)| name.starts_with("EDGEZOOM_"));
        let settings: Vec<String> = settings.map(|(name, value)| format!("{name}={value}")).collect();
        // The digest includes the files' names.
        let script = "sum() { xargs -0 -r b2sum; }
            { git ls-files -coz --exclude-standard -- \"$@\" | sum; printf '%s' \"$FILES\" | tr '\\n' '\\0' | sum; printf '%s' \"$SETTINGS\"; } | b2sum";
        let mut shell = Command::new("bash");
        shell.args(["-o", "pipefail", "-ec", script, "bash"]).args(sources).current_dir(&self.project.root);
        shell.env("FILES", files.collect::<Vec<_>>().join("\n")).env("SETTINGS", settings.join("\n"));
        let output = shell.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).split_whitespace().next()?.to_owned())
    }
}
