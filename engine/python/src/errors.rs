//! The engine's errors as Python's exceptions. Those of files and options are Python's own classes.

use std::io;

use edgezoom_pyramid::codecs::SourceError;
use edgezoom_pyramid::sinks::SinkError;
use edgezoom_pyramid::{BuildError, DzsaveError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileExistsError, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(edgezoom, EdgezoomError, PyException, "An error of the engine.");
create_exception!(edgezoom, UnknownFormat, EdgezoomError, "The source has no known format.");
create_exception!(
    edgezoom,
    UnsupportedPicture,
    EdgezoomError,
    "The format is known, but this variant of it is not."
);
create_exception!(edgezoom, CorruptPicture, EdgezoomError, "The source is cut off or broken.");
create_exception!(edgezoom, PictureTooLarge, EdgezoomError, "The picture exceeds a limit.");

/// The reason why a job has ended without a result.
pub enum Failure {
    /// The engine's error.
    Engine(DzsaveError),
    /// The region that the caller asked for is not within the picture.
    Outside,
}

impl From<DzsaveError> for Failure {
    fn from(error: DzsaveError) -> Self {
        Self::Engine(error)
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::Engine(BuildError::from(error).into())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Outside => PyValueError::new_err("the region is not within the picture"),
            Failure::Engine(DzsaveError::Options(error)) => PyValueError::new_err(error.to_string()),
            Failure::Engine(DzsaveError::Sink(error)) => of_sink(&error),
            Failure::Engine(DzsaveError::Build(BuildError::Source(error))) => of_source(&error),
            Failure::Engine(DzsaveError::Build(BuildError::Output(error))) => of_system(&error, None),
            Failure::Engine(error) => EdgezoomError::new_err(error.to_string()),
        }
    }
}

fn of_source(error: &SourceError) -> PyErr {
    use SourceError as E;
    let message = error.to_string();
    match error {
        E::NoBytes | E::Unknown { .. } | E::Refused(_) => UnknownFormat::new_err(message),
        E::NoPdf => UnsupportedPicture::new_err(format!("{message} Install edgezoom[pdf].")),
        E::Unsupported { .. } | E::Encrypted | E::NoSuchPage { .. } => UnsupportedPicture::new_err(message),
        E::Corrupt { .. } | E::Empty => CorruptPicture::new_err(message),
        E::TooManyPixels { .. }
        | E::TooFewBytes { .. }
        | E::TooComplex { .. }
        | E::TooLong { .. }
        | E::TooMuchMemory { .. }
        | E::TooManyBytes { .. } => PictureTooLarge::new_err(message),
        E::OutOfMemory => PyMemoryError::new_err(message),
        E::Io(error) => of_system(error, None),
        E::NeedsBrowser(_) | E::NeedsWhole | E::Cancelled => EdgezoomError::new_err(message),
    }
}

pub fn of_sink(error: &SinkError) -> PyErr {
    match error {
        SinkError::Exists(_) | SinkError::NoPyramid { .. } | SinkError::OtherPage(_) => {
            PyFileExistsError::new_err(error.to_string())
        }
        SinkError::Nameless(_) | SinkError::Unhosted(_) => PyValueError::new_err(error.to_string()),
        SinkError::Io { path, reason } => of_system(reason, Some(&path.to_string_lossy())),
        SinkError::Scattered { .. } | SinkError::Other(_) => EdgezoomError::new_err(error.to_string()),
    }
}

/// Returns an error of the system, of Python's class for it.
pub fn of_system(error: &io::Error, path: Option<&str>) -> PyErr {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, text, path.map(str::to_owned)))
        }
        // That of a temporary file has no number, but a kind. Its text names the file.
        None => io::Error::new(error.kind(), text).into(),
    }
}
