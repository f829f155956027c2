//! Concurrent steps: each [`Step`] has a name, the steps that it waits for, and its work. It runs as early as possible,
//! its output stays together, and its failure stops only the steps that need it. A table at the end shows how long each
//! took, and its output is in a file.

mod console;
mod tally;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

pub use console::{Transcript, log};
pub use tally::Tally;

use console::Console;

/// The work of a step.
type Work<'a> = Box<dyn FnOnce(&Transcript<'_>) -> Result<Tally> + Send + 'a>;

/// A named piece of work.
pub struct Step<'a> {
    name: &'static str,
    needs: Vec<&'static str>,
    after: Vec<&'static str>,
    work: Work<'a>,
}

impl<'a> Step<'a> {
    /// Returns a step that waits for no other.
    pub fn new(name: &'static str, work: impl FnOnce(&Transcript<'_>) -> Result<Tally> + Send + 'a) -> Self {
        Self { name, needs: vec![], after: vec![], work: Box::new(work) }
    }

    /// Runs the step only if these steps pass. A name that is not among the steps counts as passed.
    pub fn needs(mut self, names: &[&'static str]) -> Self {
        self.needs.extend(names);
        self
    }

    /// Runs the step after these have ended, passed or not.
    pub fn after(mut self, names: &[&'static str]) -> Self {
        self.after.extend(names);
        self
    }
}

/// The result of a step.
struct Ended {
    name: &'static str,
    tally: Tally,
    began: Duration,
    took: Duration,
}

/// The results of all steps, in the order in which they began.
pub struct Results(Vec<Ended>);

impl Results {
    /// Returns the sum.
    pub fn total(&self) -> Tally {
        self.0.iter().fold(Tally::default(), |sum, step| sum + step.tally)
    }

    /// Returns an error if anything failed.
    pub fn result(&self) -> Result<()> {
        self.total().result()
    }

    /// Returns the names of the steps in which something failed.
    pub fn failed(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(|step| step.tally.failed > 0).map(|step| step.name)
    }

    /// Changes the counts of a step.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut Tally)) {
        if let Some(step) = self.0.iter_mut().find(|step| step.name == name) {
            change(&mut step.tally);
        }
    }

    /// Prints the table of the steps.
    pub fn print(&self) {
        let head = ("step", "passed", "cached", "flaky", "failed", "began at", "took");
        println!(
            "\n{:13} {:>7} {:>7} {:>7} {:>7} {:>10} {:>10}",
            head.0, head.1, head.2, head.3, head.4, head.5, head.6
        );
        for Ended { name, tally: Tally { passed, failed, cached, flaky }, began, took } in &self.0 {
            let [began, took] = [began, took].map(|time| format!("{:.1} s", time.as_secs_f64()));
            println!("{name:13} {passed:7} {cached:7} {flaky:7} {failed:7} {began:>10} {took:>10}");
        }
    }
}

/// The steps that have ended so far.
#[derive(Default)]
struct Board {
    ended: Mutex<Vec<Ended>>,
    changed: Condvar,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, ended: Ended) {
        self.lock().push(ended);
        self.changed.notify_all();
    }

    /// Waits until these steps have ended, and returns the names of all failed ones.
    fn wait(&self, names: &[&'static str]) -> Vec<&'static str> {
        let missing =
            |ended: &mut Vec<Ended>| !names.iter().all(|name| ended.iter().any(|step| step.name == *name));
        let ended = self.changed.wait_while(self.lock(), missing).unwrap_or_else(PoisonError::into_inner);
        ended.iter().filter(|step| step.tally.failed > 0).map(|step| step.name).collect()
    }
}

/// Runs all steps. Writes the output of each to a file in `logs`, too.
pub fn run(steps: Vec<Step<'_>>, logs: &Path) -> Results {
    let started = Instant::now();
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    let (console, board) = (Console::new(logs), Board::default());
    std::thread::scope(|scope| {
        for mut step in steps {
            step.needs.retain(|name| names.contains(name));
            step.after.retain(|name| names.contains(name));
            let (console, board) = (&console, &board);
            scope.spawn(move || {
                let failed = board.wait(&[step.needs.as_slice(), &step.after].concat());
                let name = step.name;
                let began = started.elapsed();
                let tally = match failed.into_iter().find(|name| step.needs.contains(name)) {
                    Some(needed) => {
                        console.begin(name).line(format!("not run because {needed} failed").as_bytes());
                        Tally::FAILED
                    }
                    None => perform(step.work, &console.begin(name)),
                };
                board.add(Ended { name, tally, began, took: started.elapsed() - began });
            });
        }
    });
    let mut ended = board.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended.sort_by_key(|step| step.began);
    Results(ended)
}

/// Runs a step's work. An error or a panic counts as one failure.
fn perform(work: Work<'_>, transcript: &Transcript<'_>) -> Tally {
    let result = catch_unwind(AssertUnwindSafe(|| work(transcript)));
    result.unwrap_or_else(|_| Err(anyhow!("the step panicked"))).unwrap_or_else(|error| {
        transcript.line(format!("{error:#}").as_bytes());
        Tally::FAILED
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_runs_after_its_predecessors_and_only_if_those_it_needs_passed() {
        let order = Mutex::new(vec![]);
        let note = |name: &'static str, tally: Tally| {
            let order = &order;
            move |_: &Transcript<'_>| {
                order.lock().unwrap().push(name);
                Ok(tally)
            }
        };
        let steps = vec![
            Step::new("last", note("last", Tally::PASSED)).after(&["needy", "bad"]),
            Step::new("needy", note("needy", Tally::PASSED)).needs(&["bad", "absent"]),
            Step::new("bad", note("bad", Tally::FAILED)).after(&["first"]),
            Step::new("first", note("first", Tally { passed: 3, ..Tally::default() })),
            Step::new("panics", |_| panic!("on purpose")).after(&["last"]),
        ];
        let logs = std::env::temp_dir().join(format!("edgezoom-steps-{}", std::process::id()));
        let results = run(steps, &logs);
        let log = std::fs::read_to_string(logs.join("panics.log")).unwrap();
        std::fs::remove_dir_all(&logs).unwrap();
        assert_eq!(*order.lock().unwrap(), ["first", "bad", "last"]);
        assert_eq!(results.total(), Tally { passed: 4, failed: 3, ..Tally::default() });
        assert_eq!(
            results.failed().collect::<std::collections::BTreeSet<_>>(),
            ["bad", "needy", "panics"].into()
        );
        assert!(log.contains("the step panicked"), "{log}");
    }
}
