//! The space between two lines of a block; none within divided words, compounds and URLs, and among wide letters.

use crate::SOFT_HYPHEN;

/// Words before which a hyphen at a line's end stands for a part that comes later, as in "pre- and post-war".
const SUSPENDING: [&str; 5] = ["and", "bis", "oder", "or", "und"];

/// Returns the text between two lines. `gap` in `edge/text/document.js` does the same.
pub(crate) fn gap(before: &str, after: &str) -> &'static str {
    if let Some(divided) = before.strip_suffix(SOFT_HYPHEN) {
        // Between numbers a hyphen that divides them is their own.
        let is_digit = |character: char| character.is_ascii_digit();
        return if divided.ends_with(is_digit) && after.starts_with(is_digit) { "-" } else { "" };
    }
    let word = before.strip_suffix(|last| matches!(last, '-' | '\u{2010}'..='\u{2015}'));
    let is_compound = word.is_some_and(|word| !word.is_empty() && !word.ends_with([' ', '-']));
    let are_wide = before.trim_end_matches(is_sign).ends_with(is_wide)
        && after.trim_start_matches(is_sign).starts_with(is_wide);
    if are_wide || is_compound && !is_suspending(after) { "" } else { " " }
}

fn is_suspending(line: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
    SUSPENDING.iter().filter_map(|word| line.strip_prefix(word)).any(|rest| !goes_on(rest))
}

/// Returns true for Han, kana and full-width letters.
fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff01}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns true for signs that are as wide among these.
fn is_sign(sign: char) -> bool {
    matches!(sign, '—' | '‘'..='”' | '…')
}

#[cfg(test)]
mod tests {
    use crate::{Block, Line, Rect, Role};

    /// Lines and what is read, in the tests of the viewer too.
    const CASES: &str = include_str!("joins.json");

    #[test]
    fn lines_are_joined_as_they_are_read() {
        let cases: Vec<[String; 3]> = serde_json::from_str(CASES).unwrap();
        for [before, after, expected] in cases {
            let lines = [&before, &after].map(|text| Line::new(Rect::new(0, 0, 9, 9), text.as_str(), vec![]));
            assert_eq!(Block::lines(Role::P, lines.into()).joined(), expected, "{before} {after}");
        }
    }
}
