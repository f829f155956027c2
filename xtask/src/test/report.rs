//! The results of all tests: their names, times and logs. Failed tests of programs that wait for browsers, processes or
//! networks get a second look when the machine is idle: those that pass alone are flaky, which is shown and does not
//! fail the run, unless there are too many.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use serde_json::json;

use super::events::{Ended, Outcome};
use super::suite::{PROGRAM, Suite};
use crate::project::Project;
use crate::steps::{self, Results, Tally};

/// Maximum number of flaky tests in a run that passes.
const MOST_FLAKY: usize = 3;

/// Maximum number of tests that get a second look: with more failures, something is broken.
const MOST_LOOKS: usize = 12;

/// Number of slow tests that are listed.
const SLOWEST: usize = 10;

/// The results of the tests that have run so far.
pub struct Report {
    logs: PathBuf,
    failures: Mutex<Vec<Failure>>,
    times: Mutex<Vec<(f64, String)>>,
}

/// A failed test.
struct Failure {
    step: &'static str,
    suite: Suite,
    name: String,
    log: PathBuf,
    /// The log of the second look, if it passed then.
    passed: Option<PathBuf>,
    /// Reason why it gets no second look.
    certain: Option<&'static str>,
}

impl Report {
    /// Returns an empty report that writes logs below the target directory.
    pub fn new(project: &Project) -> Self {
        let logs = project.logs();
        let _ = fs::remove_dir_all(&logs); // there may be none
        Self { logs, failures: Mutex::default(), times: Mutex::default() }
    }

    /// Adds the tests of a program, and returns their number.
    pub fn add(&self, step: &'static str, suite: &Suite, ended: Vec<Ended>) -> Result<Tally> {
        let mut tally = Tally::default();
        for test in ended {
            match test.outcome {
                Outcome::Passed => tally.passed += 1,
                Outcome::Failed => tally.failed += 1,
                Outcome::Ignored => continue,
            }
            let name = suite.test(&test.name);
            if test.outcome == Outcome::Failed {
                let log = self.write_log(&name, &test.output)?;
                let certain = certainty(suite, &test);
                let failure =
                    Failure { step, suite: suite.clone(), name: test.name, log, passed: None, certain };
                lock(&self.failures).push(failure);
            }
            lock(&self.times).push((test.seconds, name));
        }
        Ok(tally)
    }

    /// Runs the failed tests that may be flaky once more, one after the other, and changes the steps' results.
    pub fn look_again(&self, project: &Project, results: &mut Results) -> Result<()> {
        let mut failures = lock(&self.failures);
        let uncertain = || failures.iter().filter(|failure| failure.certain.is_none());
        if uncertain().count() > MOST_LOOKS {
            println!("\nxtask | {} tests failed: too many for a second look", uncertain().count());
            return Ok(());
        }
        for failure in failures.iter_mut().filter(|failure| failure.certain.is_none()) {
            let name = failure.suite.test(&failure.name);
            println!("\nxtask | second look at {name} …");
            let mut output = String::new();
            let only = Some(failure.name.as_str()).filter(|name| *name != PROGRAM);
            let ended = failure.suite.run(project, only, |line| {
                let _ = writeln!(output, "{line}"); // never fails
            })?;
            let is_asked = |test: &&Ended| only.is_none_or(|name| test.name == name);
            let came = |outcome| ended.iter().filter(is_asked).any(|test| test.outcome == outcome);
            let passed = came(Outcome::Passed) && !came(Outcome::Failed);
            output.extend(ended.iter().map(|test| test.output.as_str()));
            let log = self.write_log(&format!("{name} alone"), &output)?;
            if passed && suspicious(&output).is_none() {
                failure.passed = Some(log);
                results.change(failure.step, |tally| {
                    tally.failed -= 1;
                    tally.flaky += 1;
                });
            }
        }
        Ok(())
    }

    /// Returns the number of tests that have run.
    pub fn tests(&self) -> usize {
        lock(&self.times).len()
    }

    /// Returns true if more tests are flaky than a run may have. `strict` allows none.
    pub fn is_too_flaky(&self, strict: bool) -> bool {
        let flaky = lock(&self.failures).iter().filter(|failure| failure.passed.is_some()).count();
        flaky > if strict { 0 } else { MOST_FLAKY }
    }

    /// Returns the last lines of a run: the slowest tests, then what was flaky and what failed, with logs and commands
    /// that run it alone.
    pub fn summary(&self, project: &Project, results: &Results) -> String {
        let mut times = lock(&self.times);
        times.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut text = if times.is_empty() { String::new() } else { "\nslowest tests\n".to_owned() };
        for (seconds, name) in times.iter().take(SLOWEST) {
            let _ = writeln!(text, "{seconds:8.1} s  {name}"); // never fails
        }
        let failures = lock(&self.failures);
        let shown = |path: &Path| path.strip_prefix(&project.root).unwrap_or(path).display().to_string();
        for (title, is_flaky) in [("flaky: failed, and passed alone", true), ("failed", false)] {
            let listed: Vec<_> =
                failures.iter().filter(|failure| failure.passed.is_some() == is_flaky).collect();
            if listed.is_empty() {
                continue;
            }
            let _ = write!(text, "\n{title}\n");
            for failure in listed {
                let name = failure.suite.test(&failure.name);
                let logs = [Some(&failure.log), failure.passed.as_ref()].into_iter().flatten();
                let logs: Vec<String> = logs.map(|log| shown(log)).collect();
                let why =
                    failure.certain.map_or_else(String::new, |why| format!("\n      no second look: {why}"));
                let _ = write!(text, "  {}: {name}{why}\n      log: {}\n", failure.step, logs.join(", "));
                if failure.name != PROGRAM {
                    let step = failure.step.split(',').next().unwrap_or_default(); // `unit, patient` is a part of `unit`
                    let _ = writeln!(
                        text,
                        "      cargo xtask test {step} --only '{}'",
                        name.replace('\'', r"'\''")
                    );
                }
            }
        }
        for step in results.failed().filter(|step| failures.iter().all(|failure| failure.step != *step)) {
            let log = steps::log(&self.logs, step);
            let _ = write!(text, "\nfailed step\n  {step}\n      log: {}\n", shown(&log));
        }
        text
    }

