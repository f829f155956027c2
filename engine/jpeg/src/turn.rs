//! Turned pictures, in their blocks: a block is turned by exchanging its coefficients and changing signs.

use edgezoom_geometry::Orientation;

use crate::tables::ZIGZAG;

/// Returns the stored place, in row order, of each coefficient in zigzag order, and a mask of all bits if its sign changes.
#[must_use]
pub fn coefficients(orientation: Orientation) -> [(u8, i16); 64] {
    ZIGZAG.map(|place| {
        let (down, across) = orientation.exchange((place / 8, place % 8));
        let changes = orientation.from_right && across % 2 == 1;
        let changes_again = orientation.from_bottom && down % 2 == 1;
        ((8 * down + across) as u8, if changes == changes_again { 0 } else { -1 })
    })
}
