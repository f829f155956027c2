//! A picture of which some packets are missing: code blocks have less detail than they should, or none, or whole tiles do.

use crate::read_ahead::ReadAhead;
use crate::row_reader::Wrapper;
use crate::{Damage, RowReader, SourceError};

/// The rows of a picture that is damaged somewhere.
pub struct Partial {
    pub reader: ReadAhead,
    pub damage: Damage,
}

impl Wrapper for Partial {
    fn source(&self) -> &dyn RowReader {
        &self.reader
    }

    fn damage(&self) -> Option<Damage> {
        Some(self.damage)
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.reader.read_rows(into)
    }
}
