//! Pixels in memory as a picture.

use edgezoom_geometry::Size;

use crate::{Layout, RowReader, SourceError};

/// Pixels in memory: rows of 8-bit sRGB or grey, or of 16 bits each in the machine's order, of which tiles get the upper
/// half. Clones that share their bytes, as those of an [`Arc`](std::sync::Arc) do, are independent readers.
///
/// ```
/// use std::sync::Arc;
///
/// use edgezoom_codecs::{Layout, Pixels, RowReader};
///
/// # fn main() -> Result<(), edgezoom_codecs::SourceError> {
/// // Two rows of one pixel each, padded to four bytes.
/// let bytes: Arc<[u8]> = Arc::from([1, 2, 3, 0, 4, 5, 6]);
/// let mut pixels = Pixels::new(bytes, 1, 2, Layout::Rgb)?.with_stride(4)?;
/// let mut rows = [0; 6];
/// pixels.read_rows(&mut rows)?;
/// assert_eq!(rows, [1, 2, 3, 4, 5, 6]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pixels<B> {
    bytes: B,
    size: Size,
    layout: Layout,
    /// Distance of two rows in bytes.
    stride: usize,
    /// Bytes of a sample: 1 or 2.
    sample: usize,
    /// Number of rows read.
    read: u32,
}

impl<B: AsRef<[u8]>> Pixels<B> {
    /// Returns pixels of 8 bits a sample, whose rows follow each other without gaps.
    ///
    /// # Errors
    /// There are no pixels or fewer bytes, or the layout is [`Layout::YCbCr420`].
    pub fn new(bytes: B, width: u32, height: u32, layout: Layout) -> Result<Self, SourceError> {
        let stride = layout.row_bytes(width);
        Self { bytes, size: Size { width, height }, layout, stride, sample: 1, read: 0 }.checked()
    }

    /// Sets the distance between the beginnings of two rows, in bytes.
    ///
    /// # Errors
    /// It is less than a row, or there are fewer bytes.
    pub fn with_stride(self, stride: usize) -> Result<Self, SourceError> {
        Self { stride, ..self }.checked()
    }

    /// Says that samples have 16 bits. Rows follow each other without gaps until a [stride](Self::with_stride) is set.
    ///
    /// # Errors
    /// There are fewer bytes.
    pub fn with_16_bits(self) -> Result<Self, SourceError> {
        Self { sample: 2, stride: 2 * self.layout.row_bytes(self.size.width), ..self }.checked()
    }

    fn checked(self) -> Result<Self, SourceError> {
        let Size { width, height } = self.size;
        if width == 0 || height == 0 {
            return Err(SourceError::Empty);
        }
        let row = self.layout.row_bytes(width) * self.sample;
        let needed = self.stride.checked_mul(height as usize - 1).and_then(|bytes| bytes.checked_add(row));
        let is_there = needed.is_some_and(|needed| needed <= self.bytes.as_ref().len());
        if self.layout == Layout::YCbCr420 || self.stride < row || !is_there {
            return Err(SourceError::unsupported("array", "its bytes, stride and size do not fit together"));
        }
        Ok(self)
    }
}

impl<B: AsRef<[u8]>> RowReader for Pixels<B> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row = self.layout.row_bytes(self.size.width);
        for into in into.chunks_exact_mut(row) {
            let start = self.read as usize * self.stride;
            let bytes =
                self.bytes.as_ref().get(start..start + row * self.sample).ok_or(SourceError::Empty)?;
            match self.sample {
                1 => into.copy_from_slice(bytes),
                _ => into.iter_mut().zip(bytes.as_chunks::<2>().0).for_each(|(into, sample)| {
                    // Rounded: 65,535 is 255.
                    *into = ((u32::from(u16::from_ne_bytes(*sample)) * 255 + 32_767) / 65_535) as u8;
                }),
            }
            self.read += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_of_16_bits_with_a_stride_are_rounded() {
        let samples = [0_u16, 128, 129, 65_535, 9, 9, 32_767, 32_896, 257, 65_406];
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_ne_bytes()).collect();
        let pixels = Pixels::new(bytes, 4, 1, Layout::Grey).unwrap().with_16_bits().unwrap();
        let mut pixels = Pixels { size: Size { width: 4, height: 2 }, ..pixels }.with_stride(12).unwrap();
        let mut rows = [0; 8];
        pixels.read_rows(&mut rows[..4]).unwrap();
        pixels.read_rows(&mut rows[4..]).unwrap();
        assert_eq!(rows, [0, 0, 1, 255, 127, 128, 1, 254]);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let of = |bytes: usize, width, height, layout| Pixels::new(vec![0_u8; bytes], width, height, layout);
        assert!(matches!(of(9, 0, 3, Layout::Rgb), Err(SourceError::Empty)));
        assert!(of(17, 3, 2, Layout::Rgb).is_err());
        assert!(of(100, 2, 2, Layout::YCbCr420).is_err());
        assert!(of(0, u32::MAX, u32::MAX, Layout::Rgba).is_err());
        let whole = of(18, 3, 2, Layout::Rgb).unwrap();
        assert!(whole.clone().with_stride(8).is_err() && whole.clone().with_stride(10).is_err());
        assert!(whole.with_16_bits().is_err());
        // The last row needs no padding.
        assert!(of(19, 3, 2, Layout::Rgb).unwrap().with_stride(10).is_ok());
    }
}
