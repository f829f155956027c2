//! One terminal for concurrent steps. The oldest running step prints directly; the output of the others is buffered
//! until their turn, so the lines of two steps never mix. A file for each step has its output at once.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};

use super::Tally;
use crate::command;

/// The terminal.
pub struct Console {
    pages: Mutex<Vec<Page>>,
    /// Directory of the steps' files.
    logs: PathBuf,
}

/// The output of a step that has not been shown yet. The first page is shown as it grows.
struct Page {
    name: &'static str,
    text: Vec<u8>,
    complete: bool,
    /// Its file, if that can be written.
    log: Option<File>,
}

/// The output of one step.
pub struct Transcript<'a> {
    console: &'a Console,
    name: &'static str,
}

impl Console {
    /// Returns a terminal whose steps have files in `logs`.
    pub fn new(logs: &Path) -> Self {
        Self { pages: Mutex::default(), logs: logs.to_owned() }
    }

    /// Starts a step's output with its name.
    pub fn begin(&self, name: &'static str) -> Transcript<'_> {
        let text = format!("xtask | {name} …\n").into_bytes();
        let log = std::fs::create_dir_all(&self.logs).and_then(|()| File::create(log(&self.logs, name))).ok();
        self.change(|pages| pages.push(Page { name, text, complete: false, log }));
        Transcript { console: self, name }
    }

    /// Changes the pages, then prints the first one and every complete one behind it.
    fn change(&self, change: impl FnOnce(&mut Vec<Page>)) {
        let mut pages: MutexGuard<'_, Vec<Page>> = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut pages);
        let mut output = std::io::stdout().lock();
        while let Some(page) = pages.first_mut() {
            let _ = output.write_all(&page.text); // if nobody reads the output, the tally remains
            page.text.clear();
            if !page.complete {
                break;
            }
            pages.remove(0);
        }
        let _ = output.flush();
    }
}

impl Transcript<'_> {
    /// Prints a line.
    pub fn line(&self, line: &[u8]) {
        self.change(|page| {
            let line = [line, b"\n"].concat();
            page.text.extend_from_slice(&line);
            let _ = page.log.as_mut().map(|log| log.write_all(&line)); // a full disk fails other things
        });
    }

    /// Runs a command that counts as one check, and shows its output.
    pub fn check(&self, command: &mut Command) -> Result<Tally> {
        self.prepare(command).map(|_| Tally::PASSED)
    }

    /// Runs a command that is not a check, and shows its output.
    pub fn prepare(&self, command: &mut Command) -> Result<Tally> {
        if !self.read(command, |line| self.line(line))? {
            bail!("`{}` failed", command::text(command));
        }
        Ok(Tally::default())
    }

    /// Runs tests, shows their output, and counts them. A runner that fails without a failed test, as on a compiler
    /// error, counts as one failure.
    pub fn count(&self, command: &mut Command) -> Result<Tally> {
        let mut tally = Tally::default();
        let success = self.read(command, |line| {
            tally += Tally::of_line(&String::from_utf8_lossy(line));
            self.line(line);
        })?;
        if !success && tally.failed == 0 {
            tally += Tally::FAILED;
        }
        Ok(tally)
    }

    /// Runs a command, passes each line of its standard output to `lines`, and shows its standard error.
    pub fn lines(&self, command: &mut Command, mut lines: impl FnMut(&[u8])) -> Result<()> {
        let (output, errors) = (std::io::pipe()?, std::io::pipe()?);
        command.stdin(Stdio::null()).stdout(output.1).stderr(errors.1);
        let mut process = command.spawn().with_context(|| command::text(command))?;
        command.stdout(Stdio::null()).stderr(Stdio::null()); // closes our copies of the write ends
        std::thread::scope(|scope| {
            scope.spawn(|| each_line(errors.0, |line| self.line(line)));
            each_line(output.0, &mut lines)
        })?;
        if !process.wait()?.success() {
            bail!("`{}` failed", command::text(command));
        }
        Ok(())
    }

    /// Runs a command with standard output and standard error in one stream. Returns true if it succeeded.
    fn read(&self, command: &mut Command, line: impl FnMut(&[u8])) -> Result<bool> {
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let mut process = command.spawn().with_context(|| command::text(command))?;
        command.stdout(Stdio::null()).stderr(Stdio::null()); // closes our copies of the write end
        each_line(reader, line)?;
        Ok(process.wait()?.success())
    }

    fn change(&self, change: impl FnOnce(&mut Page)) {
        self.console.change(|pages| {
            if let Some(page) = pages.iter_mut().find(|page| page.name == self.name) {
                change(page);
            }
        });
    }
}

impl Drop for Transcript<'_> {
    fn drop(&mut self) {
        self.change(|page| page.complete = true);
    }
}

/// Returns the path of a step's file.
pub fn log(logs: &Path, step: &str) -> PathBuf {
    logs.join(step.replace([' ', ','], "-") + ".log")
}

fn each_line(source: impl std::io::Read, mut take: impl FnMut(&[u8])) -> Result<()> {
    for line in BufReader::new(source).split(b'\n') {
        take(&line?);
    }
    Ok(())
}
