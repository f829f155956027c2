//! A picture held in memory as a whole, for decoders that give no rows and for pictures that have to be turned.

use edgezoom_content::Size;

use super::{Bounds, Layout, SourceError, Strips};

/// A decoded picture.
pub struct Whole {
    pub size: Size,
    pub layout: Layout,
    /// Its rows, one after the other without gaps.
    pub pixels: Vec<u8>,
    /// How many bytes have been read of it.
    read: usize,
}

impl Whole {
    /// A black picture, for a decoder to fill.
    pub fn new(size: Size, layout: Layout, bounds: Bounds) -> Result<Self, SourceError> {
        let bytes = size.pixels() * layout.channels() as u64;
        bounds.admit_memory(bytes, "holding it as a whole")?;
        let mut pixels = Vec::new();
        usize::try_from(bytes).ok().and_then(|bytes| pixels.try_reserve_exact(bytes).ok()).ok_or(
            SourceError::TooMuchMemory { reason: "holding it as a whole", bytes, memory: bounds.memory },
        )?;
        pixels.resize(bytes as usize, 0);
        Ok(Self { size, layout, pixels, read: 0 })
    }

    /// All of a source that gives rows.
    pub fn load(strips: &mut dyn Strips, bounds: Bounds) -> Result<Self, SourceError> {
        let mut whole = Self::new(strips.size(), strips.layout(), bounds)?;
        strips.read_rows(&mut whole.pixels)?;
        Ok(whole)
    }
}

impl Strips for Whole {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let end = self.read + into.len();
        into.copy_from_slice(&self.pixels[self.read..end]);
        self.read = end;
        Ok(())
    }
}
