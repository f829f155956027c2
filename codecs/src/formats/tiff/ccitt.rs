//! Fax: black and white as scanners of documents store it, in CCITT's codes of group 3, in one dimension or two, and of
//! group 4. The `tiff` crate knows group 4 only, and sides of 16 bits there.

use std::io::{Read, Seek, SeekFrom};

use ::tiff::decoder::Decoder;
use ::tiff::tags::Tag;
use hayro_ccitt::{DecodeSettings, DecoderContext, EncodingMode};

use super::{directory, error};
use crate::{Format, SourceError};

/// Values of the tag Compression: group 3 without ends of lines, each in bytes of its own; group 3; group 4.
const RUN_LENGTHS: u16 = 2;
const GROUP_3: u16 = 3;
const GROUP_4: u16 = 4;
/// A tag of group 3, and the bit in it that says "in two dimensions".
const GROUP_3_OPTIONS: Tag = Tag::Unknown(292);
const TWO_DIMENSIONS: u32 = 1;
/// The value of the tag PhotometricInterpretation for greys of which 0 is white.
const WHITE_IS_0: u16 = 0;
/// The most pixels across: a row's changes of colour are held, and those of the row above.
const MOST_COLUMNS: u32 = 1 << 24;

pub struct Ccitt {
    encoding: EncodingMode,
    rows_are_byte_aligned: bool,
    /// Whether white is stored as 0: the decoder's callers want it to be 1.
    white_is_0: bool,
    /// The pixels across a chunk.
    columns: u32,
    /// Where each chunk begins in the file, and its bytes.
    places: Vec<(u64, u64)>,
    /// The bytes that a chunk may have.
    most_bytes: u64,
    /// The chunk that is being decoded, as stored.
    stored: Vec<u8>,
}

impl Ccitt {
    /// How a TIFF's chunks are read, if they are of this kind: of so many columns and, stored, at most so many bytes.
    pub fn of<R: Read + Seek>(
        decoder: &mut Decoder<R>,
        columns: u32,
        most_bytes: u64,
    ) -> Result<Option<Self>, SourceError> {
        let compression = decoder.find_tag_unsigned::<u16>(Tag::Compression).map_err(error)?;
        let options = decoder.find_tag_unsigned::<u32>(GROUP_3_OPTIONS).map_err(error)?.unwrap_or(0);
        let encoding = match compression {
            Some(GROUP_3) if options & TWO_DIMENSIONS != 0 => EncodingMode::Group3_2D,
            Some(RUN_LENGTHS | GROUP_3) => EncodingMode::Group3_1D,
            Some(GROUP_4) => EncodingMode::Group4,
            _ => return Ok(None),
        };
        if columns > MOST_COLUMNS {
            return Err(SourceError::unsupported(Format::Tiff, "its strips, tiles or tables are too large"));
        }
        let meaning = decoder.find_tag_unsigned::<u16>(Tag::PhotometricInterpretation).map_err(error)?;
        Ok(Some(Self {
            encoding,
            rows_are_byte_aligned: compression == Some(RUN_LENGTHS),
            white_is_0: meaning == Some(WHITE_IS_0),
            columns,
            places: directory::places(decoder)?,
            most_bytes,
            stored: Vec::new(),
        }))
    }

    /// Reads a chunk's first rows, 1 bit to a pixel and 1 for white, `row_bytes` to a row: what is wider is cut off.
    pub fn read_chunk<R: Read + Seek>(
        &mut self,
        file: &mut R,
        chunk: u32,
        row_bytes: usize,
        into: &mut [u8],
    ) -> Result<(), SourceError> {
        let too_early = || SourceError::corrupt(Format::Tiff, "it ends too early");
        let &(offset, bytes) = self.places.get(chunk as usize).ok_or_else(too_early)?;
        if bytes > self.most_bytes {
            return Err(SourceError::unsupported(Format::Tiff, "its strips, tiles or tables are too large"));
        }
        file.seek(SeekFrom::Start(offset)).map_err(|_| too_early())?;
        self.stored.clear();
        file.take(bytes).read_to_end(&mut self.stored).map_err(|_| too_early())?;
        self.decode(row_bytes, into)
    }

