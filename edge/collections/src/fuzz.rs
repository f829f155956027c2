//! The parsers of what owners send as a fuzz target, as in `edge/src/fuzz.rs`.

use edgezoom_content::{AddressPolicy, ContentId, DeletionKey, Timestamp, UploadKey};

use crate::entry::{Row, Sent};
use crate::line::{Line, Name};
use crate::settings::Settings;

/// Lines of a collection, or its settings.
///
/// # Panics
/// A line changes something when it is sent again, or a refusal quotes without bounds.
pub fn lines(bytes: &[u8]) {
    let (text, policy) = (String::from_utf8_lossy(bytes), AddressPolicy::default());
    let (name, key) = ("drawings".parse().unwrap_or_else(|_| unreachable!()), DeletionKey::new("key").hash());
    let _ = Settings::parse(&text, name, "secret".to_owned(), key, &policy);
    for line in text.lines() {
        let line = match Line::parse(line, &policy) {
            Ok(line) => Line { upload: UploadKey::from_digits(&"0".repeat(32)), ..line },
            Err(refusal) => {
                assert!(refusal.to_string().chars().count() < 400, "{refusal}");
                continue;
            }
        };
        let Name::Url(url) = &line.name else { continue };
        let ids = (ContentId::in_collection(url, "secret", 0), None);
        if let Ok(Sent::Changed(row)) = Row::sent(None, &line, ids, 0, Timestamp(1)) {
            assert_eq!(Row::sent(Some(*row), &line, ids, 1, Timestamp(2)), Ok(Sent::Same));
        }
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn lines_of_any_bytes_are_read_or_refused() {
        hunt(&[Target {
            name: "lines",
            run: lines,
            seeds: &[
                br#"{"url":"https://a.example/1.jpg","title":"One","alt":null,"credit":"\u202e<b>","rights":"http://rightsstatements.org/vocab/InC/1.0/"}"#,
                br#"{"url":"https://a.example/","options":"web-width=390","retry":true}"#,
                br#"{"url":"ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?name=a%20b.jpg","retry":true}"#,
                b"{\"id\":\"6qy4OXfXSid\",\"remove\":true}\n\n{\"url\":\"http://[::1]:80/\"}",
                br#"{"title":"Drawings","credit":"Museum","notify":"https://cms.museum.example/hook"}"#,
            ],
        }]);
    }
}
