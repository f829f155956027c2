//! The part that a picture lacks, because its file is damaged, too long or needs a browser, or because its server offers
//! less, and the sentence that says so.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::DrawingFeatures;

/// The part that a picture lacks. Displays as a sentence for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damage {
    /// All rows from one on, in the order in which the file stores them: an interlaced picture, or one stored from the
    /// bottom up, lacks others.
    FromRow {
        /// The first incomplete row, counted from 0.
        row: u32,
        /// Number of rows that the file should have.
        rows: u32,
    },
    /// Some of the pixels, or of their detail.
    Partial,
    /// These features of a drawing, for lack of a browser.
    NotDrawn(DrawingFeatures),
    /// The pages of a document after the first ones.
    MorePages {
        /// Number of pages in the picture.
        shown: u32,
        /// Number of pages of the document.
        total: u32,
    },
    /// Pixels on the longer side that its server states, but does not offer.
    Smaller(u32),
}

impl Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromRow { row, rows } => write!(
                f,
                "The file is damaged: from row {} of {} on nothing could be read.",
                grouped(u64::from(*row) + 1),
                grouped(u64::from(*rows))
            ),
            Self::Partial => f.write_str("The file is damaged: some of its pixels could not be read."),
            Self::NotDrawn(features) => {
                write!(f, "Some parts of the drawing need a browser and may be missing: {features}.")
            }
            Self::MorePages { shown, total } => write!(
                f,
                "The document has {} pages: the first {} are shown.",
                grouped((*total).into()),
                grouped((*shown).into())
            ),
            Self::Smaller(side) => write!(
                f,
                "The server states {} pixels on the longer side, but offers the picture only in this size.",
                grouped((*side).into())
            ),
        }
    }
}

/// Returns a number with its thousands separated: 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_a_sentence_that_counts_rows_from_one() {
        let sentence = |row, rows| Damage::FromRow { row, rows }.to_string();
        assert_eq!(
            sentence(3011, 4000),
            "The file is damaged: from row 3,012 of 4,000 on nothing could be read."
        );
        assert_eq!(sentence(7, 120), "The file is damaged: from row 8 of 120 on nothing could be read.");
        assert!(sentence(u32::MAX, u32::MAX).contains("4,294,967,296 of 4,294,967,295"));
        let html = Damage::NotDrawn(DrawingFeatures::HTML);
        assert_eq!(
            html.to_string(),
            "Some parts of the drawing need a browser and may be missing: HTML inside the drawing."
        );
        let more = Damage::MorePages { shown: 1000, total: 1352 };
        assert_eq!(more.to_string(), "The document has 1,352 pages: the first 1,000 are shown.");
        assert_eq!(
            Damage::Smaller(9000).to_string(),
            "The server states 9,000 pixels on the longer side, but offers the picture only in this size."
        );
        assert!(sentence(999_999, 1_234_567).contains("1,000,000 of 1,234,567"));
    }
}
