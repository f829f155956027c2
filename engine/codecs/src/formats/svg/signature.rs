//! Recognises an SVG by the name of its root element, after any declarations and comments.

use std::borrow::Cow;

/// Returns true for the first bytes of an SVG, or of a gzipped file (RFC 1952, 2.3.1: two bytes of identification, then
/// 8 for deflate). Its content is only known when it is decompressed.
pub fn is_svg(head: &[u8]) -> bool {
    if head.starts_with(&[0x1f, 0x8b, 8]) {
        return true;
    }
    root(&ascii(head)).is_some_and(is_svg_name)
}

/// Returns true if these bytes of a file are declarations and comments without an end, so that an SVG may follow.
pub fn may_be_svg(head: &[u8]) -> bool {
    let text = ascii(head);
    text.trim_ascii_start().starts_with(b"<") && root(&text).is_none()
}

/// Returns the name of the first element and what follows, if declarations and comments end before.
fn root(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let end: &[u8] = match rest {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'!', ..] => match (find(rest, b"["), find(rest, b">")) {
                // A document type whose declarations are in brackets: they contain angle brackets, too.
                (Some(bracket), Some(angle)) if bracket < angle => b"]>",
                _ => b">",
            },
            [b'<', name @ ..] if !name.is_empty() => return Some(name),
            _ => return None,
        };
        rest = &rest[find(rest, end)? + end.len()..];
    }
}

/// Returns the text without its byte order mark. UTF-16 without its zeros is close enough to ASCII to find an element
/// in it.
fn ascii(head: &[u8]) -> Cow<'_, [u8]> {
    match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..] => {
            head.iter().copied().filter(|&byte| !matches!(byte, 0 | 0xfe | 0xff)).collect()
        }
        _ => head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).into(),
    }
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}

/// Returns true if the element's name is `svg`, with or without a namespace prefix.
fn is_svg_name(text: &[u8]) -> bool {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    let name = text.split(ends).next().unwrap_or_default();
    name.rsplit(|&byte| byte == b':').next() == Some(b"svg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_svg_is_recognised_by_its_root_element_after_comments_and_declarations() {
        let with_entities = "<?xml version='1.0'?>\n<!-- a <html> in a comment -->\n\
            <!DOCTYPE svg PUBLIC \"a\" \"b\" [\n\
            <!ENTITY ns_svg \"http://www.w3.org/2000/svg\">\n]>\n<svg xmlns='&ns_svg;'>";
        let utf_16: Vec<u8> = "\u{feff}<svg/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for svg in [
            b"<svg>".as_slice(),
            b"\xef\xbb\xbf \n<svg/>",
            b"<svg:svg xmlns:svg='http://www.w3.org/2000/svg'>",
            b"<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"svg11.dtd\">\n<svg\n width='1'>",
            with_entities.as_bytes(),
            &utf_16,
            b"\x1f\x8b\x08\x00",
        ] {
            assert!(is_svg(svg), "{}", svg.escape_ascii());
        }
    }

    #[test]
    fn an_svg_may_follow_declarations_without_an_end() {
        for head in ["<!-- a licence", "<?xml version='1.0'?> <!-- a", "<!DOCTYPE svg [ <!ENTITY a 'b'>", "<"]
        {
            assert!(may_be_svg(head.as_bytes()), "{head}");
        }
        for head in ["", "text", "<html>", "<!-- a --><html", "\u{89}PNG"] {
            assert!(!may_be_svg(head.as_bytes()), "{head}");
        }
    }

    #[test]
    fn other_markup_is_not_an_svg() {
        for text in [
            "<html><svg>",
            "<!DOCTYPE html>\n<html><body><svg>",
            "<?xml version='1.0'?><feed>",
            "<!-- <svg> without an end",
            "<svgs>",
            "svg",
            "<",
        ] {
            assert!(!is_svg(text.as_bytes()), "{text}");
        }
    }
}
