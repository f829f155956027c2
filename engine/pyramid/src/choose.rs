//! Halves a picture by choosing one of each 2×2 pixels, for pictures whose colours are labels: a mean of two labels would
//! be a third one. Or by choosing each channel's value, for masks, heights and lines that a mean would blur.
//!
//! The choice depends on places, so it is made in the upright picture: a picture that is stored turned has the levels of
//! the same picture stored upright. At an odd edge a pixel stands for the missing one beside it, as in libvips.

use edgezoom_codecs::Layout;

use crate::RegionShrink;
use crate::geometry::Level;

/// Halves two stored rows of the level above into one of `level`. At an odd edge, pass the same row twice.
///
/// `out` must have half the pixels of a row, rounded up.
pub fn choose_rows(
    layout: Layout,
    shrink: RegionShrink,
    level: &Level,
    [upper, lower]: [&[u8]; 2],
    out: &mut [u8],
) {
    match layout {
        Layout::Grey => choose::<1>(shrink, level, upper, lower, out),
        Layout::Rgb => choose::<3>(shrink, level, upper, lower, out),
        Layout::Rgba => choose::<4>(shrink, level, upper, lower, out),
        // Planes have no pixels to choose: the options ask for others.
        Layout::YCbCr420 => {}
    }
}

/// Halves rows of pixels of `N` bytes.
fn choose<const N: usize>(shrink: RegionShrink, level: &Level, upper: &[u8], lower: &[u8], out: &mut [u8]) {
    let (from_right, from_bottom) = (level.columns.from_end, level.rows.from_end);
    // Number of the stored pixel at each place of the upright picture.
    let places = [0, 1, 2, 3].map(|place| {
        let (x, y) = if level.is_swapped { (place / 2, place % 2) } else { (place % 2, place / 2) };
        2 * (y ^ usize::from(from_bottom)) + (x ^ usize::from(from_right))
    });
    let pick: fn([[u8; N]; 4]) -> [u8; N] = match shrink {
        RegionShrink::Mode => mode::<N>,
        RegionShrink::Mean | RegionShrink::Nearest => |[first, ..]| first,
        RegionShrink::Median => |four| by_channel(four, |[a, b, c, d]| a.max(b).min(c.max(d))),
        RegionShrink::Max => |four| by_channel(four, |[a, b, c, d]| a.max(b).max(c).max(d)),
        RegionShrink::Min => |four| by_channel(four, |[a, b, c, d]| a.min(b).min(c).min(d)),
    };
    let (upper, _) = upper.as_chunks::<N>();
    let (lower, _) = lower.as_chunks::<N>();
    let (out, _) = out.as_chunks_mut::<N>();
    // Of an odd number of pixels, the last one of the upright picture is alone.
    let alone = if from_right { upper.len() % 2 } else { 0 };
    let [upper, lower] = [upper, lower].map(|row| {
        let (alone, rest) = row.split_at(alone);
        alone.chunks(2).chain(rest.chunks(2))
    });
    for ((out, above), below) in out.iter_mut().zip(upper).zip(lower) {
        if let (&[first, .., second], &[third, .., fourth]) | (&[first @ second], &[third @ fourth]) =
            (above, below)
        {
            let stored = [first, second, third, fourth];
            *out = pick(places.map(|place| stored[place]));
        }
    }
}

/// Returns the pixel whose channels are chosen one by one.
fn by_channel<const N: usize>(four: [[u8; N]; 4], choice: impl Fn([u8; 4]) -> u8) -> [u8; N] {
    std::array::from_fn(|channel| choice(four.map(|pixel| pixel[channel])))
}

/// Returns the most frequent pixel, of equally frequent ones the one that libvips returns for one channel.
fn mode<const N: usize>([first, second, third, fourth]: [[u8; N]; 4]) -> [u8; N] {
    let is_repeated = |one, others: [_; 3]| others.contains(&one);
    if is_repeated(second, [first, third, fourth]) {
        second
    } else if is_repeated(first, [second, third, fourth]) {
        first
    } else {
        third
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_the_most_frequent_pixel_and_never_another() {
        for first in 0..4u8 {
            for second in 0..4 {
                for third in 0..4 {
                    for fourth in 0..4 {
                        let pixels = [first, second, third, fourth];
                        let count = |one: u8| pixels.iter().filter(|&&pixel| pixel == one).count();
                        let [chosen] = mode(pixels.map(|pixel| [pixel]));
                        let most = pixels.into_iter().map(count).max().unwrap_or_default();
                        assert_eq!(count(chosen), most, "{chosen} of {pixels:?}");
                    }
                }
            }
        }
    }
}
