//! Recognises HTML among downloads by its first bytes and its declared media type (WHATWG, MIME Sniffing). Bytes are
//! only compared, not parsed.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use edgezoom_codecs::Format;

/// Number of bytes of a file that are examined. A comment with a licence may precede the first element.
const HEAD_BYTES: usize = 16 << 10;

/// Maximum size of HTML that is displayed in spite of its declared media type. A tenth of it already makes browsers
/// slow.
const MAX_HTML_BYTES: u64 = 32 << 20;

/// A downloaded page. Its HTML replaces the server's response if that declares a media type that the browser would not
/// display as a page, or a content coding that the body does not have.
#[derive(Clone, Debug)]
pub struct Html {
    /// Empty if the page is larger than [`MAX_HTML_BYTES`].
    pub(super) bytes: Vec<u8>,
    /// Encoding declared by the server.
    pub(super) charset: Option<String>,
    /// False if the body of the response is not in the content coding that its headers declare. The browser shows
    /// nothing of it then.
    pub is_as_declared: bool,
}

impl Html {
    /// Reads a download if it is a page: if it starts with an HTML tag, or if it is text that the server declares as
    /// HTML and that has no other known format. Leaves the position of the file at its start.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn recognise(file: &mut File, content_type: Option<&str>) -> io::Result<Option<Self>> {
        if !is_page(file, content_type)? {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let length = file.metadata()?.len();
        if length <= MAX_HTML_BYTES {
            bytes.resize(length as usize, 0);
            file.read_exact_at(&mut bytes, 0)?;
        }
        Ok(Some(Self { bytes, charset: content_type.and_then(charset), is_as_declared: true }))
    }
}

/// Tags and declaration that identify HTML, in lower case.
/// Source: <https://mimesniff.spec.whatwg.org/#identifying-a-resource-with-an-unknown-mime-type>. Its pattern `<!--` is
/// left out, because SVG may start with a comment too; the tag after it decides.
const HTML_TAGS: [&[u8]; 16] = [
    b"<html", b"<head", b"<script", b"<iframe", b"<h1", b"<div", b"<font", b"<table", b"<a", b"<style",
    b"<title", b"<b", b"<body", b"<br", b"<p", b"<meta",
];
const HTML_DECLARATION: &[u8] = b"<!doctype html";

fn is_page(file: &mut File, content_type: Option<&str>) -> io::Result<bool> {
    let mut head = vec![0; HEAD_BYTES];
    let read = file.read_at(&mut head, 0)?;
    let head = head.get(..read).unwrap_or_default();
    Ok(starts_as_html(head)
        || (is_declared_html(content_type) && read > 0 && is_text(head) && Format::sniff(file).is_err()))
}

fn starts_as_html(head: &[u8]) -> bool {
    let head = utf16_to_ascii(head);
    let start = first_element(&head);
    HTML_TAGS.iter().chain([&HTML_DECLARATION]).any(|tag| starts_with_tag(start, tag))
}

fn is_declared_html(content_type: Option<&str>) -> bool {
    let declared = content_type.map(media_type).unwrap_or_default();
    ["text/html", "application/xhtml+xml"].iter().any(|name| declared.eq_ignore_ascii_case(name))
}

/// Removes the zero bytes of UTF-16: ASCII characters keep their value, which is enough to find a tag.
fn utf16_to_ascii(head: &[u8]) -> Cow<'_, [u8]> {
    match head {
        [0xff, 0xfe, rest @ ..] | [0xfe, 0xff, rest @ ..] => {
            rest.iter().copied().filter(|&byte| byte != 0).collect()
        }
        _ => head.into(),
    }
}

/// Skips the byte order mark, white space, comments and processing instructions.
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

/// Returns true if a text starts with this tag, and not with a longer name: a tag-terminating byte must follow. `/`
/// counts as one too, for `<br/>`.
fn starts_with_tag(text: &[u8], tag: &[u8]) -> bool {
    let (Some(start), after) = (text.get(..tag.len()), text.get(tag.len())) else { return false };
    start.eq_ignore_ascii_case(tag)
        && after.is_none_or(|after| after.is_ascii_whitespace() || matches!(after, b'>' | b'/'))
}

