//! Runs test programs beside each other. A program whose tests wait takes a token for each test that it runs at once;
//! there are as many tokens as the machine can serve, so browsers and systems answer in time. CPU-bound programs take
//! none: they run with low priority.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};

use super::cache::{Cache, Reads};
use super::report::Report;
use super::rust::JUDGES;
use super::suite::{Runtime, Suite};
use crate::project::Project;
use crate::steps::{Tally, Transcript};

/// One call of `cargo xtask test`.
pub struct Session<'a> {
    pub project: &'a Project,
    pub cache: Cache<'a>,
    pub report: Report,
    pub tokens: Tokens,
    /// The only test to run, by its name among all tests.
    pub only: Option<String>,
}

impl Session<'_> {
    /// Runs programs: those in Node.js beside each other, native ones, which have threads, one after the other.
    pub fn run(&self, step: &'static str, suites: &[Suite], out: &Transcript<'_>) -> Result<Tally> {
        let is_node = suites.iter().any(|suite| suite.runtime == Runtime::Node);
        let next = Mutex::new(suites.iter());
        let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            let mut tally = Tally::default();
            while let Some(suite) = take() {
                tally += self.run_one(step, suite, out)?;
                if self.only.is_some() && tally.passed + tally.failed > 0 {
                    break; // other parts of the program would run the test once more
                }
            }
            anyhow::Ok(tally)
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..if is_node { self.tokens.number } else { 1 }).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_fold(Tally::default(), |sum, worker| {
                let tally = worker.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the runner panicked")))?;
                Ok(sum + tally)
            })
        })
    }

    fn run_one(&self, step: &'static str, suite: &Suite, out: &Transcript<'_>) -> Result<Tally> {
        let only = match &self.only {
            None => None,
            Some(only) => match only.strip_prefix(&suite.test("")) {
                None => return Ok(Tally::default()),
                Some(test) => Some(test),
            },
        };
        let _token = self.tokens.take(suite.waiting.unwrap_or(0));
        let started = Instant::now();
        let run = || {
            let ended = suite.run(self.project, only, |line| out.line(line.as_bytes()))?;
            let tally = self.report.add(step, suite, ended)?;
            let seconds = started.elapsed().as_secs_f64();
            out.line(format!("{}: {tally} ({seconds:.1} s)", suite.name).as_bytes());
            Ok(tally)
        };
        if only.is_some() || suite.variables.iter().any(|(name, _)| *name == JUDGES) {
            return run();
        }
        let name = [suite.name.as_str(), suite.part.join(" ").as_str()].join(" ");
        self.cache.or_run(out, name.trim(), (suite.reads, &suite.path), run)
    }
}

/// Returns the test files for Node.js in a folder, the largest first: they take longest.
pub fn node_files(project: &Project, folder: &str) -> Result<Vec<Suite>> {
    let entries = std::fs::read_dir(project.root.join(folder)).with_context(|| folder.to_owned())?;
    let mut files = vec![];
    for entry in entries {
        let (path, length) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?.len())))?;
        if path.to_str().is_some_and(|path| path.ends_with(".test.mjs")) {
            files.push((length, path));
        }
    }
    files.sort();
    let suite = |(_, path): (u64, std::path::PathBuf)| {
        let name = path.strip_prefix(&project.root).unwrap_or(&path).display().to_string();
        let reads = if ENGINES.iter().any(|file| Path::new(&name).ends_with(file)) {
            Reads::Viewer
        } else {
            Reads::Node
        };
        Suite {
            name,
            path,
            folder: project.root.clone(),
            runtime: Runtime::Node,
            reads,
            waiting: Some(1),
            part: vec![],
            variables: vec![],
        }
    };
    Ok(files.into_iter().rev().map(suite).collect())
}

/// Tests of the viewer in other engines, with a stand-in for the service: they run again only when the viewer changes.
const ENGINES: [&str; 2] = ["firefox.test.mjs", "webkit.test.mjs"];

/// Tokens for what runs at once, given in the order of the requests.
pub struct Tokens {
    number: usize,
    line: Mutex<Line>,
    changed: Condvar,
}

/// The free tokens, and who waits for some.
struct Line {
    free: usize,
    /// Number of the next request.
    next: usize,
    /// Number of the request that is served next.
    served: usize,
}

impl Tokens {
    /// Returns three tokens for each processor, because what takes them waits for most of its time.
    pub fn for_machine() -> Self {
        Self::new(3 * std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn new(number: usize) -> Self {
        Self { number, line: Mutex::new(Line { free: number, next: 0, served: 0 }), changed: Condvar::new() }
    }

    /// Waits for this many tokens, at most all, and returns them when dropped.
    fn take(&self, wanted: usize) -> Taken<'_> {
        let wanted = wanted.min(self.number);
        if wanted > 0 {
            let mut line = self.lock();
            let own = line.next;
            line.next += 1;
            let must_wait = |line: &mut Line| line.served != own || line.free < wanted;
            let mut line = self.changed.wait_while(line, must_wait).unwrap_or_else(PoisonError::into_inner);
            line.free -= wanted;
            line.served += 1;
            self.changed.notify_all();
        }
        Taken { tokens: self, number: wanted }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tokens that were taken.
struct Taken<'a> {
    tokens: &'a Tokens,
    number: usize,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.tokens.lock().free += self.number;
        self.tokens.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_tokens_are_out_than_there_are() {
        let (tokens, out) = (Tokens::new(3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for wanted in [1, 2, 3, 9, 0, 1, 2] {
                let (tokens, out) = (&tokens, &out);
                scope.spawn(move || {
                    let taken = tokens.take(wanted);
                    assert!(out.fetch_add(taken.number, Ordering::SeqCst) + taken.number <= 3);
                    out.fetch_sub(taken.number, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(tokens.lock().free, 3);
    }
}
