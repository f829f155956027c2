//! CCITT fax compression, in which scanners store black and white: modified Huffman, group 3 in one or two dimensions,
//! group 4.
//!
//! Source: ITU-T T.4 (group 3), ITU-T T.6 (group 4); TIFF 6.0, sections 10 and 11.

use hayro_ccitt::{DecodeSettings, DecoderContext, EncodingMode};

use super::directory::{Directory, Tiff};
use super::tag::{self, compression};
use super::too_large;
use crate::SourceError;

/// Bit of T4Options for two-dimensional coding.
const TWO_DIMENSIONS: u64 = 1;
/// Largest width in pixels: the colour changes of a row and of the row above are in memory.
const MAX_COLUMNS: u32 = 1 << 24;

/// The decoder of chunks of fax.
pub struct Ccitt {
    encoding: EncodingMode,
    rows_are_byte_aligned: bool,
}

impl Ccitt {
    /// Returns the decoder for a compression and a width of chunks.
    pub fn new(
        tiff: &mut Tiff,
        directory: &Directory,
        compression: u16,
        columns: u32,
    ) -> Result<Self, SourceError> {
        let options = tiff.first_or(directory, tag::GROUP_3_OPTIONS, 0);
        let encoding = match compression {
            compression::GROUP_4 => EncodingMode::Group4,
            compression::GROUP_3 if options & TWO_DIMENSIONS != 0 => EncodingMode::Group3_2D,
            _ => EncodingMode::Group3_1D,
        };
        if columns > MAX_COLUMNS {
            return Err(too_large());
        }
        Ok(Self { encoding, rows_are_byte_aligned: compression == compression::RUN_LENGTHS })
    }

    /// Fills `out` with the first rows of a chunk: 1 bit a pixel, 1 for black, `row_bytes` a row. Returns the number of
    /// bytes decoded.
    pub fn decode(&self, stored: &[u8], columns: u32, row_bytes: usize, out: &mut [u8]) -> usize {
        let rows = out.len() / row_bytes;
        let mut context = DecoderContext::new(DecodeSettings {
            columns,
            rows: u32::try_from(rows).unwrap_or(u32::MAX),
            end_of_block: true,
            // End-of-line codes are recognised where they occur.
            end_of_line: false,
            rows_are_byte_aligned: self.rows_are_byte_aligned,
            encoding: self.encoding,
            strict: false,
        });
        let mut left = Rows { left: out.chunks_exact_mut(row_bytes) };
        // The rows before an error are good.
        let _ = hayro_ccitt::decode(stored, &mut left, &mut context);
        (rows - left.left.len()) * row_bytes
    }
}

/// The rows that have not been decoded.
struct Rows<'a> {
    left: std::slice::ChunksExactMut<'a, u8>,
}

impl hayro_ccitt::Decoder for Rows<'_> {
    fn push_row(&mut self, changes: &[u32]) {
        let Some(row) = self.left.next() else { return };
        // The codes for black are bits of 1, whatever PhotometricInterpretation says.
        row.fill(0);
        for run in changes.chunks(2) {
            if let &[start, ref end @ ..] = run {
                set(row, start as usize, end.first().map_or(row.len() * 8, |&end| end as usize));
            }
        }
    }
}

/// Sets the bits of a row from `start` to before `end`, or to the end of the row.
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

    #[test]
    fn runs_become_bits() {
        let row = |changes: &[u32]| {
            let mut row = [0x55; 4];
            Rows { left: row.chunks_exact_mut(4) }.push_row(changes);
            u32::from_be_bytes(row)
        };
        assert_eq!(row(&[]), 0);
        assert_eq!(row(&[0]), 0xffff_ffff);
        assert_eq!(row(&[3, 5, 8, 16, 23]), 0x18ff_01ff);
        // Wider than the row.
        assert_eq!(row(&[30, 40, 50]), 3);
    }

    #[test]
    fn missing_rows_are_not_counted() {
        // Twice "8 white": 10011.
        let ccitt = Ccitt { encoding: EncodingMode::Group3_1D, rows_are_byte_aligned: true };
        let mut rows = [0xff; 2];
        assert_eq!(ccitt.decode(&[0b1001_1000; 2], 8, 1, &mut rows), 2);
        assert_eq!(rows, [0, 0]);
        assert_eq!(ccitt.decode(&[0b1001_1000], 8, 1, &mut rows), 1);
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
            let ccitt = Ccitt { encoding, rows_are_byte_aligned: kind == 3 };
            prop_assert!(ccitt.decode(&stored, columns, row_bytes, &mut rows) <= rows.len());
        }
    }
}
