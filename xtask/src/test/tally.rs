//! Counting what passed and what failed, from the closing lines of `cargo test` and of Node's test runner.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::ops::{Add, AddAssign};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::command;

/// How many tests or checks passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
}

impl Tally {
    /// One that passed.
    pub const PASSED: Self = Self { passed: 1, failed: 0 };
    /// One that failed.
    pub const FAILED: Self = Self { passed: 0, failed: 1 };

    /// What a line of a test runner's output says of counts, if it is such a line.
    fn of_line(line: &str) -> Self {
        if let Some(counts) = line.strip_prefix("test result: ") {
            let count = |name| {
                let of = |part: &str| part.trim().strip_suffix(name)?.trim().rsplit(' ').next()?.parse().ok();
                counts.split(';').find_map(of).unwrap_or(0)
            };
            return Self { passed: count("passed"), failed: count("failed") };
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["ℹ" | "#", "pass", count] => Self { passed: count.parse().unwrap_or(0), failed: 0 },
            ["ℹ" | "#", "fail", count] => Self { passed: 0, failed: count.parse().unwrap_or(0) },
            _ => Self::default(),
        }
    }
}

/// Runs a command that is one check.
pub fn check(command: &mut Command) -> Result<Tally> {
    command::run(command).map(|()| Tally::PASSED)
}

/// Runs tests, shows what they print, and counts them. A runner that fails without a failed test, as when something does
/// not compile, counts as one failure.
pub fn count(command: &mut Command) -> Result<Tally> {
    let mut runner = command.stdout(Stdio::piped()).spawn().with_context(|| command::text(command))?;
    let mut tally = Tally::default();
    if let Some(output) = runner.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            tally += Tally::of_line(&line);
        }
    }
    if !runner.wait()?.success() && tally.failed == 0 {
        tally += Tally::FAILED;
    }
    Ok(tally)
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_closing_lines_of_both_runners() {
        let cargo = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(Tally::of_line(cargo), Tally { passed: 12, failed: 3 });
        assert_eq!(Tally::of_line("ℹ pass 5"), Tally { passed: 5, failed: 0 });
        assert_eq!(Tally::of_line("# fail 2"), Tally { passed: 0, failed: 2 });
        for other in ["running 3 tests", "test result", "ℹ tests 5", "test a ... ok", ""] {
            assert_eq!(Tally::of_line(other), Tally::default(), "{other}");
        }
    }
}
