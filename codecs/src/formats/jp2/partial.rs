//! A picture of which some packets are missing: code blocks have less detail than they should, or none, or whole tiles do.

use edgezoom_geometry::Size;

use crate::read_ahead::ReadAhead;
use crate::{Damage, Layout, RowReader, SourceError};

/// The rows of a picture that is damaged somewhere.
pub struct Partial {
    pub reader: ReadAhead,
    pub damage: Damage,
}

impl RowReader for Partial {
    fn size(&self) -> Size {
        self.reader.size()
    }

    fn layout(&self) -> Layout {
        self.reader.layout()
    }

    fn damage(&self) -> Option<Damage> {
        Some(self.damage)
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.reader.read_rows(into)
    }
}
