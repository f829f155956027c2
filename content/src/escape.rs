//! Escapes text of clients and sources for HTML, scripts and XML: a function for each context.

use std::fmt::Write;

/// Escapes a text for HTML, between tags and in quoted attribute values.
#[must_use]
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Escapes JSON for a script, in a file of its own or in a page's `<script>`. The result is JSON too: the characters
/// that could end the element, open a comment, or end a line in old JavaScript (U+2028, U+2029) occur only in strings.
#[must_use]
pub fn script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(character)); // writing to a String cannot fail
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Replaces characters that XML 1.0 forbids, even escaped, by U+FFFD (<https://www.w3.org/TR/xml/#charsets>).
#[must_use]
pub fn xml_characters(text: &str) -> String {
    let carried = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if carried(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_escape_from_html() {
        assert_eq!(
            html(r#"</title><b a="1" c='2'>&amp;"#),
            "&lt;/title&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;"
        );
        assert_eq!(html("ä 日 \u{202e}"), "ä 日 \u{202e}");
    }

    #[test]
    fn text_cannot_escape_from_a_script_and_stays_the_same() {
        let text = "</script><!--<script>]]>&\u{2028}\u{2029}\"\\";
        let json = serde_json::to_string(text).unwrap();
        let escaped = script(&json);
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        assert_eq!(
            xml_characters("a\0b\u{b}c\u{ffff}d\te\u{1f600}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}d\te\u{1f600}"
        );
    }
}
