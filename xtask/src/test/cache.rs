//! Cached test results, as in `go test`: tests that passed do not run again while everything that they can read is
//! unchanged: files of the repository, built programs, the machine's packages. `--again` runs everything.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use crate::project::{Profile, Project};
use crate::steps::{Tally, Transcript};

/// Inputs of a test besides its program and the installed packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reads {
    /// The engine, the tiler, and the files of tests.
    Engine,
    /// The viewer alone, without the built Worker.
    Viewer,
    /// Everything except Rust files, which are in the programs and in the built Worker, and texts for people.
    Node,
    /// Everything.
    Everything,
}

/// The cached results of one working copy.
pub struct Cache<'a> {
    project: &'a Project,
    again: bool,
    /// Digests of what has been asked for.
    digests: Mutex<HashMap<Reads, Option<String>>>,
}

impl<'a> Cache<'a> {
    /// Returns the cache of a project. With `again` it stores results and returns none.
    pub fn new(project: &'a Project, again: bool) -> Self {
        Self { project, again, digests: Mutex::default() }
    }

    /// Returns the cached result of the tests called `name` in `program`, or else runs them.
    pub fn or_run(
        &self,
        out: &Transcript<'_>,
        name: &str,
        (reads, program): (Reads, &Path),
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
            return Ok(Tally { passed, cached: passed, ..Tally::default() });
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

    /// Returns a digest of everything that the tests of a program can read, or `None` if that fails, for example
    /// without Git.
    fn key(&self, reads: Reads, program: &Path) -> Option<String> {
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let inputs = digests.entry(reads).or_insert_with(|| self.digest(reads)).clone()?;
        let own = output(Command::new("b2sum").arg("--length=128").arg(program))?;
        Some(format!("{inputs}{own}"))
    }

    fn digest(&self, reads: Reads) -> Option<String> {
        let built = |name| self.project.program(name, Profile::Dev);
        let mut files =
            vec![PathBuf::from("/var/lib/dpkg/status"), self.project.target.join("pdfium/installed")];
        let sources: &[&str] = match reads {
            Reads::Engine => &["docs", "engine", "tests", "tiler", "Cargo.toml"],
            Reads::Viewer => &["edge/text", "edge/viewer", "edge/interface", "edge/tests"],
            Reads::Node => {
                &[":!*.rs", ":!/README.md", ":!/CHANGELOG.md", ":!/CONTRIBUTING.md", ":!/SECURITY.md"]
            }
            Reads::Everything => &["."],
        };
        if matches!(reads, Reads::Engine | Reads::Everything) {
            files.push(built("tiler"));
        }
        if reads != Reads::Engine {
            files.push(self.project.root.join("node_modules/.package-lock.json"));
        }
        if matches!(reads, Reads::Node | Reads::Everything) {
            files.push(self.project.root.join("edge/build/made-of"));
            files.extend(["xtask", "xtask-tools"].map(built));
        }
        let files = files.iter().filter(|path| path.is_file()).map(|path| path.display().to_string());
        let settings = std::env::vars().filter(|(name, _)| name.starts_with("EDGEZOOM_"));
        let settings: Vec<String> = settings.map(|(name, value)| format!("{name}={value}")).collect();
        // The digest includes the files' names.
        let script = "sum() { xargs -0 -r b2sum; }
            { git ls-files -coz --exclude-standard -- \"$@\" | sum; printf '%s' \"$FILES\" | tr '\\n' '\\0' | sum; printf '%s' \"$SETTINGS\"; } | b2sum --length=128";
        let mut shell = Command::new("bash");
        shell.args(["-o", "pipefail", "-ec", script, "bash"]).args(sources).current_dir(&self.project.root);
        output(shell.env("FILES", files.collect::<Vec<_>>().join("\n")).env("SETTINGS", settings.join("\n")))
    }
}

/// Returns the first word that a command prints, or `None` if it fails.
fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).split_whitespace().next()?.to_owned())
}
