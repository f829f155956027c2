//! Letters with places, and the order in which those of a line are read if some are written from right to left.
//!
//! Source: Unicode Standard Annex #9, the bidirectional algorithm, which is followed backwards: from the order in which
//! letters are seen to that in which they are read.

use std::collections::HashSet;

use unicode_bidi::{BidiClass, bidi_class};

/// Gap up to which letters adjoin, as a part of their height.
const ADJOINING: f64 = 0.1;
/// Number of letters before a mark, one of which bears it.
const BEARERS: usize = 3;

/// A letter, in pixels from the top left of its page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Letter {
    pub letter: char,
    /// Left, top, right, bottom.
    pub at: [f64; 4],
    /// Clockwise angle of its direction, in degrees.
    pub angle: f64,
    /// True for a hyphen that a word has only because it does not fit into the line.
    pub is_hyphen: bool,
}

impl Letter {
    pub fn angle(&self) -> u16 {
        (self.angle.round() as i64).rem_euclid(360) as u16
    }

    /// Returns the two ends along its direction, and the two across.
    pub fn ends(&self) -> ((f64, f64), (f64, f64)) {
        let [left, top, right, bottom] = self.at;
        match self.angle() {
            0 => ((left, right), (top, bottom)),
            90 => ((top, bottom), (-right, -left)),
            180 => ((-right, -left), (-bottom, -top)),
            270 => ((-bottom, -top), (left, right)),
            _ => {
                let (sine, cosine) = self.angle.to_radians().sin_cos();
                let (x, y) = ((left + right) / 2.0, (top + bottom) / 2.0);
                let (along, across) = (x * cosine + y * sine, y * cosine - x * sine);
                // The rectangle encloses a turned letter, which is about as wide as high.
                let half = (right - left).min(bottom - top) / (2.0 * (sine.abs() + cosine.abs()));
                ((along - half, along + half), (across - half, across + half))
            }
        }
    }

    pub fn height(&self) -> f64 {
        let (_, (top, bottom)) = self.ends();
        bottom - top
    }

    /// Returns the gap between two letters along their direction; less than 0 if they overlap.
    pub fn gap(&self, other: &Self) -> f64 {
        let (((start, end), _), ((other_start, other_end), _)) = (self.ends(), other.ends());
        (other_start - end).max(start - other_end)
    }

    /// Returns true if two letters of a line of that height do not adjoin.
    pub fn is_apart(&self, other: &Self, height: f64) -> bool {
        self.gap(other) > ADJOINING * height
    }
}

/// Returns true for letters that are written from right to left (Unicode, Bidi_Class R and AL, by blocks).
pub fn is_rtl(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && letter.is_alphabetic()
}

/// Kinds of letters in a line that is read from right to left.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Backwards,
    Forwards,
    Digit,
    /// It belongs to a number between two digits.
    Separator,
    Other,
}

/// A letter with its marks.
type Cluster = Vec<Letter>;

/// Returns the letters of a line of that height in the order of reading. Letters that are not in the order of their
/// places are put into it, and then `space` stands at gaps.
pub fn in_order(letters: Vec<Letter>, is_rtl_line: bool, height: f64, space: char) -> Vec<Letter> {
    if is_rtl_line {
        return with_brackets(backwards(letters, height, space));
    }
    // Words that are written backwards in a line that is not: PDFium puts the space before them after them.
    let mut ordered: Vec<Letter> = Vec::with_capacity(letters.len());
    let mut rest = &letters[..];
    while let Some(first) = rest.iter().position(|letter| is_rtl(letter.letter)) {
        let (before, words) = rest.split_at(first);
        let is_forwards = |letter: &Letter| bidi_class(letter.letter) == BidiClass::L;
        let end = words.iter().position(is_forwards).unwrap_or(words.len());
        let last = words.iter().take(end).rposition(|letter| is_rtl(letter.letter));
        let (words, after) = words.split_at(last.map_or(end, |last| last + 1));
        let whole = words.iter().copied().reduce(|one, other| Letter { at: around(one.at, other.at), ..one });
        let is_apart = |letter: Option<&Letter>| {
            letter.zip(whole).is_some_and(|(letter, whole)| letter.is_apart(&whole, height))
        };
        ordered.extend(before);
        if is_apart(ordered.last()) {
            ordered.extend(whole.map(|whole| Letter { letter: space, ..whole }));
        }
        ordered.extend(backwards(words.to_vec(), height, space));
        if is_apart(after.first()) {
            ordered.extend(whole.map(|whole| Letter { letter: space, ..whole }));
        }
        rest = after;
    }
    ordered.extend(rest);
    ordered
}