    /// Decodes the chunk that is stored.
    fn decode(&self, row_bytes: usize, into: &mut [u8]) -> Result<(), SourceError> {
        let rows = into.len() / row_bytes;
        let mut context = DecoderContext::new(DecodeSettings {
            columns: self.columns,
            rows: u32::try_from(rows).unwrap_or(u32::MAX),
            end_of_block: true,
            // Found where they are.
            end_of_line: false,
            rows_are_byte_aligned: self.rows_are_byte_aligned,
            encoding: self.encoding,
            strict: false,
        });
        let mut rows = Rows { left: into.chunks_exact_mut(row_bytes), white_is_0: self.white_is_0 };
        let end = hayro_ccitt::decode(&self.stored, &mut rows, &mut context);
        match (rows.left.len(), end) {
            (0, _) => Ok(()),
            (_, Err(error)) => Err(SourceError::corrupt(Format::Tiff, error)),
            (_, Ok(_)) => Err(SourceError::corrupt(Format::Tiff, "it ends too early")),
        }
    }
}

/// The rows that are still to be decoded.
struct Rows<'a> {
    left: std::slice::ChunksExactMut<'a, u8>,
    white_is_0: bool,
}

impl hayro_ccitt::Decoder for Rows<'_> {
    fn push_row(&mut self, changes: &[u32]) {
        let Some(row) = self.left.next() else { return };
        // Whatever is said to be black, the codes for it stand for bits that are 1.
        row.fill(0);
        for run in changes.chunks(2) {
            if let &[start, ref end @ ..] = run {
                set(row, start as usize, end.first().map_or(row.len() * 8, |&end| end as usize));
            }
        }
        if self.white_is_0 {
            row.iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

/// Sets the bits of a row from `start` to before `end`, as far as it has them.
fn set(row: &mut [u8], start: usize, end: usize) {
    let end = end.min(row.len() * 8);
    if start >= end {
        return;
    }
    let (left, right) = (0xff >> (start % 8), 0xff << (7 - (end - 1) % 8));
    match &mut row[start / 8..=(end - 1) / 8] {
        [only] => *only |= left & right,
        [first, between @ .., last] => {
            *first |= left;
            between.fill(0xff);
            *last |= right;
        }
        [] => (),
    }
}

#[cfg(test)]
mod tests {
    use hayro_ccitt::Decoder as _;
    use proptest::prelude::*;

    use super::*;

    fn ccitt(encoding: EncodingMode, rows_are_byte_aligned: bool, columns: u32, stored: &[u8]) -> Ccitt {
        Ccitt {
            encoding,
            rows_are_byte_aligned,
            white_is_0: false,
            columns,
            places: Vec::new(),
            most_bytes: 1 << 20,
            stored: stored.to_vec(),
        }
    }

    #[test]
    fn runs_become_bits() {
        let row = |changes: &[u32], white_is_0| {
            let mut row = [0x55; 4];
            Rows { left: row.chunks_exact_mut(4), white_is_0 }.push_row(changes);
            u32::from_be_bytes(row)
        };
        assert_eq!(row(&[], false), 0);
        assert_eq!(row(&[0], false), 0xffff_ffff);
        assert_eq!(row(&[3, 5, 8, 16, 23], false), 0x18ff_01ff);
        assert_eq!(row(&[3, 5, 8, 16, 23], true), !0x18ff_01ff);
        // Wider than the row.
        assert_eq!(row(&[30, 40, 50], false), 3);
    }

    #[test]
    fn rows_that_are_missing_are_an_error() {
        // Twice "8 white": 10011.
        let mut rows = [0xff; 2];
        ccitt(EncodingMode::Group3_1D, true, 8, &[0b1001_1000; 2]).decode(1, &mut rows).unwrap();
        assert_eq!(rows, [0, 0]);
        let short = ccitt(EncodingMode::Group3_1D, true, 8, &[0b1001_1000]).decode(1, &mut rows);
        assert!(matches!(short, Err(SourceError::Corrupt { .. })), "{short:?}");
    }

    proptest! {
        #[test]
        fn anything_ends_in_rows_or_an_error(
            stored in prop::collection::vec(any::<u8>(), 0..300),
            columns in prop_oneof![1u32..100, Just(MOST_COLUMNS)],
            kind in 0..4,
        ) {
            let encoding = [EncodingMode::Group3_1D, EncodingMode::Group3_2D, EncodingMode::Group4][kind as usize % 3];
            let row_bytes = columns.min(100).div_ceil(8) as usize;
            let mut rows = vec![0; row_bytes * 50];
            let _ = ccitt(encoding, kind == 3, columns, &stored).decode(row_bytes, &mut rows);
        }
    }
}