/// Returns true if there is no binary data byte, or if there is a byte order mark of UTF-16.
/// Source: <https://mimesniff.spec.whatwg.org/#binary-data-byte>.
fn is_text(head: &[u8]) -> bool {
    let utf_16 = matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    !head.is_empty() && (utf_16 || !head.iter().any(|byte| matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f)))
}

/// Returns the media type of a `Content-Type` header (RFC 9110, 8.3), without its parameters.
pub(super) fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// Returns the charset parameter of a `Content-Type` header, if it can be the name of an encoding.
pub(super) fn charset(content_type: &str) -> Option<String> {
    let parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let charset = parameters.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let value = charset?.1.trim().trim_matches('"');
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'+');
    (!value.is_empty() && value.bytes().all(is_name)).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn sniff(bytes: &[u8], content_type: Option<&str>) -> bool {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        is_page(&mut file, content_type).unwrap()
    }

    #[test]
    fn html_is_recognised_by_its_first_tag_for_every_declared_type() {
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
            for declared in names.into_iter().chain([None]) {
                assert!(sniff(page.as_bytes(), declared), "{page} {declared:?}");
            }
        }
    }

    #[test]
    fn other_text_is_a_page_if_it_is_declared_as_html() {
        for text in ["Hello", "<custom-element>", "<nav>", "<center>"] {
            assert!(sniff(text.as_bytes(), Some("Text/HTML; charset=utf-8")), "{text}");
            assert!(sniff(text.as_bytes(), Some("application/xhtml+xml")), "{text}");
            assert!(!sniff(text.as_bytes(), Some("text/plain")), "{text}");
            assert!(!sniff(text.as_bytes(), None), "{text}");
        }
        assert!(!sniff(b"", Some("text/html")), "an empty file is an error");
        let utf_16: Vec<u8> = "\u{feff}Hello".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(sniff(&utf_16, Some("text/html")));
        assert!(!sniff(&utf_16, Some("text/plain")));
    }

    #[test]
    fn html_in_utf_16_is_recognised_by_its_first_tag() {
        let page = "\u{feff}\n<!-- ä --><!DOCTYPE html><html>";
        let little: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = page.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for declared in [None, Some("image/jpeg"), Some("text/html")] {
            assert!(sniff(&little, declared) && sniff(&big, declared), "{declared:?}");
        }
    }

    #[test]
    fn pictures_and_documents_are_not_pages_for_any_declared_type() {
        for bytes in [
            b"".as_slice(),
            b"\xff\xd8\xff\xe0\x00\x10JFIF",
            b"\x89PNG\r\n\x1a\n\x00\x00",
            b"GIF89a\x01\x00\x01\x00",
            b"<svg xmlns='http://www.w3.org/2000/svg'>",
            b"<?xml version='1.0'?>\n<!-- a --><svg>",
            b"<!-- never ends",
        ] {
            for declared in [None, Some("image/png")] {
                assert!(!sniff(bytes, declared), "{bytes:?} {declared:?}");
            }
        }
        assert!(!sniff(b"\xff\xd8\xff\xe0\x00\x10JFIF", Some("text/html")));
        for bytes in
            [b"<svg>".as_slice(), b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>", b"%PDF-1.4\n1 0 obj", b""]
        {
            assert!(!sniff(bytes, Some("text/html")), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn the_charset_is_a_parameter() {
        assert_eq!(charset("text/html; charset=utf-8").as_deref(), Some("utf-8"));
        assert_eq!(charset("image/jpeg; q=1; Charset=\"ISO-8859-1\"").as_deref(), Some("ISO-8859-1"));
        for none in
            ["text/html", "text/html; charset=", "text/html; charset=a b", "text/html; charset=a\r\nb"]
        {
            assert_eq!(charset(none), None, "{none}");
        }
    }
}
