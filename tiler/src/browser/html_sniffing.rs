//! Whether a download is a web page, by its first bytes and what its server calls it. Bytes are compared, nothing is parsed.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use edgezoom_codecs::Format;

/// How much of a file is looked at. Licences stand in comments before the first element.
const HEAD: usize = 16 << 10;

/// What the HTML of a page may have that is shown whatever its server calls it. Browsers are slow with a tenth of it.
const MOST_HTML: u64 = 32 << 20;

/// A download that is a web page: what is shown if the browser is told that it is something else.
#[derive(Clone, Debug)]
pub struct Html {
    pub(super) bytes: Vec<u8>,
    /// The encoding that its server names.
    pub(super) charset: Option<String>,
}

impl Html {
    /// A download as a web page, if it is one: if it begins as HTML does, or is text that its server calls HTML and no
    /// picture or document that can be read as such. Leaves the file at its start.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn recognise(file: &mut File, content_type: Option<&str>) -> io::Result<Option<Self>> {
        if !is_page(file, content_type)? {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let length = file.metadata()?.len();
        if length <= MOST_HTML {
            bytes.resize(length as usize, 0);
            file.read_exact_at(&mut bytes, 0)?;
        }
        Ok(Some(Self { bytes, charset: content_type.and_then(charset) }))
    }
}

/// The elements and the declaration by which HTML is known, in lower case.
/// Source: <https://mimesniff.spec.whatwg.org/#identifying-a-resource-with-an-unknown-mime-type>.
const HTML: [&[u8]; 17] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
    b"<meta",
];

/// Whether a file is a web page: it begins as HTML does; or it is text that its server calls HTML, and no picture or document
/// that can be read as such.
fn is_page(file: &mut File, content_type: Option<&str>) -> io::Result<bool> {
    let mut head = vec![0; HEAD];
    let read = file.read_at(&mut head, 0)?;
    let head = head.get(..read).unwrap_or_default();
    Ok(begins_as_html(head)
        || (is_called_html(content_type) && is_text(head) && Format::sniff(file).is_err()))
}

fn begins_as_html(head: &[u8]) -> bool {
    let head = narrowed(head);
    let start = first_element(&head);
    HTML.iter().any(|tag| begins(start, tag))
}

fn is_called_html(content_type: Option<&str>) -> bool {
    let called = content_type.map(media_type).unwrap_or_default();
    ["text/html", "application/xhtml+xml"].iter().any(|name| called.eq_ignore_ascii_case(name))
}

/// What a `Content-Type` says without its parameters.
pub(super) fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// The encoding that a `Content-Type` names.
fn charset(content_type: &str) -> Option<String> {
    let parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let named = parameters.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let value = named?.1.trim().trim_matches('"');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'+');
    (!value.is_empty() && value.bytes().all(plain)).then(|| value.to_owned())
}

/// UTF-16 without its zeros is close enough to ASCII to find a tag in it.
fn narrowed(head: &[u8]) -> Cow<'_, [u8]> {
    match head {
        [0xff, 0xfe, rest @ ..] | [0xfe, 0xff, rest @ ..] => {
            rest.iter().copied().filter(|&byte| byte != 0).collect()
        }
        _ => head.into(),
    }
}

/// What comes after the byte order mark, white space, comments and XML declarations.
fn first_element(head: &[u8]) -> &[u8] {
    let mut rest = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    loop {
        let end: &[u8] = match rest {
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'?', ..] => b"?>",
            _ => return rest,
        };
        match rest.windows(end.len()).position(|window| window == end) {
            Some(at) => rest = rest[at + end.len()..].trim_ascii_start(),
            None => return &[],
        }
    }
}

/// Whether a text begins with this tag, and not with a longer name.
fn begins(text: &[u8], tag: &[u8]) -> bool {
    let (Some(start), after) = (text.get(..tag.len()), text.get(tag.len())) else { return false };
    start.eq_ignore_ascii_case(tag)
        && after.is_none_or(|after| after.is_ascii_whitespace() || matches!(after, b'>' | b'/'))
}

