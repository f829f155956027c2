//! The embed script, `/<id>.js`: the same text for every content. It reads the content's id and all parameters from its
//! own address, so nothing has to be looked up, and no text of a client is written into a script.

use http::StatusCode;

use crate::response::{CachePolicy, Response};

/// The script with its comments.
const SOURCE: &[u8] = include_bytes!("../../viewer/embed/loader.js");
const LENGTH: usize = strip(SOURCE, &mut [0; SOURCE.len()]);
const STRIPPED: [u8; LENGTH] = {
    let mut all = [0; SOURCE.len()];
    strip(SOURCE, &mut all);
    let mut stripped = [0; LENGTH];
    stripped.copy_from_slice(all.split_at(LENGTH).0);
    stripped
};

/// Copies a script without indentation and without lines that are comments. Returns the length. Every reader of an
/// embedding page loads the script.
const fn strip(source: &[u8], stripped: &mut [u8]) -> usize {
    let (mut at, mut length) = (0, 0);
    while at < source.len() {
        while at < source.len() && source[at] == b' ' {
            at += 1;
        }
        let is_comment = at + 1 < source.len() && source[at] == b'/' && matches!(source[at + 1], b'/' | b'*');
        while at < source.len() {
            let byte = source[at];
            at += 1;
            if !is_comment {
                stripped[length] = byte;
                length += 1;
            }
            if byte == b'\n' {
                break;
            }
        }
    }
    length
}

pub fn script() -> Response {
    let text = String::from_utf8_lossy(&STRIPPED);
    Response::new(StatusCode::OK, "text/javascript; charset=utf-8", CachePolicy::OneHour, text.into_owned())
        .tagged()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_no_comments() {
        let source = b"// of\n  a();\n  /** it */\n  b(); // here\n";
        let mut stripped = [0; 64];
        let length = strip(source, &mut stripped);
        assert_eq!(&stripped[..length], b"a();\nb(); // here\n");
        assert!(STRIPPED.starts_with(b"(() => {\nconst script"));
    }

    #[test]
    fn the_script_is_cached_and_revalidated() {
        let answer = script();
        assert_eq!(answer.header("Content-Type"), Some("text/javascript; charset=utf-8"));
        assert_eq!(answer.header("Cache-Control"), Some("public, max-age=3600"));
        let tag = answer.header("ETag").map(str::to_owned);
        assert_eq!(script().or_not_modified(tag.as_deref()).status, StatusCode::NOT_MODIFIED);
    }
}
