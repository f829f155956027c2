//! Clusters of Indic, Thai, Khmer and Arabic letters: one or several texts draw them, and the document spells their letters
//! (ActualText). PDFium gives these letters again for a text that it reads apart from the others of the cluster, takes the
//! first text's ink for the place of all, and leaves out spaces, which have no ink.
//!
//! Source: ISO 32000-1, 14.9.4; PDFium, `cpdf_textpage.cpp`.

use pdfium_render::prelude::{PdfPage, PdfPageObject, PdfPageObjectCommon, PdfPageObjectsCommon};

use super::coordinates::ToPage;
use crate::formats::lines::{Letter, Space, around};

/// Number of clusters before one that may be the same, drawn by other texts.
const NEAR: usize = 4;
/// Distance of texts of a cluster, as a part of their size.
const NEAR_BY: f64 = 2.0;
/// Gap between the ink of letters of a word, as a part of their height.
const LARGEST_BEARING: f64 = 0.3;
/// Difference of the sizes of what is not the same ink.
const OTHER_INK: f64 = 0.05;

/// Returns true for letters of South and Southeast Asia, which form clusters (Unicode, by blocks).
pub fn is_clustered(letter: char) -> bool {
    matches!(letter, '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1a20}'..='\u{1aad}' | '\u{a980}'..='\u{aaff}')
}

/// A cluster.
struct Cluster {
    letters: String,
    origin: (f64, f64),
    at: [f64; 4],
    /// Number of letters and spaces of the page before it.
    first: usize,
}

/// The clusters before a letter.
#[derive(Default)]
pub struct Clusters(Vec<Cluster>);

impl Clusters {
    /// Adds a letter with the origin of its text, before which are that many letters and spaces. Returns how many of
    /// them remain, because the last cluster was one once more.
    pub fn push(&mut self, letter: &Letter, origin: (f64, f64), count: usize) -> usize {
        match self.0.last_mut().filter(|last| last.origin == origin) {
            Some(last) => {
                last.letters.push(letter.letter);
                last.at = around(last.at, letter.at);
                count
            }
            None => {
                let remaining = self.end().unwrap_or(count);
                let letters = letter.letter.to_string();
                self.0.push(Cluster { letters, origin, at: letter.at, first: remaining });
                remaining
            }
        }
    }

    /// Ends the last cluster. Returns the number of letters and spaces before it if it was one once more.
    pub fn end(&mut self) -> Option<usize> {
        let (last, before) = self.0.split_last()?;
        let is_repeated = before.iter().rev().take(NEAR).any(|before| last.repeats(before));
        if is_repeated { self.0.pop().map(|last| last.first) } else { None }
    }
}

impl Cluster {
    /// Returns true if it is the rest of another cluster. A cluster that stands twice in a word has the same ink.
    fn repeats(&self, other: &Self) -> bool {
        let ([left, top, right, bottom], [other_left, other_top, other_right, other_bottom]) =
            (self.at, other.at);
        let differs = |one: f64, other: f64| (one - other).abs() > OTHER_INK * one.max(other);
        let is_other_ink = differs(right - left, other_right - other_left)
            || differs(bottom - top, other_bottom - other_top);
        let size = [right - left, bottom - top, other_right - other_left, other_bottom - other_top];
        let near = NEAR_BY * size.into_iter().fold(0.0, f64::max);
        let is_near = (self.origin.0 - other.origin.0).abs() < near
            && (self.origin.1 - other.origin.1).abs() < near / 3.0;
        // Single letters have other forms within words, but do not lie one above the other.
        let is_above = right.min(other_right) - left.max(other_left)
            > (right - left).min(other_right - other_left) / 2.0;
        let is_cluster = self.letters.chars().nth(1).is_some();
        self.letters == other.letters && is_other_ink && is_near && (is_cluster || is_above)
    }
}

/// The places of a page's texts from left to right. Those of spaces are points.
pub struct Ink(Vec<[f64; 4]>);

impl Ink {
    pub fn of(page: &PdfPage<'_>, to_page: &ToPage) -> Self {
        let texts = page.objects().iter().filter_map(|object| match object {
            PdfPageObject::Text(text) => text.bounds().ok().map(|at| to_page.rect(&at.to_rect())),
            _ => None,
        });
        let mut texts: Vec<[f64; 4]> = texts.collect();
        texts.sort_by(|one, other| one[0].total_cmp(&other[0]));
        Self(texts)
    }

    /// Returns the space between two letters of a line, `None` if they adjoin, and the end of the ink of the first one's
    /// cluster.
    pub fn space(&self, last: &Letter, next: &Letter) -> (Option<Space>, f64) {
        let ([start, _, mut end, _], [next_start, ..]) = (last.at, next.at);
        let line = around(last.at, next.at);
        let height = line[3] - line[1];
        let is_level = |at: &&[f64; 4]| (line[1]..=line[3]).contains(&((at[1] + at[3]) / 2.0));
        let first = self.0.partition_point(|at| at[0] < start - NEAR_BY * height);
        let before = self.0.iter().skip(first).take_while(|at| at[0] <= next_start);
        let mut is_written = false;
        for at in before.filter(is_level) {
            if at[0] == at[2] {
                is_written |= at[0] > start;
            } else if at[0] + at[2] < 2.0 * next_start {
                end = end.max(at[2].min(next_start));
            }
        }
        let is_gap = next_start - end > LARGEST_BEARING * height;
        (if is_written { Some(Space::Written) } else { is_gap.then_some(Space::AtGap) }, end)
    }
}
