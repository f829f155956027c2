//! The rows of a page that are compared. Of a page with many segments, only bands of rows are: a font or picture that the
//! interpreter draws otherwise is seldom in one place alone.

/// Number of segments that are drawn for a comparison: of all rows, or of bands in which there may be about as many.
const SEGMENTS: usize = 1 << 18;
/// Rows of a band: some lines of text.
const BAND: usize = 128;

/// Bands of rows: one of this number.
#[derive(Clone, Copy)]
pub struct Bands(usize);

impl Bands {
    /// All rows.
    pub const ALL: Self = Self(1);

    /// Returns those in which a page with this number of segments is compared.
    pub fn for_segments(segments: usize) -> Self {
        Self(segments.div_ceil(SEGMENTS).max(1))
    }

    /// Returns true if a row is in a band.
    pub fn contain(self, row: usize) -> bool {
        (row / BAND).is_multiple_of(self.0)
    }

    /// Returns true if one of the rows from the first to the last is in a band.
    pub fn touch(self, first: usize, last: usize) -> bool {
        let before = first / BAND;
        last / BAND - before >= self.0 || (before..=last / BAND).any(|band| band.is_multiple_of(self.0))
    }
}
