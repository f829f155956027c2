//! YCbCr that is not JPEG, with chroma for several pixels: stored as units of all their lumas, then Cb and Cr.
//!
//! ```text
//! 2 across, 2 down   Y00 Y01 Y10 Y11 Cb Cr        a unit of 2×2 pixels; rows of units
//! ```
//! Source: TIFF 6.0, section 21 ("Ordering of data samples").

/// The bytes of a row of units, for so many columns of pixels.
pub fn row_bytes(columns: usize, (across, down): (u32, u32)) -> usize {
    columns.div_ceil(across as usize) * unit_bytes((across, down))
}

fn unit_bytes((across, down): (u32, u32)) -> usize {
    (across * down) as usize + 2
}

/// Unpacks a row of pixels, counted from the top of its units, as luma, Cb and Cr for each.
pub fn unpack(units: &[u8], row: usize, (across, down): (u32, u32), out: &mut [u8]) {
    let in_unit = across as usize;
    let units = units.chunks_exact(unit_bytes((across, down)));
    for (unit, out) in units.zip(out.chunks_mut(3 * in_unit)) {
        let Some(&[blue, red]) = unit.last_chunk::<2>() else { return };
        for (pixel, &luma) in out.as_chunks_mut::<3>().0.iter_mut().zip(&unit[row * in_unit..]) {
            *pixel = [luma, blue, red];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_share_the_chroma_of_their_unit() {
        let units = [1, 2, 3, 4, 50, 60, 5, 6, 7, 8, 70, 80];
        let mut row = [0; 9];
        unpack(&units, 1, (2, 2), &mut row);
        assert_eq!(row, [3, 50, 60, 4, 50, 60, 7, 70, 80]);
        assert_eq!(row_bytes(3, (2, 2)), 12);
    }
}