/// No text holds these bytes, but for UTF-16 with its mark, and no other format is without them at its beginning for long.
fn is_text(head: &[u8]) -> bool {
    let utf_16 = matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    !head.is_empty() && (utf_16 || !head.iter().any(|byte| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn looks_like_page(bytes: &[u8], content_type: Option<&str>) -> bool {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        is_page(&mut file, content_type).unwrap()
    }

    #[test]
    fn html_is_known_by_its_beginning_whatever_it_is_called() {
        for page in [
            "<!doctype html>",
            "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">",
            "\u{feff}\n <html lang=en>",
            "<!-- saved from url -->\n<!-- twice --><html>",
            "<?xml version=\"1.0\"?><!DOCTYPE html><html xmlns=\"http://www.w3.org/1999/xhtml\">",
            "<p>Hello",
            "<BODY>",
        ] {
            let names = ["text/html", "image/jpeg", "text/plain", "application/octet-stream"].map(Some);
            for called in names.into_iter().chain([None]) {
                assert!(looks_like_page(page.as_bytes(), called), "{page} {called:?}");
            }
        }
    }

    #[test]
    fn other_text_is_a_page_if_its_server_calls_it_html() {
        for text in ["Hello", "<custom-element>", "<nav>", "<center>"] {
            assert!(looks_like_page(text.as_bytes(), Some("Text/HTML; charset=utf-8")), "{text}");
            assert!(looks_like_page(text.as_bytes(), Some("application/xhtml+xml")), "{text}");
            assert!(!looks_like_page(text.as_bytes(), Some("text/plain")), "{text}");
            assert!(!looks_like_page(text.as_bytes(), None), "{text}");
        }
        let utf_16: Vec<u8> = "\u{feff}Hello".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(looks_like_page(&utf_16, Some("text/html")));
        assert!(!looks_like_page(&utf_16, Some("text/plain")));
    }

    #[test]
    fn html_in_utf_16_is_known_by_its_beginning_too() {
        let page = "\u{feff}\n<!-- ä --><!DOCTYPE html><html>";
        let little: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = page.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for called in [None, Some("image/jpeg"), Some("text/html")] {
            assert!(looks_like_page(&little, called) && looks_like_page(&big, called), "{called:?}");
        }
    }

    #[test]
    fn a_pages_encoding_is_what_its_server_names() {
        assert_eq!(charset("text/html; charset=utf-8").as_deref(), Some("utf-8"));
        assert_eq!(charset("image/jpeg; q=1; Charset=\"ISO-8859-1\"").as_deref(), Some("ISO-8859-1"));
        for none in
            ["text/html", "text/html; charset=", "text/html; charset=a b", "text/html; charset=a\r\nb"]
        {
            assert_eq!(charset(none), None, "{none}");
        }
    }

    #[test]
    fn pictures_and_documents_are_no_pages_whatever_they_are_called() {
        for bytes in [
            b"".as_slice(),
            b"\xff\xd8\xff\xe0\x00\x10JFIF",
            b"\x89PNG\r\n\x1a\n\x00\x00",
            b"GIF89a\x01\x00\x01\x00",
            b"<svg xmlns='http://www.w3.org/2000/svg'>",
            b"<?xml version='1.0'?>\n<!-- a --><svg>",
            b"<!-- never ends",
        ] {
            for called in [None, Some("image/png")] {
                assert!(!looks_like_page(bytes, called), "{bytes:?} {called:?}");
            }
        }
        assert!(!looks_like_page(b"\xff\xd8\xff\xe0\x00\x10JFIF", Some("text/html")));
        for bytes in
            [b"<svg>".as_slice(), b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>", b"%PDF-1.4\n1 0 obj", b""]
        {
            assert!(!looks_like_page(bytes, Some("text/html")), "{}", bytes.escape_ascii());
        }
    }
}
