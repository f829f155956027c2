//! CCITT fax compression, in which scanners store black and white: modified Huffman, group 3 in one or two dimensions,
//! group 4. The `tiff` crate reads only group 4, up to 65,535 pixels a side.
//!
//! Source: ITU-T T.4 (group 3), ITU-T T.6 (group 4); TIFF 6.0, sections 10 and 11.

use std::io::{Read, Seek, SeekFrom};

use ::tiff::decoder::Decoder;
use ::tiff::tags::Tag;
use hayro_ccitt::{DecodeSettings, DecoderContext, EncodingMode};

use super::directory;
use super::error::{NAME, error};
use crate::SourceError;

/// Values of Compression: modified Huffman (group 3 without end-of-line codes, rows aligned to bytes); group 3; group
/// 4.
const RUN_LENGTHS: u16 = 2;
const GROUP_3: u16 = 3;
const GROUP_4: u16 = 4;
/// The tag T4Options, and its bit for two-dimensional coding.
const GROUP_3_OPTIONS: Tag = Tag::Unknown(292);
const TWO_DIMENSIONS: u32 = 1;
/// The value of PhotometricInterpretation for greys whose 0 is white.
const WHITE_IS_0: u16 = 0;
/// The largest width: the colour changes of a row and of the row above are held.
const MAX_COLUMNS: u32 = 1 << 24;

pub struct Ccitt {
    encoding: EncodingMode,
    rows_are_byte_aligned: bool,
    /// Whether white is stored as 0. What is read has 1 for white.
    white_is_0: bool,
    /// The pixels across a chunk.
    columns: u32,
    /// The offset and the length of each chunk.
    chunks: Vec<(u64, u64)>,
    /// The bytes that a chunk may have.
    max_bytes: u64,
    /// The compressed bytes of the chunk that is being decoded.
    stored: Vec<u8>,
}

impl Ccitt {
    /// The decoder for a TIFF's chunks, if they are fax: `columns` wide, and compressed at most `max_bytes` long.
    pub fn of<R: Read + Seek>(
        decoder: &mut Decoder<R>,
        columns: u32,
        max_bytes: u64,
    ) -> Result<Option<Self>, SourceError> {
        let compression = decoder.find_tag_unsigned::<u16>(Tag::Compression).map_err(error)?;
        let options = decoder.find_tag_unsigned::<u32>(GROUP_3_OPTIONS).map_err(error)?.unwrap_or(0);
        let encoding = match compression {
            Some(GROUP_3) if options & TWO_DIMENSIONS != 0 => EncodingMode::Group3_2D,
            Some(RUN_LENGTHS | GROUP_3) => EncodingMode::Group3_1D,
            Some(GROUP_4) => EncodingMode::Group4,
            _ => return Ok(None),
        };
        if columns > MAX_COLUMNS {
            return Err(SourceError::unsupported(NAME, "its strips, tiles or tables are too large"));
        }
        let photometric = decoder.find_tag_unsigned::<u16>(Tag::PhotometricInterpretation).map_err(error)?;
        Ok(Some(Self {
            encoding,
            rows_are_byte_aligned: compression == Some(RUN_LENGTHS),
            white_is_0: photometric == Some(WHITE_IS_0),
            columns,
            chunks: directory::chunks(decoder)?,
            max_bytes,
            stored: Vec::new(),
        }))
    }

    /// Reads the first rows of a chunk: 1 bit a pixel, 1 for white, `row_bytes` a row. Pixels beyond that are dropped.
    pub fn read_chunk<R: Read + Seek>(
        &mut self,
        file: &mut R,
        chunk: u32,
        row_bytes: usize,
        into: &mut [u8],
    ) -> Result<(), SourceError> {
        let too_early = || SourceError::corrupt(NAME, "it ends too early");
        let &(offset, bytes) = self.chunks.get(chunk as usize).ok_or_else(too_early)?;
        if bytes > self.max_bytes {
            return Err(SourceError::unsupported(NAME, "its strips, tiles or tables are too large"));
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
            // End-of-line codes are recognised where they occur.
            end_of_line: false,
            rows_are_byte_aligned: self.rows_are_byte_aligned,
            encoding: self.encoding,
            strict: false,
        });
        let mut rows = Rows { left: into.chunks_exact_mut(row_bytes), white_is_0: self.white_is_0 };
        let end = hayro_ccitt::decode(&self.stored, &mut rows, &mut context);
        match (rows.left.len(), end) {
            (0, _) => Ok(()),
            (_, Err(error)) => Err(SourceError::corrupt(NAME, error)),
            (_, Ok(_)) => Err(SourceError::corrupt(NAME, "it ends too early")),
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
        // The codes for black stand for bits that are 1, whatever PhotometricInterpretation says.
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
            chunks: Vec::new(),
            max_bytes: 1 << 20,
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
            columns in prop_oneof![1u32..100, Just(MAX_COLUMNS)],
            kind in 0..4,
        ) {
            let encoding = [EncodingMode::Group3_1D, EncodingMode::Group3_2D, EncodingMode::Group4][kind as usize % 3];
            let row_bytes = columns.min(100).div_ceil(8) as usize;
            let mut rows = vec![0; row_bytes * 50];
            let _ = ccitt(encoding, kind == 3, columns, &stored).decode(row_bytes, &mut rows);
        }
    }
}
