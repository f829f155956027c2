//! The file of a FITS, which may be gzipped.

use std::io::{BufReader, Read};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;

use super::error::too_short;
use crate::formats::section::Section;
use crate::{SourceError, SourceFile};

const BUFFER_BYTES: usize = 64 << 10;

/// A file as it is, or gzipped.
#[derive(Clone)]
pub struct Source {
    pub file: Arc<SourceFile>,
    pub is_gzipped: bool,
}

impl Source {
    /// The bytes from an offset on. What comes before it in a gzipped file has to be unpacked.
    pub fn from(&self, offset: u64) -> Result<Box<dyn Read>, SourceError> {
        if !self.is_gzipped {
            return Ok(Box::new(Section::new(&self.file, offset, u64::MAX).buffered(BUFFER_BYTES)));
        }
        let mut unpacked = MultiGzDecoder::new(Section::all(&self.file).buffered(BUFFER_BYTES));
        skip(&mut unpacked, offset)?;
        Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)))
    }
}

/// Reads so many bytes and forgets them.
fn skip(reader: &mut impl Read, bytes: u64) -> Result<(), SourceError> {
    match std::io::copy(&mut reader.take(bytes), &mut std::io::sink()) {
        Ok(skipped) if skipped == bytes => Ok(()),
        _ => Err(too_short()),
    }
}
