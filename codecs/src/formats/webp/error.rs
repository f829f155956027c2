//! The name of the format, and its errors.

use std::io;

use super::FORMAT;
use crate::SourceError;

pub type Result<T> = std::result::Result<T, Broken>;

/// Why a file cannot be decoded any further.
#[derive(Debug)]
pub enum Broken {
    Io(io::Error),
    Corrupt(&'static str),
    TooLarge,
}

pub fn broken(reason: &'static str) -> Broken {
    Broken::Corrupt(reason)
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Broken> for SourceError {
    fn from(error: Broken) -> Self {
        match error {
            Broken::Io(error) => error.into(),
            Broken::Corrupt(reason) => FORMAT.corrupt(reason),
            Broken::TooLarge => FORMAT.unsupported("it has too many prefix codes"),
        }
    }
}
