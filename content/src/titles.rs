//! The title and the name of a source, which clients see: one line without characters that are invisible or change the direction of
//! the text around them.

use std::fmt;

use edgezoom_text::{SOFT_HYPHEN, is_invisible};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

/// The title of a web page or file, or the name of an uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Title(String);

impl Title {
    /// Maximum number of characters. The rest is cut off.
    pub const MAX_LENGTH: usize = 300;

    /// Returns the title that a document states; `None` if it has no visible characters.
    #[must_use]
    pub fn of_document(text: &str) -> Option<Self> {
        one_line(text, Self::MAX_LENGTH).map(Self)
    }

    /// Returns the title of a file with a name: the name without its ending. `None`: it has no visible characters.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        let name = one_line(name, Self::MAX_LENGTH)?;
        Some(Self(without_ending(&name).to_owned()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first words in a picture. Search engines show about 160 characters.
pub type Beginning = OneLine<200>;

/// The alternative text of a picture, for people who do not see it.
pub type Alternative = OneLine<1000>;

/// One line of at most `MAX` visible characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OneLine<const MAX: usize>(String);

impl<const MAX: usize> OneLine<MAX> {
    /// Returns the line in a text; `None` if it has no visible characters.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        one_line(text, MAX).map(Self)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the name of a source without a title: the last part of its URL's path, decoded, or its host.
#[must_use]
pub fn source_name(address: &str) -> String {
    let Ok(url) = Url::parse(address) else { return address.to_owned() };
    let file = url.path_segments().and_then(|segments| segments.rev().find(|segment| !segment.is_empty()));
    file.map_or_else(|| url.host_str().unwrap_or_default().to_owned(), legible)
}

/// Decodes part of a path, unless the result has characters that are invisible or change the direction of the text
/// around them (UTS #55).
fn legible(part: &str) -> String {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    match percent_decode_str(part).decode_utf8() {
        Ok(decoded) if !decoded.contains(hides) => decoded.into_owned(),
        _ => part.to_owned(),
    }
}

/// Returns a text as one line of at most `max_length` visible characters and single spaces; `None` if nothing is left.
pub(crate) fn one_line(text: &str, max_length: usize) -> Option<String> {
    let seen: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|&c| c != SOFT_HYPHEN && !is_invisible(c))
        .collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(max_length).collect();
    // Cleaned again, it stays as it is.
    let line = line.trim_end();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Returns a file's name without the endings of its format and of gzip: two to four letters and digits, all in one
/// case.
fn without_ending(name: &str) -> &str {
    let Some((stem, ending)) = name.rsplit_once('.') else { return name };
    let is_one_case = !ending.bytes().any(|byte| byte.is_ascii_lowercase())
        || !ending.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_ending = (2..=4).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    match stem.trim() {
        "" => name,
        stem if is_ending && is_one_case && ending.eq_ignore_ascii_case("gz") => without_ending(stem),
        stem if is_ending && is_one_case => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(text: &str) -> Option<String> {
        Title::of_document(text).map(|title| title.to_string())
    }

    #[test]
    fn a_title_is_one_short_line_of_visible_characters() {
        assert_eq!(title(" A\n\tpage\u{0}\u{85} title "), Some("A page title".to_owned()));
        assert_eq!(title("gpj\u{202e}.exe \u{fdd0}\u{ffff}"), Some("gpj.exe".to_owned()));
        assert_eq!(title("👩\u{200d}🚀 地图"), Some("👩\u{200d}🚀 地图".to_owned()));
        assert_eq!(title(&"é".repeat(1000)).map(|title| title.chars().count()), Some(Title::MAX_LENGTH));
        assert_eq!((title(""), title(" \u{200b}\n")), (None, None));
        assert_eq!(Title::of_document("A title").as_ref().map(Title::as_str), Some("A title"));
        assert_eq!(Beginning::of(" words\n").as_ref().map(Beginning::as_str), Some("words"));
        assert_eq!(
            title("\u{ad}\u{34f}\u{115f}\u{1160}\u{180e}\u{3164}\u{ffa0}\u{e0001}\u{e0041}\u{e007f}"),
            None
        );
        assert_eq!(title("bank\u{3164}.\u{ad}example ❤\u{fe0f}"), Some("bank.example ❤\u{fe0f}".to_owned()));
    }

    #[test]
    fn a_title_that_is_cut_off_at_a_space_is_one_line_again() {
        let first = title(&"words of 9 ".repeat(100)).unwrap();
        assert_eq!(
            (title(&format!("{} b", "a".repeat(299))), title(&first)),
            (Some("a".repeat(299)), Some(first))
        );
    }

    #[test]
    fn a_source_has_the_name_of_its_file_or_its_host() {
        for (url, expected) in [
            ("https://example.com/maps/old%20town.jpg?size=9#x", "old town.jpg"),
            ("https://example.com/maps/", "maps"),
            ("https://example.com", "example.com"),
            ("https://example.com/%E5%9C%B0%E5%9B%BE.png", "地图.png"),
            ("https://example.com/%ff.png", "%ff.png"),
            ("https://example.com/gpj%E2%80%AE.exe", "gpj%E2%80%AE.exe"),
            ("https://example.com/a%00b%0A", "a%00b%0A"),
        ] {
            assert_eq!(source_name(url), expected, "{url}");
        }
    }

    #[test]
    fn a_file_s_title_is_its_name_without_the_ending() {
        for (name, title) in [
            ("old town.jpg", "old town"),
            ("OLD.JPEG", "OLD"),
            ("M31.fits.gz", "M31"),
            ("slide.ome.tiff", "slide.ome"),
            ("plan.jp2", "plan"),
            ("gpj\u{202e}.exe\n .png", "gpj.exe"),
            ("地图.png", "地图"),
            // No endings.
            ("map v1.25", "map v1.25"),
            ("Dr.King", "Dr.King"),
            ("St. Mary", "St. Mary"),
            (".jpg", ".jpg"),
            ("town.photograph", "town.photograph"),
            ("town", "town"),
            ("town.", "town."),
        ] {
            assert_eq!(Title::of_file(name).map(|title| title.to_string()).as_deref(), Some(title), "{name}");
        }
        assert_eq!(Title::of_file(" \u{200b}"), None);
    }
}
