//! What a picture may cost. Decoders check these bounds against the header, before they allocate anything.

use edgezoom_content::Size;

use crate::SourceError;

/// What a picture may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The pixels it may have.
    pub pixels: u64,
    /// The pixels a side may have.
    pub side: u32,
    /// The memory that may be used to hold a picture as a whole, in bytes.
    pub memory: u64,
}

impl Bounds {
    /// The size, if a picture may be as large.
    pub(crate) fn admit(&self, width: u32, height: u32) -> Result<Size, SourceError> {
        let size = Size { width, height };
        if width == 0 || height == 0 {
            return Err(SourceError::Empty);
        }
        if size.pixels() > self.pixels {
            return Err(SourceError::TooManyPixels { size, pixels: self.pixels });
        }
        if width.max(height) > self.side {
            return Err(SourceError::TooLong { size, side: self.side });
        }
        Ok(size)
    }

    /// Whether so many bytes may be used for what `reason` says.
    pub(crate) fn admit_memory(&self, bytes: u64, reason: &'static str) -> Result<(), SourceError> {
        if bytes > self.memory {
            return Err(SourceError::TooMuchMemory { reason, bytes, memory: self.memory });
        }
        Ok(())
    }
}
