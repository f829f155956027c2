//! A picture whose file states the physical size of a pixel.

use edgezoom_geometry::Scale;

use crate::row_reader::{Jpeg, Wrapper};
use crate::{RowReader, SourceError};

/// A picture with its scale. It is the outermost reader, so that no other has to pass the scale on.
pub(crate) struct Scaled {
    pub(crate) source: Box<dyn RowReader>,
    pub(crate) scale: Scale,
}

impl Wrapper for Scaled {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.source.read_rows(into)
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        self.source.as_jpeg()
    }

    fn scale(&self) -> Option<Scale> {
        Some(self.scale)
    }
}
