//! Turned pictures, in their blocks: a block is turned by exchanging its coefficients and changing signs.

use crate::tables::ZIGZAG;

/// The mapping from an upright sample (x, y) to the stored picture: swap x and y, then count from the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// True if a stored row is a column of the upright picture.
    pub swapped: bool,
    /// True if stored columns are counted from the right.
    pub from_right: bool,
    /// True if stored rows are counted from the bottom.
    pub from_bottom: bool,
}

impl Turn {
    /// Returns the stored place, in row order, of each coefficient in zigzag order, and a mask of all bits if its sign changes.
    #[must_use]
    pub(crate) fn coefficients(self) -> [(u8, i16); 64] {
        ZIGZAG.map(|place| {
            let (down, across) = self.of_stored((place / 8, place % 8));
            let changes = self.from_right && across % 2 == 1;
            let changes_again = self.from_bottom && down % 2 == 1;
            ((8 * down + across) as u8, if changes == changes_again { 0 } else { -1 })
        })
    }

    /// Returns the stored row and column of each cell of an upright grid, row by row. The stored grid has this number of rows and
    /// columns.
    pub fn cells(self, (rows, columns): (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
        let (down, across) = self.of_stored((rows, columns));
        (0..down).flat_map(move |row| (0..across).map(move |column| (row, column))).map(move |cell| {
            let (row, column) = self.of_stored(cell);
            (
                if self.from_bottom { rows - 1 - row } else { row },
                if self.from_right { columns - 1 - column } else { column },
            )
        })
    }

    /// Swaps rows and columns if the picture has them swapped.
    fn of_stored(self, (row, column): (usize, usize)) -> (usize, usize) {
        if self.swapped { (column, row) } else { (row, column) }
    }
}
