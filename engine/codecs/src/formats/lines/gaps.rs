//! Spaces that only the places of letters tell, and gaps that are none.

use super::{AT_GAP, Letter};

/// Gap that is a space although the document has none, as a part of the letters' height, and how many times as wide as
/// those beside it. Lines of justified text have such spaces.
const UNWRITTEN: f64 = 0.18;
const TIMES_WIDER: f64 = 3.0;
/// Minimum number of letters that are set apart evenly, and the widest gap between them, as a multiple of the usual one.
const SPREAD: usize = 4;
const SPREAD_GAP: f64 = 1.6;

/// Gap at which a word begins, as a multiple of the narrowest beside it, and the least one, as a part of the letters'
/// height.
const BESIDE: f64 = 1.2;
const LEAST: f64 = 0.02;

/// Puts spaces at single gaps between letters that otherwise adjoin.
pub fn with_unwritten(letters: Vec<Letter>) -> Vec<Letter> {
    let gap = |index: usize| gap(&letters, index, index + 1);
    let is_single = |index: usize, wide: f64| {
        let beside = [index.checked_sub(1).and_then(gap), gap(index + 1)];
        beside.iter().any(Option::is_some) && beside.iter().flatten().all(|gap| TIMES_WIDER * gap < wide)
    };
    // Letters of scripts without cases have other widths than their places say.
    let is_cased = |letter: char| {
        let is_sign = letter.is_ascii_punctuation() || ('\u{2010}'..='\u{203a}').contains(&letter);
        letter.is_lowercase() || letter.is_uppercase() || letter.is_numeric() || is_sign
    };
    let may_begin = |index: usize| match letters.get(index..index + 2) {
        Some([one, other]) => {
            let (one, other) = (one.letter, other.letter);
            is_cased(one) && is_cased(other) && (other == '(' || other.is_alphanumeric())
        }
        _ => false,
    };
    let is_space = |index: usize| {
        gap(index).is_some_and(|gap| gap > UNWRITTEN && is_single(index, gap) && may_begin(index))
    };
    let with_space = letters.iter().enumerate().flat_map(|(index, letter)| {
        let space = is_space(index).then_some(Letter { letter: AT_GAP, is_hyphen: false, ..*letter });
        [*letter].into_iter().chain(space)
    });
    with_space.collect()
}

/// Removes the gaps of a line whose letters are set apart evenly, as those of headings.
pub fn gathered(mut letters: Vec<Letter>) -> Vec<Letter> {
    let words = || letters.split(|letter| letter.letter.is_whitespace());
    let is_spread = words().count() >= SPREAD
        && words().all(|word| matches!(word, [letter] if letter.letter.is_alphabetic()));
    if !is_spread {
        return letters;
    }
    let gap = |around: &[Letter]| match around {
        [one, space, other] if space.letter == AT_GAP => Some(one.gap(other)),
        _ => None,
    };
    let mut gaps: Vec<f64> = letters.windows(3).filter_map(gap).collect();
    gaps.sort_by(f64::total_cmp);
    let widest = gaps.get(gaps.len() / 2).map_or(0.0, |usual| SPREAD_GAP * usual);
    let is_kept: Vec<bool> =
        letters.windows(3).map(|around| gap(around).is_none_or(|gap| gap > widest)).collect();
    let mut index = 0;
    letters.retain(|_| {
        index += 1;
        // The first window is that around the second letter.
        index < 2 || is_kept.get(index - 2).copied().unwrap_or(true)
    });
    letters
}

/// Removes spaces that are no wider than the gaps between the letters beside them. PDFium adds some where a text ends.
pub fn without_even(mut letters: Vec<Letter>) -> Vec<Letter> {
    let gap = |one: usize, other: usize| gap(&letters, one, other);
    let is_even = |space: usize| {
        let before = space.checked_sub(2).and_then(|before| gap(before, before + 1));
        let beside = [before, gap(space + 1, space + 2)].into_iter().flatten().reduce(f64::min);
        let here = space.checked_sub(1).and_then(|before| gap(before, space + 1));
        here.zip(beside)
            .is_some_and(|(gap, beside)| (-LEAST..BESIDE * beside.max(0.0) + LEAST).contains(&gap))
    };
    let even: Vec<bool> =
        letters.iter().enumerate().map(|(index, letter)| letter.letter == AT_GAP && is_even(index)).collect();
    let mut even = even.into_iter();
    letters.retain(|_| !even.next().unwrap_or(false));
    letters
}

/// Returns the gap between the letters at two places as a part of their height; `None` if one is a space.
fn gap(letters: &[Letter], one: usize, other: usize) -> Option<f64> {
    let (one, other) = (letters.get(one)?, letters.get(other)?);
    let are_seen = !one.letter.is_whitespace() && !other.letter.is_whitespace();
    are_seen.then(|| one.gap(other) / one.height().min(other.height()))
}
