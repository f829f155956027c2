//! The orientation of a picture, from EXIF or from TIFF's own tag.
//!
//! ```text
//! 1 upright     2 mirrored               3 rotated by 180°   4 flipped upside down
//! 5 transposed  6 rotate 90° clockwise   7 transversed       8 rotate 270° clockwise
//! ```
//!
//! Source: CIPA DC-008 (Exif 2.3), 4.6.4, tag 274; TIFF 6.0, section 8.

use crate::Size;

/// The mapping from an upright pixel (x, y) to the stored picture: swap x and y, then count from the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orientation {
    /// True if a stored row is a column of the upright picture.
    pub swapped: bool,
    /// True if stored columns are counted from the right.
    pub from_right: bool,
    /// True if stored rows are counted from the bottom.
    pub from_bottom: bool,
}

impl Orientation {
    /// The orientation of a picture that is stored upright.
    pub const UPRIGHT: Self = Self { swapped: false, from_right: false, from_bottom: false };

    /// Returns the orientation for an EXIF value, 1 to 8. Other values count as upright.
    #[must_use]
    pub fn from_exif(number: u32) -> Self {
        let (swapped, from_right, from_bottom) = match number {
            2 => (false, true, false),
            3 => (false, true, true),
            4 => (false, false, true),
            5 => (true, false, false),
            6 => (true, false, true),
            7 => (true, true, true),
            8 => (true, true, false),
            _ => return Self::UPRIGHT,
        };
        Self { swapped, from_right, from_bottom }
    }

    /// Returns the orientation of the stored picture if its upright picture has the orientation `next` in turn.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        let [right, bottom] = if self.swapped {
            [next.from_bottom, next.from_right]
        } else {
            [next.from_right, next.from_bottom]
        };
        Self {
            swapped: self.swapped != next.swapped,
            from_right: self.from_right != right,
            from_bottom: self.from_bottom != bottom,
        }
    }

    /// Converts between the sizes of the upright and the stored picture, either way.
    #[must_use]
    pub fn turned(self, Size { width, height }: Size) -> Size {
        if self.swapped { Size { width: height, height: width } } else { Size { width, height } }
    }

    /// Returns true if turning keeps together the 2×2 pixels that share a sample of chroma. It does not if they are counted
    /// from the end of an odd side.
    #[must_use]
    pub fn keeps_chroma(self, stored: Size) -> bool {
        let is_odd = |is_from_end: bool, side: u32| is_from_end && !side.is_multiple_of(2);
        !is_odd(self.from_right, stored.width) && !is_odd(self.from_bottom, stored.height)
    }

    /// Returns the stored row and column of each cell of an upright grid, row by row. The stored grid has this number of rows and
    /// columns.
    pub fn cells(self, (rows, columns): (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
        let (down, across) = self.exchange((rows, columns));
        (0..down).flat_map(move |row| (0..across).map(move |column| (row, column))).map(move |cell| {
            let (row, column) = self.exchange(cell);
            (
                if self.from_bottom { rows - 1 - row } else { row },
                if self.from_right { columns - 1 - column } else { column },
            )
        })
    }

    /// Exchanges a row and a column if the picture has them swapped.
    #[must_use]
    pub fn exchange(self, (row, column): (usize, usize)) -> (usize, usize) {
        if self.swapped { (column, row) } else { (row, column) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the stored position of an upright pixel.
    fn stored_at(orientation: Orientation, stored: Size, (x, y): (u32, u32)) -> (u32, u32) {
        let (x, y) = if orientation.swapped { (y, x) } else { (x, y) };
        let x = if orientation.from_right { stored.width - 1 - x } else { x };
        (x, if orientation.from_bottom { stored.height - 1 - y } else { y })
    }

    #[test]
    fn turning_twice_is_one_orientation() {
        let stored = Size { width: 3, height: 2 };
        let all = || (1..=8).map(Orientation::from_exif);
        for (first, next) in all().flat_map(|first| all().map(move |next| (first, next))) {
            let upright = first.turned(stored);
            let Size { width, height } = next.turned(upright);
            assert_eq!(first.then(next).turned(stored), Size { width, height });
            for pixel in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let expected = stored_at(first, stored, stored_at(next, upright, pixel));
                assert_eq!(stored_at(first.then(next), stored, pixel), expected, "{first:?} {next:?}");
            }
        }
    }
}
