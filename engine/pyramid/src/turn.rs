//! Turns pixels upright.

use edgezoom_codecs::Orientation;

/// Number of upright rows that are written together when rows become columns, so that each stored row fills a cache
/// line or two.
const ROWS_AT_ONCE: usize = 16;

/// Turns stored rows of `N`-byte pixels and writes the upright rows one after the other. All rows must be equally long.
pub fn turn<const N: usize>(rows: &[&[u8]], orientation: Orientation, upright: &mut Vec<u8>) {
    upright.resize(rows.iter().map(|row| row.len()).sum(), 0);
    let (upright, _) = upright.as_chunks_mut::<N>();
    let Some(width) = rows.first().map(|row| row.len() / N).filter(|&width| width > 0) else { return };
    if orientation.swapped {
        transpose(rows, width, orientation, upright);
    } else {
        let row_of = |y: usize| rows[if orientation.from_bottom { rows.len() - 1 - y } else { y }];
        for (y, out) in upright.chunks_exact_mut(width).enumerate() {
            out.copy_from_slice(row_of(y).as_chunks::<N>().0);
            if orientation.from_right {
                out.reverse();
            }
        }
    }
}

/// Turns stored rows of this width into columns.
fn transpose<const N: usize>(
    rows: &[&[u8]],
    width: usize,
    orientation: Orientation,
    upright: &mut [[u8; N]],
) {
    let height = rows.len();
    for (number, band) in upright.chunks_mut(ROWS_AT_ONCE * height).enumerate() {
        let count = band.len() / height;
        let first = number * ROWS_AT_ONCE;
        let start = if orientation.from_right { width - first - count } else { first };
        for x in 0..height {
            let row = rows[if orientation.from_bottom { height - 1 - x } else { x }];
            let pixels = &row.as_chunks::<N>().0[start..start + count];
            let column = band[x..].iter_mut().step_by(height);
            if orientation.from_right {
                column.zip(pixels.iter().rev()).for_each(|(out, pixel)| *out = *pixel);
            } else {
                column.zip(pixels).for_each(|(out, pixel)| *out = *pixel);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_upright_pixel_is_the_stored_one_at_its_place(
            width in 1usize..70, height in 1usize..70, number in 1u32..9,
        ) {
            let orientation = Orientation::from_exif(number);
            let stored: Vec<[u8; 2]> =
                (0..height).flat_map(|y| (0..width).map(move |x| [x as u8, y as u8])).collect();
            let rows: Vec<&[u8]> = stored.chunks(width).map(|row| row.as_flattened()).collect();
            let mut upright = Vec::new();
            turn::<2>(&rows, orientation, &mut upright);
            let upright_width = if orientation.swapped { height } else { width };
            for (index, pixel) in upright.chunks(2).enumerate() {
                let (x, y) = (index % upright_width, index / upright_width);
                let (x, y) = if orientation.swapped { (y, x) } else { (x, y) };
                let x = if orientation.from_right { width - 1 - x } else { x };
                let y = if orientation.from_bottom { height - 1 - y } else { y };
                prop_assert_eq!(pixel, [x as u8, y as u8]);
            }
        }
    }
}
