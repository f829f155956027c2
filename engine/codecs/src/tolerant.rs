//! Shows a damaged picture as far as it goes: once a row has been decoded, an error in the file ends the picture
//! instead of the conversion. Missing rows are neutral grey, or transparent if the picture has an alpha channel.
//!
//! Decoders need not know: they return an error, which [`Tolerant`] converts to [`Damage`]. Those that go on behind the
//! damage, such as libjpeg, report it by [`RowReader::damage`] themselves.

use edgezoom_jpeg::decoder::requantise::TileBlocks;
use edgezoom_jpeg::encoder::Piece;

use crate::row_reader::{BlockReader, Jpeg, Wrapper};
use crate::{Damage, Layout, RowReader, SourceError};

/// Value of a missing sample: the middle of the range.
pub(crate) const NEUTRAL: u8 = 128;

/// Maximum number of rows requested at once, which is more than any picture has.
const MOST_ROWS: u32 = 1 << 30;

/// A source that ends where its file is damaged.
pub(crate) struct Tolerant {
    source: Box<dyn RowReader>,
    next_row: u32,
    /// The damage at which the source failed.
    damage: Option<Damage>,
}

/// A source that fails if its file is damaged, even if its decoder could go on.
pub(crate) struct Strict {
    source: Box<dyn RowReader>,
    format: &'static str,
}

impl Tolerant {
    pub(crate) fn new(source: Box<dyn RowReader>) -> Self {
        Self { source, next_row: 0, damage: None }
    }

    /// Counts the rows of a read, which may extend below the picture.
    fn advance(&mut self, rows: usize) {
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        self.next_row = self.next_row.saturating_add(rows).min(self.source.size().height);
    }
}

impl Wrapper for Tolerant {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn damage(&self) -> Option<Damage> {
        self.damage.or_else(|| self.source.damage())
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        let steps = self.source.as_jpeg()?.steps;
        Some(Jpeg { steps, blocks: self })
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let (layout, size) = (self.source.layout(), self.source.size());
        let row_bytes = layout.row_bytes(size.width).max(1);
        let unit = layout.rows_read(self.source.rows_at_once().clamp(1, MOST_ROWS)) as usize;
        for rows in into.chunks_mut(row_bytes.saturating_mul(unit)) {
            if self.damage.is_none() {
                match self.source.read_rows(rows) {
                    Ok(()) => {
                        self.advance(rows.len() / row_bytes);
                        continue;
                    }
                    Err(SourceError::Corrupt { .. }) if self.next_row > 0 => {
                        self.damage = Some(Damage::FromRow { row: self.next_row, rows: size.height });
                    }
                    Err(error) => return Err(error),
                }
            }
            rows.fill(missing(layout));
        }
        Ok(())
    }
}

impl BlockReader for Tolerant {
    fn begin_blocks(&mut self, tiles: &TileBlocks) -> bool {
        self.source.as_jpeg().is_some_and(|jpeg| jpeg.blocks.begin_blocks(tiles))
    }

    fn read_blocks(&mut self, halved: &mut [u8]) -> Result<Option<Vec<Piece>>, SourceError> {
        let Some(jpeg) = self.source.as_jpeg() else { return Ok(None) };
        let pieces = match jpeg.blocks.read_blocks(halved) {
            Err(SourceError::Corrupt { .. }) if self.next_row > 0 => {
                self.damage = Some(Damage::FromRow { row: self.next_row, rows: self.source.size().height });
                return Ok(None);
            }
            result => result?,
        };
        if pieces.is_some() {
            self.advance(if self.source.layout() == Layout::Grey { 8 } else { 16 });
        }
        Ok(pieces)
    }
}

impl Strict {
    pub(crate) fn new(source: Box<dyn RowReader>, format: &'static str) -> Result<Self, SourceError> {
        let strict = Self { source, format };
        strict.refuse_damage().map(|()| strict)
    }

    fn refuse_damage(&self) -> Result<(), SourceError> {
        match self.source.damage() {
            // A drawing that needs a browser is not damaged.
            None | Some(Damage::NotDrawn(_) | Damage::MorePages { .. } | Damage::Smaller(_)) => Ok(()),
            Some(Damage::FromRow { .. }) => {
                Err(SourceError::corrupt(self.format, "it ends before its last row"))
            }
            Some(Damage::Partial) => {
                Err(SourceError::corrupt(self.format, "some of its pixels cannot be decoded"))
            }
        }
    }
}