fn backwards(letters: Vec<Letter>, height: f64, space: char) -> Vec<Letter> {
    let is_mark = |letter: &Letter| bidi_class(letter.letter) == BidiClass::NSM;
    let seen = |letters: &[Letter]| {
        letters.iter().filter(|letter| !letter.letter.is_whitespace()).copied().collect::<Vec<_>>()
    };
    let given = seen(&letters);
    let (mut clusters, mut marks): (Vec<Cluster>, Cluster) = (Vec::new(), Vec::new());
    for (index, letter) in given.iter().enumerate() {
        if !is_mark(letter) {
            clusters.push(std::iter::once(*letter).chain(marks.drain(..)).collect());
            continue;
        }
        let next = given.iter().skip(index + 1).find(|next| !is_mark(next)).map(|next| next.gap(letter));
        let bearers = clusters.iter_mut().rev().take(BEARERS);
        let bearers = bearers.filter_map(|cluster| Some((cluster.first()?.gap(letter), cluster)));
        match bearers.min_by(|(gap, _), (other, _)| gap.total_cmp(other)) {
            Some((gap, bearer)) if next.is_none_or(|next| gap <= next) => bearer.push(*letter),
            _ => marks.push(*letter),
        }
    }
    clusters.extend((!marks.is_empty()).then_some(marks));
    let ends = |cluster: &Cluster| cluster.first().map_or((0.0, 0.0), |letter| letter.ends().0);
    clusters.sort_by(|one, other| {
        let ((start, end), (other_start, other_end)) = (ends(one), ends(other));
        other_start.total_cmp(&start).then(other_end.total_cmp(&end))
    });
    // Fonts of Arabic may state widths that leave gaps within words.
    let key = |one: &Letter, other: &Letter| {
        [one.at[0].min(other.at[0]), one.at[0].max(other.at[0])].map(f64::to_bits)
    };
    let pair = |pair: &[Letter]| match pair {
        [one, other] if is_rtl(one.letter) && is_rtl(other.letter) => Some(key(one, other)),
        _ => None,
    };
    let together: HashSet<[u64; 2]> = letters.windows(2).filter_map(pair).collect();
    let mut spaced: Vec<Cluster> = Vec::with_capacity(clusters.len());
    for cluster in clusters {
        if let (Some(last), Some(next)) = (spaced.last().and_then(|last| last.first()), cluster.first())
            && last.is_apart(next, height)
            && !together.contains(&key(last, next))
        {
            spaced.push(vec![Letter { letter: space, ..*last }]);
        }
        spaced.push(cluster);
    }
    turn_forwards(&mut spaced);
    let ordered: Vec<Letter> = spaced.into_iter().flatten().collect();
    // Spaces that the document writes are better than those at gaps.
    let mut ordered = if seen(&ordered) == given { letters } else { ordered };
    for cluster in ordered.chunk_by_mut(|_, next| is_mark(next)) {
        cluster[1..].sort_by_key(|mark| mark.letter); // the canonical order in Hebrew, and nearly so in Arabic
    }
    ordered
}

/// Turns words and numbers that are written from left to right.
fn turn_forwards(clusters: &mut [Cluster]) {
    let class = |cluster: &Cluster| cluster.first().map_or(BidiClass::ON, |letter| bidi_class(letter.letter));
    // Beside letters of Arabic, signs do not belong to numbers.
    let is_arabic = clusters.iter().any(|cluster| class(cluster) == BidiClass::AL);
    let kind = |(index, cluster): (usize, &Cluster)| match class(cluster) {
        BidiClass::R | BidiClass::AL => Kind::Backwards,
        BidiClass::L => Kind::Forwards,
        BidiClass::EN | BidiClass::AN => Kind::Digit,
        BidiClass::CS => Kind::Separator,
        BidiClass::ES if !is_arabic => Kind::Separator,
        BidiClass::ET if !is_arabic => {
            let near = [index.wrapping_sub(1), index + 1].map(|near| clusters.get(near));
            let is_of_number = near.into_iter().flatten().any(|near| class(near) == BidiClass::EN);
            if is_of_number { Kind::Digit } else { Kind::Other }
        }
        _ => Kind::Other,
    };
    let kinds: Vec<Kind> = clusters.iter().enumerate().map(kind).collect();
    let is_forwards = |kind: Kind| matches!(kind, Kind::Forwards | Kind::Digit);
    let mut from = 0;
    while let Some(&first) = kinds.get(from) {
        let (mut end, mut has_letters) = (from + 1, first == Kind::Forwards);
        let after = kinds.iter().enumerate().skip(end).take_while(|(_, kind)| **kind != Kind::Backwards);
        for (index, &kind) in after.filter(|(_, kind)| is_forwards(**kind)) {
            let is_number = index == end || index == end + 1 && kinds.get(end) == Some(&Kind::Separator);
            if !is_forwards(first) || !(is_number || has_letters || kind == Kind::Forwards) {
                break;
            }
            (end, has_letters) = (index + 1, has_letters || kind == Kind::Forwards);
        }
        if let Some(run) = clusters.get_mut(from..end) {
            run.reverse();
        }
        from = end;
    }
}

/// Returns the smallest rectangle that holds both.
pub fn around(one: [f64; 4], other: [f64; 4]) -> [f64; 4] {
    [one[0].min(other[0]), one[1].min(other[1]), one[2].max(other[2]), one[3].max(other[3])]
}

/// Turns the brackets of a line if they match only so: some documents give them as they are seen, others as they are read.
fn with_brackets(mut letters: Vec<Letter>) -> Vec<Letter> {
    const BRACKETS: [char; 6] = ['(', ')', '[', ']', '{', '}'];
    let number = |letter: &Letter| BRACKETS.iter().position(|bracket| *bracket == letter.letter);
    let opens_first = |turned: usize| {
        let mut open = 0;
        letters.iter().filter_map(number).all(|number| {
            open += if number % 2 == turned { 1 } else { -1 };
            open >= 0
        })
    };
    if !opens_first(0) && opens_first(1) {
        for letter in &mut letters {
            letter.letter = number(letter).map_or(letter.letter, |number| BRACKETS[number ^ 1]);
        }
    }
    letters
}
