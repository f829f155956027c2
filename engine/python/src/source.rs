//! Opens what Python passes as a source: a path, the bytes of a file, or an array of pixels.

use std::fs::File;
use std::path::{Path, PathBuf};

use edgezoom_pyramid::codecs::{Bounds, Cancel, DecodeOptions, RowReader, SourceError, SourceFile, prepare};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::buffer::{Array, Content, content};
use crate::errors::of_system;

/// A source.
pub enum Source {
    File(SourceFile),
    Array(Array),
}

/// Opens a source from its first row.
pub type Opener = Box<dyn FnMut(&DecodeOptions) -> Result<Box<dyn RowReader>, SourceError>>;

impl Source {
    /// Returns the source that an object names or is.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(buffer) = PyUntypedBuffer::get(object) {
            return Ok(match content(buffer)? {
                Content::File(bytes) => Self::File(SourceFile::of(bytes)),
                Content::Array(array) => Self::Array(array),
            });
        }
        let path: PathBuf = object.extract().map_err(|_| {
            PyTypeError::new_err("a source is a path, bytes, a binary file or an array of pixels")
        })?;
        let file = object.py().detach(|| File::open(&path));
        Ok(Self::File(file.map_err(|error| of_system(&error, Some(&path.to_string_lossy())))?.into()))
    }

    /// Prepares to open it. `pdfium` is the path of the library for PDF.
    pub fn opener(
        self,
        bounds: Bounds,
        pdfium: Option<&Path>,
        cancel: &Cancel,
    ) -> Result<Opener, SourceError> {
        match self {
            Self::File(file) => {
                let file = file.cancelled_by(cancel);
                let prepared = prepare(&mut file.clone(), pdfium)?;
                Ok(Box::new(move |decode| prepared.open(file.clone(), bounds, decode)))
            }
            Self::Array(array) => {
                let pixels = array.pixels(cancel)?;
                Ok(Box::new(move |_| Ok(Box::new(pixels.clone()))))
            }
        }
    }
}
