//! Counts of tests and checks.

use std::fmt;
use std::ops::{Add, AddAssign};

use anyhow::{Result, ensure};

/// Numbers of tests or checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed, cached ones included.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Passed in an earlier run, and not run again.
    pub cached: u64,
    /// Failed, and passed when they ran alone.
    pub flaky: u64,
}

impl Tally {
    /// One passed check.
    pub const PASSED: Self = Self { passed: 1, failed: 0, cached: 0, flaky: 0 };
    /// One failed check.
    pub const FAILED: Self = Self { passed: 0, failed: 1, cached: 0, flaky: 0 };

    /// Returns an error if anything failed.
    pub fn result(self) -> Result<()> {
        ensure!(self.failed == 0, "{self}");
        Ok(())
    }

    /// Returns the counts in a line of `cargo test`'s output, zero for most lines.
    pub fn of_line(line: &str) -> Self {
        let Some(counts) = line.strip_prefix("test result: ") else { return Self::default() };
        let count = |name| {
            let of = |part: &str| part.trim().strip_suffix(name)?.trim().rsplit(' ').next()?.parse().ok();
            counts.split(';').find_map(of).unwrap_or(0)
        };
        Self { passed: count("passed"), failed: count("failed"), ..Self::default() }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            cached: self.cached + other.cached,
            flaky: self.flaky + other.flaky,
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed + self.flaky, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_closing_line_of_cargo() {
        let cargo = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(Tally::of_line(cargo), Tally { passed: 12, failed: 3, ..Tally::default() });
        for other in ["running 3 tests", "test result", "test a ... ok", ""] {
            assert_eq!(Tally::of_line(other), Tally::default(), "{other}");
        }
    }
}
