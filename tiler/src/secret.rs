//! A token or key that must not appear in a log, nor be read by another process.

use std::convert::Infallible;
use std::str::FromStr;
use std::{fmt, io};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// A token or key. It has no `Display`, and its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the text, for use in a request.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
/// Makes the environment, memory and open files of this process unreadable for other processes of its user, such as a
/// browser that runs without namespaces, and disables core dumps (`PR_SET_DUMPABLE`, prctl(2)). Programs that it
/// executes are readable again.
///
/// # Errors
/// The system refuses.
pub fn hide_process() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}
