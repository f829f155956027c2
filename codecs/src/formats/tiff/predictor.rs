//! Predictors: what is stored is the difference to the pixel before.
//!
//! Source: TIFF 6.0, section 14 (2, horizontal differencing); Adobe Photoshop TIFF Technical Note 3 (3, floating
//! point).

use super::FORMAT;
use super::running_sums::{add, add_into};
use crate::SourceError;

/// How rows are predicted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Predictor {
    None,
    /// Integers, each the difference to the same sample of the pixel before.
    Horizontal,
    /// Floats: all their highest bytes, then all of the next, and so on, each the difference to the byte before.
    Float,
}

impl Predictor {
    /// The predictor by its number, for samples of so many bits.
    pub fn new(number: u64, bits: u8) -> Result<Self, SourceError> {
        match number {
            0 | 1 => Ok(Self::None),
            2 if matches!(bits, 8 | 16 | 24 | 32 | 64) => Ok(Self::Horizontal),
            3 if matches!(bits, 16 | 24 | 32 | 64) => Ok(Self::Float),
            _ => Err(FORMAT.unsupported(format_args!("its predictor is {number}, of {bits} bits"))),
        }
    }

    /// Copies a row of bytes, `together` to a pixel, as much of it as `out` has room for, and restores it meanwhile.
    pub fn undo_into(self, row: &[u8], together: usize, out: &mut [u8]) {
        match (self, together) {
            (Self::Horizontal, 1) => add_into::<1>(row, out),
            (Self::Horizontal, 3) => add_into::<3>(row, out),
            (Self::Horizontal, 4) => add_into::<4>(row, out),
            _ => {
                out.copy_from_slice(&row[..out.len()]);
                self.undo(out, 8, together, &mut Vec::new());
            }
        }
    }

    /// Restores a row of samples in little-endian order, `together` to a pixel.
    pub fn undo(self, row: &mut [u8], bits: u8, together: usize, spare: &mut Vec<u8>) {
        match (self, bits) {
            (Self::None, _) => {}
            (Self::Horizontal, 8) => match together {
                1 => add::<1>(row),
                2 => add::<2>(row),
                3 => add::<3>(row),
                4 => add::<4>(row),
                _ => (together..row.len())
                    .for_each(|index| row[index] = row[index].wrapping_add(row[index - together])),
            },
            (Self::Horizontal, _) => {
                let bytes = usize::from(bits) / 8;
                let mut before = vec![0u64; together];
                for (index, sample) in row.chunks_exact_mut(bytes).enumerate() {
                    let mut wide = [0; 8];
                    wide[..bytes].copy_from_slice(sample);
                    let before = &mut before[index % together];
                    *before = before.wrapping_add(u64::from_le_bytes(wide));
                    sample.copy_from_slice(&before.to_le_bytes()[..bytes]);
                }
            }
            (Self::Float, _) => {
                (together..row.len())
                    .for_each(|index| row[index] = row[index].wrapping_add(row[index - together]));
                let bytes = usize::from(bits) / 8;
                let samples = row.len() / bytes;
                spare.clear();
                spare.extend_from_slice(row);
                for (plane, values) in spare.chunks_exact(samples.max(1)).take(bytes).enumerate() {
                    let places = row.iter_mut().skip(bytes - 1 - plane).step_by(bytes);
                    places.zip(values).for_each(|(place, &value)| *place = value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(predictor: u64, bits: u8, together: usize, row: &[u8]) -> Vec<u8> {
        let mut row = row.to_vec();
        Predictor::new(predictor, bits).unwrap().undo(&mut row, bits, together, &mut Vec::new());
        row
    }

    #[test]
    fn differences_become_samples() {
        assert_eq!(undone(2, 8, 1, &[1, 2, 255]), [1, 3, 2]);
        assert_eq!(undone(2, 8, 3, &[1, 2, 3, 1, 1, 1]), [1, 2, 3, 2, 3, 4]);
        assert_eq!(undone(2, 8, 5, &[1, 2, 3, 4, 5, 1, 1, 1, 1, 1]), [1, 2, 3, 4, 5, 2, 3, 4, 5, 6]);
        assert_eq!(undone(2, 16, 1, &[255, 0, 1, 0]), [255, 0, 0, 1]);
        assert_eq!(
            undone(2, 32, 2, &[1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0])[8..],
            [0, 0, 0, 0, 3, 0, 0, 0]
        );
    }

    #[test]
    fn rows_are_restored_while_they_are_copied() {
        let row: Vec<u8> = (0..120_u8).map(|index| index.wrapping_mul(7)).collect();
        for together in 1..=5 {
            for predictor in [1, 2] {
                let mut out = [0; 60];
                Predictor::new(predictor, 8).unwrap().undo_into(&row, together, &mut out);
                assert_eq!(out, undone(predictor, 8, together, &row)[..60], "{together} to a pixel");
            }
        }
    }

    #[test]
    fn floats_are_put_together_from_their_bytes() {
        // 1.0 and 2.0: 3f 80 00 00 and 40 00 00 00.
        let planes = [0x3f, 0x40, 0x80, 0, 0, 0, 0, 0u8];
        let stored: Vec<u8> = (0..8)
            .map(|index| if index == 0 { planes[0] } else { planes[index].wrapping_sub(planes[index - 1]) })
            .collect();
        let row = undone(3, 32, 1, &stored);
        assert_eq!(row, [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat());
    }
}
