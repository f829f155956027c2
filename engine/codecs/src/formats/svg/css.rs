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

/// A piece of a block, up to the next semicolon.
pub enum Piece<'a> {
    Declaration(Declaration<'a>),
    /// The range of what CSS drops, with the semicolon behind it.
    Malformed(Range<usize>),
}

/// A declaration of a block.
pub struct Declaration<'a> {
    pub name: &'a str,
    /// Value without `!important`.
    pub value: &'a str,
    /// Range of both.
    pub range: Range<usize>,
    /// Range of the whole, with the semicolon behind it.
    pub whole: Range<usize>,
}

/// Iterates over the declarations of a block.
pub fn declarations(block: &str) -> impl Iterator<Item = Declaration<'_>> {
    pieces(block).filter_map(|piece| match piece {
        Piece::Declaration(declaration) => Some(declaration),
        Piece::Malformed(_) => None,
    })
}

/// Iterates over the pieces of a block. Rules in it are skipped, with what follows up to a semicolon.
pub fn pieces(block: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while block.get(from..).is_some_and(|rest| !rest.trim().is_empty()) {
            let end = next_outside(block, from, b';').unwrap_or(block.len());
            let whole = from..(end + 1).min(block.len());
            let (start, piece) = without_comments(from, block.get(from..end).unwrap_or_default());
            from = end + 1;
            if !has_block(piece) {
                return Some(declaration(start, piece, whole.clone()).unwrap_or(Piece::Malformed(whole)));
            }
        }
        None
    })
}

/// Returns the declaration that begins at an offset, if the piece there is one.
fn declaration(start: usize, piece: &str, whole: Range<usize>) -> Option<Piece<'_>> {
    let (name, value) = piece.split_once(':').filter(|(name, _)| !name.trim().is_empty())?;
    let important = value.rfind('!').filter(|at| value[*at..].to_ascii_lowercase().contains("important"));
    let plain = important.map_or(value, |at| &value[..at]);
    let range = start..start + name.len() + 1 + plain.trim_end().len();
    Some(Piece::Declaration(Declaration { name: name.trim(), value: plain.trim(), range, whole }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_declarations_malformed_pieces_and_rules_that_are_skipped() {
        let block =
            " fill : red !IMPORTANT; /* a;b */ font:9px 'a;b' ;nonsense; :red; g{fill:blue} x:y;--a:b";
        let pieces: Vec<_> = pieces(block)
            .map(|piece| match piece {
                Piece::Declaration(it) => (it.name, it.value, &block[it.range]),
                Piece::Malformed(whole) => ("", "", &block[whole]),
            })
            .collect();
        let expected = [
            ("fill", "red", "fill : red"),
            ("font", "9px 'a;b'", "font:9px 'a;b'"),
            ("", "", "nonsense;"),
            ("", "", " :red;"),
            ("--a", "b", "--a:b"),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn rules_end_at_their_braces_and_statements_at_a_semicolon() {
        let css = "/* { */ @import 'a;b';a, b{c:'}'} @media x{d{e:f}} g{h:i";
        let rules: Vec<_> =
            Rules::new(css).map(|rule| (rule.prelude, rule.block.map(|at| &css[at]))).collect();
        let expected = [
            ("@import 'a;b'", None),
            ("a, b", Some("c:'}'")),
            ("@media x", Some("d{e:f}")),
            ("g", Some("h:i")),
        ];
        assert_eq!(rules, expected);
    }

    #[test]
    fn functions_are_found_within_each_other_but_not_in_urls_and_strings() {
        let found: Vec<_> = functions("CALC(1px + var(--a)) url(b(c) 'd(e)' (f) g").collect();
        assert_eq!(found, ["calc", "var", "url"]);
    }
}
