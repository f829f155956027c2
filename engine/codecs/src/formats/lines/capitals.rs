//! Large capitals at the beginning of a paragraph.

use edgezoom_text::{Block, Line, Rect};

use super::LARGE_CAPITAL;

/// Gap after such a capital, as a part of its height.
const AFTER_CAPITAL: f64 = 0.4;

/// Puts large capitals at the beginning of a paragraph into its first word.
pub fn put_capitals(blocks: &mut Vec<Block>) {
    let mut index = 1;
    while let Some([before, block]) = blocks.get_mut(index - 1..=index) {
        let is_put = match (&before.lines[..], block.lines.first_mut()) {
            ([capital], Some(line)) => put_capital(capital, line),
            _ => false,
        };
        if is_put {
            blocks.remove(index - 1);
        } else {
            index += 1;
        }
    }
}

fn put_capital(capital: &Line, line: &mut Line) -> bool {
    let mut letters = capital.text.chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none();
    let (large, small) = (capital.at, line.at);
    let height = f64::from(large.height);
    let gap = (f64::from(small.left) - f64::from(large.left + large.width)) / height;
    let middle = small.top + small.height / 2;
    let is_beside =
        (-0.1..AFTER_CAPITAL).contains(&gap) && (large.top..large.top + large.height).contains(&middle);
    let is_large = height >= LARGE_CAPITAL * f64::from(small.height);
    if !(is_capital && is_large && is_beside && line.text.starts_with(char::is_lowercase) && line.angle == 0)
    {
        return false;
    }
    line.text.insert_str(0, &capital.text);
    line.at =
        Rect { left: large.left, width: (small.left + small.width).saturating_sub(large.left), ..small };
    if let [first, width, ..] = &mut line.spans[..] {
        *width += *first + small.left as i32 - large.left as i32;
        *first = 0;
    }
    true
}
