//! Divides the CSS of a drawing into rules, declarations and functions. It keeps their places in the text, so that a part
//! can be replaced, and goes on behind what is malformed.
//!
//! Source: CSS Syntax Module Level 3.

use std::ops::Range;

/// Iterates over the names of the functions in a value, in lower case. What is in `url()` and in strings is skipped.
pub fn functions(value: &str) -> impl Iterator<Item = String> {
    let bytes = value.as_bytes();
    let (mut at, mut start) = (0, 0);
    std::iter::from_fn(move || {
        while at < bytes.len() {
            match bytes[at] {
                b'"' | b'\'' => {
                    at = string_end(bytes, at);
                    start = at;
                }
                b'(' => {
                    let name = value.get(start..at).unwrap_or_default().to_ascii_lowercase();
                    at += 1;
                    if name == "url" {
                        at = bytes[at..]
                            .iter()
                            .position(|byte| *byte == b')')
                            .map_or(bytes.len(), |end| at + end + 1);
                    }
                    start = at;
                    if !name.is_empty() {
                        return Some(name);
                    }
                }
                byte => {
                    at += 1;
                    if !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
                        start = at;
                    }
                }
            }
        }
        None
    })
}

/// Returns the offset behind a string that begins at an offset.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 2,
            byte if byte == bytes[at] => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// Returns the offset of a byte at or behind `from`, outside of strings, comments, brackets and blocks that begin
/// there.
pub fn next_outside(css: &str, from: usize, wanted: u8) -> Option<usize> {
    let bytes = css.as_bytes();
    let (mut at, mut depth) = (from, 0_usize);
    while at < bytes.len() {
        let byte = bytes[at];
        if depth == 0 && byte == wanted {
            return Some(at);
        }
        match byte {
            b'"' | b'\'' => {
                at = string_end(bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = css
                    .get(at + 2..)
                    .and_then(|rest| rest.find("*/"))
                    .map_or(bytes.len(), |end| at + 2 + end + 2);
                continue;
            }
            b'\\' => at += 1,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

pub fn has_block(css: &str) -> bool {
    next_outside(css, 0, b'{').is_some()
}

/// A declaration of a block.
pub struct Declaration<'a> {
    /// Empty for a piece that is no declaration.
    pub name: &'a str,
    /// Value without `!important`.
    pub value: &'a str,
    /// Range of both.
    pub range: Range<usize>,
    /// Range of the whole, with the semicolon behind it.
    pub whole: Range<usize>,
}

/// Iterates over the declarations of a block, and over the pieces between semicolons that are none.
pub fn declarations(block: &str) -> impl Iterator<Item = Declaration<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        if block.get(from..).is_none_or(|rest| rest.trim().is_empty()) {
            return None;
        }
        let end = next_outside(block, from, b';').unwrap_or(block.len());
        let whole = from..(end + 1).min(block.len());
        let (start, piece) = without_comments(from, block.get(from..end).unwrap_or_default());
        from = end + 1;
        let (name, value) = piece.split_once(':').unwrap_or_default();
        if has_block(piece) {
            return Some(Declaration { name: "--", value: "", range: start..start, whole }); // a rule
        }
        let important = value.rfind('!').filter(|at| value[*at..].to_ascii_lowercase().contains("important"));
        let plain = important.map_or(value, |at| &value[..at]);
        let end = if name.is_empty() { start } else { start + name.len() + 1 + plain.trim_end().len() };
        Some(Declaration { name: name.trim(), value: plain.trim(), range: start..end, whole })
    })
}

/// Skips white space and comments at the start of a piece of CSS.
fn without_comments(mut start: usize, mut piece: &str) -> (usize, &str) {
    loop {
        let trimmed = piece.trim_start();
        start += piece.len() - trimmed.len();
        piece = trimmed;
        match piece.strip_prefix("/*").and_then(|comment| comment.find("*/")) {
            Some(end) => {
                start += end + 4;
                piece = &piece[end + 4..];
            }
            None => return (start, piece),
        }
    }
}

/// A rule of a style sheet.
pub struct Rule<'a> {
    pub prelude: &'a str,
    /// The range between its braces; `None` for a rule that ends with a semicolon.
    pub block: Option<Range<usize>>,
}

/// The rules of a style sheet.
pub struct Rules<'a> {
    css: &'a str,
    from: usize,
}

impl<'a> Rules<'a> {
    pub fn new(css: &'a str) -> Self {
        Self { css, from: 0 }
    }
}

impl<'a> Iterator for Rules<'a> {
    type Item = Rule<'a>;

    fn next(&mut self) -> Option<Rule<'a>> {
        let (start, rest) = without_comments(self.from, self.css.get(self.from..)?);
        if rest.is_empty() {
            return None;
        }
        let open = next_outside(self.css, start, b'{');
        let semicolon = if rest.starts_with('@') { next_outside(self.css, start, b';') } else { None };
        if let Some(semicolon) = semicolon.filter(|at| open.is_none_or(|open| *at < open)) {
            self.from = semicolon + 1;
            return Some(Rule { prelude: self.css.get(start..semicolon)?, block: None });
        }
        let open = open?;
        let close = next_outside(self.css, open + 1, b'}').unwrap_or(self.css.len());
        self.from = close + 1;
        Some(Rule { prelude: self.css.get(start..open)?.trim_end(), block: Some(open + 1..close) })
    }
}
