//! Columns of prose that a document draws row by row.

use super::{NEXT_LINE, Row, is_level};

/// Minimum number of lines of columns that are drawn row by row, of words in each, and the least that a usual line of a
/// column takes of its width. Tables have fewer words in their cells.
const COLUMN_LINES: usize = 4;
const COLUMN_WORDS: f64 = 3.0;
const COLUMN_FILLED: f64 = 0.7;

/// Puts columns of prose that are drawn row by row one after the other.
pub fn by_columns(rows: Vec<Row>) -> Vec<Row> {
    let ends = |row: &Row| row.whole.ends();
    let is_beside = |one: &Row, other: &Row| {
        one.whole.angle() == other.whole.angle()
            && is_level(&one.whole, &other.whole)
            && ends(one).0.1 < ends(other).0.0
    };
    let bands: Vec<&[Row]> = rows.chunk_by(is_beside).collect();
    let goes_on = |one: &&[Row], other: &&[Row]| {
        let is_below = |(one, other): (&Row, &Row)| {
            let (((start, _), (top, bottom)), ((next_start, _), (next_top, _))) = (ends(one), ends(other));
            let height = one.whole.height();
            (start - next_start).abs() < NEXT_LINE * height && next_top > top && next_top - bottom < height
        };
        one.len() > 1 && one.len() == other.len() && one.iter().zip(*other).all(is_below)
    };
    let is_prose = |bands: &[&[Row]], column: usize| {
        let lines = || bands.iter().filter_map(|band| band.get(column));
        let count = bands.len() as f64;
        let words =
            lines().map(|row| row.letters.iter().filter(|letter| letter.letter.is_whitespace()).count() + 1);
        let widths = || lines().map(|row| ends(row).0.1 - ends(row).0.0);
        words.sum::<usize>() as f64 >= COLUMN_WORDS * count
            && widths().sum::<f64>() >= COLUMN_FILLED * count * widths().fold(0.0, f64::max)
    };
    let mut places = Vec::with_capacity(rows.len());
    for (number, bands) in bands.chunk_by(goes_on).enumerate() {
        let columns = bands.first().map_or(0, |band| band.len());
        let is_turned = bands.len() >= COLUMN_LINES && (0..columns).all(|column| is_prose(bands, column));
        for band in bands {
            places.extend((0..band.len()).map(|column| (number, if is_turned { column } else { 0 })));
        }
    }
    let mut placed: Vec<((usize, usize), Row)> = places.into_iter().zip(rows).collect();
    // The sort is stable: lines of a column keep their order.
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, row)| row).collect()
}
