//! URLs as people enter them on the home page: copied with the quotes or brackets around them, and without a scheme.
//! The API does not correct its callers.

use std::net::Ipv6Addr;

/// Quotation marks, of which a copied text may have only one.
const QUOTES: [char; 15] = ['"', '\'', '`', '“', '”', '„', '‟', '‘', '’', '‚', '‛', '«', '»', '‹', '›'];
/// Brackets, which are removed only in pairs: a URL may end with one.
const BRACKETS: [(char, char); 4] = [('<', '>'), ('(', ')'), ('[', ']'), ('{', '}')];

/// Returns the text without spaces, quotation marks and brackets around it. A quotation mark at the end belongs to the
/// URL if the URL has another one, as in `https://example.com/“a”`.
pub fn cleaned(text: &str) -> &str {
    let mut text = text;
    loop {
        let before = text.len();
        text = text.trim_matches(|c: char| c.is_whitespace() || is_invisible(c));
        let unopened = text.trim_start_matches(QUOTES);
        if let Some(rest) = unopened.strip_suffix(QUOTES)
            && (unopened.len() < text.len() || !rest.contains(QUOTES))
        {
            text = rest;
        } else {
            text = unopened;
        }
        let inner = BRACKETS.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
        if let Some(inner) = inner
            && inner.parse::<Ipv6Addr>().is_err()
        {
            text = inner;
        }
        if text.len() == before {
            return text;
        }
    }
}

/// Returns true for characters without a width, which pages and editors add to copied text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Returns true if a text begins with a scheme. A colon before a digit begins a port.
pub fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(named)
            && !rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_brackets_and_spaces_around_a_url_are_removed() {
        let url = "https://example.com/a.jpg";
        for text in [
            " https://example.com/a.jpg\n",
            "\u{a0}\u{200b}https://example.com/a.jpg\u{feff}",
            "\"https://example.com/a.jpg\"",
            "\"https://example.com/a.jpg",
            "https://example.com/a.jpg”",
            "'https://example.com/a.jpg'",
            "„https://example.com/a.jpg“",
            "« https://example.com/a.jpg »",
            "`https://example.com/a.jpg`",
            "<https://example.com/a.jpg>",
            "(\"https://example.com/a.jpg\")",
            "[ <https://example.com/a.jpg> ]",
            "{https://example.com/a.jpg}",
        ] {
            assert_eq!(cleaned(text), url, "{text}");
        }
    }

    #[test]
    fn what_belongs_to_the_url_stays() {
        for url in [
            "https://example.com/Mercury_(planet)",
            "https://example.com/“Heroes”",
            "https://example.com/Rock_'n'",
            "https://example.com/a<b>",
            "[::1]",
            "[2606:4700::1111]:8080/",
            "http://[::1]",
            "(https://example.com/a",
        ] {
            assert_eq!(cleaned(url), url, "{url}");
        }
        for nothing in ["", "\"", "''", "()", "<\"\">", "[{}]"] {
            assert_eq!(cleaned(nothing), "", "{nothing}");
        }
    }

    proptest! {
        #[test]
        fn cleaning_twice_changes_nothing(text in "[ \"'“”<>()\\[\\]{}a:1é\u{200b}]{0,12}") {
            let once = cleaned(&text);
            prop_assert_eq!(cleaned(once), once);
            prop_assert!(text.contains(once));
        }
    }
}
