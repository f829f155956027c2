//! A picture in memory, for decoders that do not return rows and for pictures that have to be rotated.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use edgezoom_geometry::Size;

use crate::{Bounds, Damage, Format, Layout, RowReader, SourceError, SourceFile};

/// A decoded picture.
pub struct Buffered {
    pub size: Size,
    pub layout: Layout,
    /// Its rows, without gaps.
    pub pixels: Vec<u8>,
    /// The part that could not be decoded.
    pub damage: Option<Damage>,
    /// Number of bytes read.
    read: usize,
}

impl Buffered {
    /// Returns a black picture, for a decoder to fill.
    pub fn new(size: Size, layout: Layout, bounds: Bounds) -> Result<Self, SourceError> {
        let bytes = size.pixels() * layout.channels() as u64;
        Ok(Self::of(size, layout, bounds.allocate(bytes, "holding it as a whole")?))
    }

    /// Returns a picture with these pixels.
    pub fn of(size: Size, layout: Layout, pixels: Vec<u8>) -> Self {
        Self { size, layout, pixels, damage: None, read: 0 }
    }

    /// Drops the alpha channel if all pixels are opaque: tiles are smaller without it.
    pub fn without_opaque_alpha(mut self) -> Self {
        let (pixels, _) = self.pixels.as_chunks::<4>();
        if self.layout != Layout::Rgba || pixels.iter().any(|pixel| pixel[3] != 255) {
            return self;
        }
        for index in 0..pixels.len() {
            self.pixels.copy_within(4 * index..4 * index + 3, 3 * index);
        }
        self.pixels.truncate(self.pixels.len() / 4 * 3);
        Self { layout: Layout::Rgb, ..self }
    }

    /// Reads all rows of a source.
    pub fn load(source: &mut dyn RowReader, bounds: Bounds) -> Result<Self, SourceError> {
        let mut picture = Self::new(source.size(), source.layout(), bounds)?;
        source.read_rows(&mut picture.pixels)?;
        picture.damage = source.damage();
        Ok(picture.without_opaque_alpha())
    }
}

impl RowReader for Buffered {
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

    fn needs_opacity(&self) -> bool {
        true
    }

    fn damage(&self) -> Option<Damage> {
        self.damage
    }

    fn rows_at_once(&self) -> u32 {
        u32::MAX
    }
}

/// Reads a file into memory, for decoders that need random access. Their other memory is counted by the pixel.
pub fn read_all(mut file: BufReader<SourceFile>, bounds: Bounds) -> Result<Vec<u8>, SourceError> {
    const REASON: &str = "holding the file as a whole";
    // The sandbox forbids reading metadata, so the length comes from seeking to the end.
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    bounds.admit_memory(length, REASON)?;
    let too_much = || SourceError::TooMuchMemory { reason: REASON, bytes: length, memory: bounds.memory };
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).map_err(|_| too_much())?).map_err(|_| too_much())?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Calls a decoder that may panic on broken files. Converts a panic to the error for a broken file.
pub fn catch_panics<T>(
    format: &Format,
    decode: impl FnOnce() -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err(format.corrupt("its structure is invalid")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::screenshot;

    const SIZE: Size = Size { width: 2, height: 1 };

    #[test]
    fn alpha_of_opaque_pixels_is_dropped() {
        let opaque =
            Buffered::of(SIZE, Layout::Rgba, vec![1, 2, 3, 255, 4, 5, 6, 255]).without_opaque_alpha();
        assert_eq!((opaque.layout, opaque.pixels), (Layout::Rgb, vec![1, 2, 3, 4, 5, 6]));
        let clear = Buffered::of(SIZE, Layout::Rgba, vec![1, 2, 3, 255, 4, 5, 6, 254]).without_opaque_alpha();
        assert_eq!(clear.layout, Layout::Rgba);
    }

    #[test]
    fn a_panic_of_a_decoder_means_a_broken_file() {
        let error = catch_panics::<()>(&screenshot::FORMAT, || panic!("index out of bounds")).unwrap_err();
        assert!(matches!(error, SourceError::Corrupt { .. }));
    }
}
