//! What the header of a DICOM says of a pixel.

use edgezoom_geometry::Size;

use crate::colour::samples::round_16;

/// What the header says of a pixel.
#[derive(Clone, Copy, Debug)]
pub struct Pixel {
    pub size: Size,
    /// 1 or 3.
    pub samples: usize,
    /// The bits in which a sample is stored, those that count, and whether it is signed.
    pub allocated: u16,
    pub stored: u16,
    pub is_signed: bool,
    pub is_planar: bool,
    pub is_subsampled: bool,
}

impl Pixel {
    /// A sample as 8 bits.
    pub fn shade(&self, number: i32) -> u8 {
        match self.stored {
            8 => number as u8,
            // Colours of more than 8 bits are not signed.
            stored => round_16(((number as u32 as u64 * 65_535) / ((1u64 << stored) - 1)).min(65_535) as u16),
        }
    }
}