    /// Writes the flaky tests of the run to `target/flaky.json`.
    pub fn write_flaky(&self, project: &Project) -> Result<()> {
        let failures = lock(&self.failures);
        let flaky = failures.iter().filter_map(|failure| {
            let passed = failure.passed.as_ref()?;
            Some(json!({ "step": failure.step, "test": failure.suite.test(&failure.name), "failed": failure.log, "passed": passed }))
        });
        let text = serde_json::to_string_pretty(&flaky.collect::<Vec<_>>())?;
        let path = project.target.join("flaky.json");
        fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }

    fn write_log(&self, name: &str, text: &str) -> Result<PathBuf> {
        let name: String =
            name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
        let path = self.logs.join(name.chars().take(120).collect::<String>() + ".log");
        fs::create_dir_all(&self.logs)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

/// Returns why a failed test gets no second look.
fn certainty(suite: &Suite, test: &Ended) -> Option<&'static str> {
    let name = suite.test(&test.name);
    let is_in = |list: &[&str]| list.iter().any(|start| name.starts_with(start));
    // Node.js fails a program for what goes on after a test, such as a wait of a page that is closed.
    if test.name == PROGRAM && !name.contains(".test.mjs") {
        Some("the program failed, not a test")
    } else if !is_in(&WAITING) || is_in(&CERTAIN) {
        Some("its kind never gets one")
    } else {
        suspicious(&test.output)
    }
}

/// Tests that wait for browsers, processes or networks, by the beginnings of their names. Only these get a second look.
const WAITING: [&str; 15] = [
    "deploy/tests/",
    "edge/tests/",
    "edge/viewer/tests/",
    "engine/python/tests/",
    "tests e2e › ",
    "tiler integration › admin::",
    "tiler integration › arriving::",
    "tiler integration › convert::",
    "tiler integration › doctor::",
    "tiler integration › fetch::",
    "tiler integration › renderer::",
    "tiler integration › s3_endpoint::",
    "tiler integration › serve::",
    "tiler integration › upload::",
    "tiler sources › page::",
];

/// Those among [`WAITING`] that check security or compare pixels or words, so a failure is never accepted.
const CERTAIN: [&str; 9] = [
    "edge/tests/closed",
    "edge/tests/costs",
    "edge/tests/escaping",
    "edge/tests/upload-attacks",
    "edge/viewer/tests/seams",
    "edge/viewer/tests/copy",
    "tests e2e › hostile_page::",
    "tests e2e › private_networks::",
    "tiler sources › page::forbidden::",
];

/// Returns what in a failed test's output no busy machine explains: a panic outside the tests, or a status 5xx.
fn suspicious(output: &str) -> Option<&'static str> {
    let is_panic = |line: &str| {
        let place = line.split_once("panicked at ").map(|(_, place)| place);
        place.is_some_and(|place| !place.contains("tests/"))
    };
    let is_5xx = |line: &str| {
        let status = ["actual: ", "left: ", "+ "].iter().find_map(|start| line.trim().strip_prefix(start));
        let status = status.map(|status| status.trim_end_matches(',')).unwrap_or_default();
        (status.len() == 3 && status.starts_with('5') && status.bytes().all(|digit| digit.is_ascii_digit()))
            || line.contains("500 Internal Server Error")
    };
    if output.lines().any(is_panic) {
        Some("something panicked")
    } else if output.lines().any(is_5xx) {
        Some("a status 5xx")
    } else {
        None
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::cache::Reads;
    use crate::test::suite::Runtime;

    fn suite(name: &str) -> Suite {
        Suite {
            name: name.to_owned(),
            path: "/bin/true".into(),
            folder: "/".into(),
            runtime: Runtime::Native,
            reads: Reads::Everything,
            waiting: Some(1),
            part: vec![],
            variables: vec![],
        }
    }

    #[test]
    fn only_tests_that_wait_get_a_second_look_and_no_panic_or_5xx_does() {
        let certain = |of: &str, name: &str, output: &str| {
            let test =
                Ended { name: name.into(), outcome: Outcome::Failed, seconds: 0.0, output: output.into() };
            certainty(&suite(of), &test).is_some()
        };
        assert!(!certain(
            "tiler sources",
            "page::words::a",
            "thread 'a' panicked at tiler/tests/sources/page/words.rs:3"
        ));
        assert!(!certain("edge/tests/events.test.mjs", "a", "actual: 404,\n expected: 200"));
        assert!(certain("tiler sources", "page::forbidden::a", ""));
        assert!(certain("tiler sources", "damaged::a", ""));
        assert!(certain("codecs", "png::a", ""));
        assert!(certain("tests e2e", PROGRAM, ""));
        assert!(!certain("edge/viewer/tests/pages.test.mjs", PROGRAM, ""));
        assert!(certain("tests e2e", "a", "tiler | thread 'main' panicked at tiler/src/main.rs:3"));
        assert!(certain("edge/tests/events.test.mjs", "a", "  actual: 500,\n  expected: 200"));
        assert!(certain("tests e2e", "a", "  left: 503\n right: 200"));
    }
}
