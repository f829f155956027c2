//! Counts of tests, read from the closing lines of `cargo test` and of Node.js's test runner.

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
}

impl Tally {
    /// One passed check.
    pub const PASSED: Self = Self { passed: 1, failed: 0, cached: 0 };
    /// One failed check.
    pub const FAILED: Self = Self { passed: 0, failed: 1, cached: 0 };

    /// Returns an error if anything failed.
    pub fn result(self) -> Result<()> {
        ensure!(self.failed == 0, "{self}");
        Ok(())
    }

    /// Returns the counts in a line of a test runner's output, zero for most lines.
    pub fn of_line(line: &str) -> Self {
        if let Some(counts) = line.strip_prefix("test result: ") {
            let count = |name| {
                let of = |part: &str| part.trim().strip_suffix(name)?.trim().rsplit(' ').next()?.parse().ok();
                counts.split(';').find_map(of).unwrap_or(0)
            };
            return Self { passed: count("passed"), failed: count("failed"), cached: 0 };
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["ℹ" | "#", "pass", count] => Self { passed: count.parse().unwrap_or(0), ..Self::default() },
            ["ℹ" | "#", "fail", count] => Self { failed: count.parse().unwrap_or(0), ..Self::default() },
            _ => Self::default(),
        }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            cached: self.cached + other.cached,
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
        let Self { passed, failed, cached } = self;
        match cached {
            0 => write!(f, "{passed} passed, {failed} failed"),
            _ => write!(f, "{passed} passed ({cached} cached), {failed} failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_closing_lines_of_both_runners() {
        let cargo = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(Tally::of_line(cargo), Tally { passed: 12, failed: 3, cached: 0 });
        assert_eq!(Tally::of_line("ℹ pass 5"), Tally { passed: 5, failed: 0, cached: 0 });
        assert_eq!(Tally::of_line("# fail 2"), Tally { passed: 0, failed: 2, cached: 0 });
        for other in ["running 3 tests", "test result", "ℹ tests 5", "test a ... ok", ""] {
            assert_eq!(Tally::of_line(other), Tally::default(), "{other}");
        }
    }
}
