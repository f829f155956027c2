//! A picture with what its file says beside the pixels: the physical size of a pixel, words, vectors, metadata.

use std::mem;

use edgezoom_geometry::Scale;
use edgezoom_text::Text;

use crate::row_reader::{Jpeg, Wrapper};
use crate::{LateMetadata, RowReader, SourceError, Vectors};

/// A picture with what its file says beside the pixels. It is the outermost reader, so that no other has to pass this on.
pub(crate) struct Described {
    pub(crate) source: Box<dyn RowReader>,
    pub(crate) scale: Option<Scale>,
    pub(crate) text: Option<Text>,
    pub(crate) vectors: Option<Box<dyn Vectors>>,
    pub(crate) metadata: LateMetadata,
}

impl Wrapper for Described {
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
        self.scale
    }

    fn take_text(&mut self) -> Option<Text> {
        self.text.take()
    }

    fn take_vectors(&mut self) -> Option<Box<dyn Vectors>> {
        self.vectors.take()
    }

    fn take_metadata(&mut self) -> LateMetadata {
        mem::take(&mut self.metadata)
    }
}