impl Wrapper for Strict {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        let steps = self.source.as_jpeg()?.steps;
        Some(Jpeg { steps, blocks: self })
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.source.read_rows(into)?;
        self.refuse_damage()
    }
}

impl BlockReader for Strict {
    fn begin_blocks(&mut self, tiles: &TileBlocks) -> bool {
        self.source.as_jpeg().is_some_and(|jpeg| jpeg.blocks.begin_blocks(tiles))
    }

    fn read_blocks(&mut self, halved: &mut [u8]) -> Result<Option<Vec<Piece>>, SourceError> {
        let Some(jpeg) = self.source.as_jpeg() else { return Ok(None) };
        let pieces = jpeg.blocks.read_blocks(halved)?;
        self.refuse_damage().map(|()| pieces)
    }
}

/// Returns the value of missing samples: transparent if possible, otherwise grey. In YCbCr, grey has all samples in the
/// middle, too.
pub(crate) fn missing(layout: Layout) -> u8 {
    match layout {
        Layout::Rgba => 0,
        Layout::Grey | Layout::Rgb | Layout::YCbCr420 => NEUTRAL,
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_geometry::Size;

    use super::{Strict, Tolerant};
    use crate::{Damage, Layout, RowReader, SourceError};

    /// Twelve rows of ones, of which only the first `left` can be read.
    struct Broken {
        layout: Layout,
        left: u32,
        at_once: u32,
    }

    impl RowReader for Broken {
        fn size(&self) -> Size {
            Size { width: 2, height: 12 }
        }

        fn layout(&self) -> Layout {
            self.layout
        }

        fn rows_at_once(&self) -> u32 {
            self.at_once
        }

        fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
            let rows = (into.len() / self.layout.row_bytes(2)) as u32;
            self.left = self.left.checked_sub(rows).ok_or(SourceError::corrupt("X", "it ends"))?;
            into.fill(1);
            Ok(())
        }
    }

    fn read(layout: Layout, left: u32, at_once: u32) -> Result<(Vec<u8>, Option<Damage>), SourceError> {
        let mut source = Tolerant::new(Box::new(Broken { layout, left, at_once }));
        let mut pixels = vec![9; layout.row_bytes(2) * layout.rows_read(12) as usize];
        for rows in pixels.chunks_mut(layout.row_bytes(2) * layout.rows_read(5) as usize) {
            source.read_rows(rows)?;
        }
        Ok((pixels, source.damage()))
    }

    #[test]
    fn the_rows_behind_the_first_bad_one_are_missing() {
        for (layout, missing) in [(Layout::Grey, 128), (Layout::Rgb, 128), (Layout::Rgba, 0)] {
            let (pixels, damage) = read(layout, 7, 1).unwrap();
            let (good, bad) = pixels.split_at(7 * layout.row_bytes(2));
            assert!(good.iter().all(|&byte| byte == 1) && bad.iter().all(|&byte| byte == missing));
            assert_eq!(damage, Some(Damage::FromRow { row: 7, rows: 12 }));
        }
    }

    #[test]
    fn a_decoder_of_several_rows_at_once_gets_requests_of_that_size() {
        assert_eq!(read(Layout::Grey, 11, 5).unwrap().1, Some(Damage::FromRow { row: 10, rows: 12 }));
        assert_eq!(read(Layout::Grey, 12, u32::MAX).unwrap().1, None);
    }

    #[test]
    fn planes_are_missing_in_bands() {
        assert_eq!(read(Layout::YCbCr420, 16, 1).unwrap().1, None);
        assert!(read(Layout::YCbCr420, 15, 1).is_err());
    }

    #[test]
    fn a_source_without_a_good_row_is_refused() {
        assert!(matches!(read(Layout::Rgb, 0, 1), Err(SourceError::Corrupt { .. })));
    }

    #[test]
    fn a_strict_reader_refuses_rows_that_a_decoder_filled() {
        let source = || Tolerant::new(Box::new(Broken { layout: Layout::Grey, left: 7, at_once: 1 }));
        let mut strict = Strict::new(Box::new(source()), "X").unwrap();
        let mut row = [0; 2];
        assert!((0..7).all(|_| strict.read_rows(&mut row).is_ok()));
        assert!(matches!(strict.read_rows(&mut row), Err(SourceError::Corrupt { .. })));
        let mut damaged = source();
        damaged.read_rows(&mut [0; 24]).unwrap();
        assert!(Strict::new(Box::new(damaged), "X").is_err());
    }
}
