//! The options of a web page's capture: the window in which the page is laid out, and the part of it to show. They are
//! parameters of a request, and the flags of `tiler convert` have the same names. All begin with `web-`, so that an
//! unknown one is an error while other parameters are ignored. Selectors are texts here: only the browser parses them.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use url::form_urlencoded;

/// Options of a web page's capture. As text, they are a query of those that are given, in the order of [`NAMES`].
///
/// The values are texts that were checked, because the Worker only passes them on: a type for each made its module three
/// kilobytes larger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture([String; NAMES.len()]);

/// The event or time to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait<'a> {
    /// Time on the page's clock.
    Time(Duration),
    /// An element that matches this selector.
    Element(&'a str),
}

/// An option is unknown, or has a wrong value. Clients see the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CaptureError(&'static str);

/// Beginning of the names of all options.
pub const PREFIX: &str = "web-";
/// The names of the options.
pub const NAMES: [&str; 9] = [
    "web-width",
    "web-device",
    "web-scheme",
    "web-media",
    "web-selector",
    "web-from",
    "web-wait",
    "web-hide",
    "web-sealed",
];
// Their places there.
const WIDTH: usize = 0;
const DEVICE: usize = 1;
const SCHEME: usize = 2;
const MEDIA: usize = 3;
const SELECTOR: usize = 4;
const FROM: usize = 5;
const WAIT: usize = 6;
const HIDE: usize = 7;
const SEALED: usize = 8;

/// Widths of windows, in CSS pixels. The smallest phones have 320.
const WIDTHS: RangeInclusive<u32> = 320..=2560;
/// Milliseconds to wait. The limit of time for loading a page ends a wait earlier.
const WAITS: RangeInclusive<u32> = 1..=30_000;
/// Maximum number of bytes of a selector. Those in browsers' tools have some tens.
const SELECTOR_BYTES: usize = 200;
/// Beginning of a box of sealed headers. Base64url follows, without padding.
pub const BOX_PREFIX: &str = "ez1-";
/// Numbers of bytes of such a box.
pub const BOX_BYTES: RangeInclusive<usize> = 44..=4096;

const UNKNOWN: CaptureError = CaptureError(
    "Unknown option. There are web-width, -device, -scheme, -media, -selector, -from, -wait, -hide and -sealed.",
);
const TWICE: CaptureError =
    CaptureError("Give each web- option once. A selector may be a list, such as .banner, .chat.");
const NO_WIDTH: CaptureError = CaptureError("web-width must be a number of CSS pixels from 320 to 2560.");
const NO_DEVICE: CaptureError = CaptureError("web-device must be phone.");
const NO_SCHEME: CaptureError = CaptureError("web-scheme must be dark or light.");
const NO_MEDIA: CaptureError = CaptureError("web-media must be print.");
const NO_SELECTOR: CaptureError =
    CaptureError("web-selector, web-from and web-hide take a CSS selector of at most 200 bytes.");
const TWO_PARTS: CaptureError =
    CaptureError("Give web-selector for one element, or web-from for the page from there, not both.");
const NO_WAIT: CaptureError =
    CaptureError("web-wait takes 1 to 30000 milliseconds, or a CSS selector of at most 200 bytes.");
const NO_BOX: CaptureError = CaptureError("web-sealed takes what tiler seal prints.");

impl CaptureError {
    /// Options are given with something that is no URL.
    pub const NO_URL: Self = Self("The web- options are for the URL of a web page, not for a file.");
}

impl Capture {
    /// Parses the options in a query. Other parameters are ignored, and an empty option is as none: forms send such.
    ///
    /// # Errors
    /// An option is unknown, has a wrong value or is given twice.
    pub fn parse(query: &str) -> Result<Self, CaptureError> {
        let mut capture = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if name.starts_with(PREFIX) {
                capture.set(&name, &value)?;
            }
        }
        Ok(capture)
    }

    /// Sets an option to a value. An empty one changes nothing.
    ///
    /// # Errors
    /// The option is unknown, the value is wrong, the option has one already, or another one excludes it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), CaptureError> {
        let at = NAMES.iter().position(|known| *known == name).ok_or(UNKNOWN)?;
        let value = value.trim();
        if value.is_empty() {
            return Ok(());
        }
        let (is_right, error) = match at {
            WIDTH => (is_number(value, WIDTHS), NO_WIDTH),
            DEVICE => (value == "phone", NO_DEVICE),
            SCHEME => (value == "dark" || value == "light", NO_SCHEME),
            MEDIA => (value == "print", NO_MEDIA),
            WAIT => (
                if begins_with_digit(value) { is_number(value, WAITS) } else { may_be_selector(value) },
                NO_WAIT,
            ),
            SEALED => (may_be_box(value), NO_BOX),
            _ => (may_be_selector(value), NO_SELECTOR),
        };
        if !is_right {
            return Err(error);
        }
        match self.0.get_mut(at) {
            Some(option) if option.is_empty() => value.clone_into(option),
            _ => return Err(TWICE),
        }
        if self.selector().is_some() && self.from().is_some() { Err(TWO_PARTS) } else { Ok(()) }
    }

    /// Returns true if no option is given.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }

    /// Returns the width of the window in CSS pixels.
    #[must_use]
    pub fn width(&self) -> Option<u32> {
        self.value(WIDTH)?.parse().ok()
    }

    /// Returns true for the window of a phone: its screen is dense and reacts to touch, and its browser heeds the page's
    /// `<meta name="viewport">`.
    #[must_use]
    pub fn is_phone(&self) -> bool {
        self.value(DEVICE).is_some()
    }

    /// Returns the colour scheme that the page is asked for, as in `prefers-color-scheme`.
    #[must_use]
    pub fn scheme(&self) -> Option<&str> {
        self.value(SCHEME)
    }

    /// Returns the medium of CSS that styles are for, if not a screen.
    #[must_use]
    pub fn media(&self) -> Option<&str> {
        self.value(MEDIA)
    }

    /// Returns the selector of the element to show instead of the whole page.
    #[must_use]
    pub fn selector(&self) -> Option<&str> {
        self.value(SELECTOR)
    }

    /// Returns the selector of the element at whose top the picture begins.
    #[must_use]
    pub fn from(&self) -> Option<&str> {
        self.value(FROM)
    }

    /// Returns what to wait for in addition to the usual time.
    #[must_use]
    pub fn wait(&self) -> Option<Wait<'_>> {
        let value = self.value(WAIT)?;
        Some(match value.parse() {
            Ok(time) => Wait::Time(Duration::from_millis(time)),
            Err(_) => Wait::Element(value),
        })
    }

    /// Returns the selector of elements to leave out.
    #[must_use]
    pub fn hide(&self) -> Option<&str> {
        self.value(HIDE)
    }

    /// Returns the box with the headers and cookies for the source's origin, sealed.
    #[must_use]
    pub fn sealed(&self) -> Option<&str> {
        self.value(SEALED)
    }

    /// Returns true if an option concerns what only a web page has. Sealed headers are for any source.
    #[must_use]
    pub fn needs_page(&self) -> bool {
        self.0.iter().take(SEALED).any(|value| !value.is_empty())
    }

    fn value(&self, at: usize) -> Option<&str> {
        self.0.get(at).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl fmt::Display for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = NAMES.iter().zip(&self.0).filter(|(_, value)| !value.is_empty());
        f.write_str(&form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish())
    }
}

/// Returns true for a number in its only form, without a sign and leading zeros.
fn is_number(text: &str, range: RangeInclusive<u32>) -> bool {
    begins_with_digit(text)
        && !text.starts_with('0')
        && text.parse().is_ok_and(|number| range.contains(&number))
}

/// No selector begins with a digit.
fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns true for a text without control characters that is not too long. Only the browser parses it.
fn may_be_selector(text: &str) -> bool {
    text.len() <= SELECTOR_BYTES && !text.contains(char::is_control)
}

/// Returns true for a text of the form of a box. Only the tiler can open it.
fn may_be_box(text: &str) -> bool {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    text.starts_with(BOX_PREFIX) && BOX_BYTES.contains(&text.len()) && text.bytes().all(is_base64url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(query: &str) -> String {
        Capture::parse(query).unwrap().to_string()
    }

    #[test]
    fn options_are_printed_in_one_way() {
        let all = "web-width=390&web-device=phone&web-scheme=dark&web-media=print&web-selector=%23a+%3E+.b&web-wait=800&web-hide=.c%2C.d";
        assert_eq!(canonical(all), all);
        let mut parameters: Vec<&str> = all.split('&').collect();
        parameters.reverse();
        assert_eq!(canonical(&parameters.join("&url=x&_=1&")), all, "in any order, among other parameters");
        assert_eq!(canonical("web-width=+390&web-wait=%20.a%0A"), "web-width=390&web-wait=.a");
        assert_eq!(canonical("web-hide=.c&web-from=%23a"), "web-from=%23a&web-hide=.c");
        assert_eq!(canonical("web-hide=[a%3d%22%26%22]"), "web-hide=%5Ba%3D%22%26%22%5D");
        for nothing in ["", "width=390&scheme=blue", "web-width=&web-scheme=&web-hide=+"] {
            assert!(Capture::parse(nothing).unwrap().is_default(), "{nothing}");
        }
    }

    #[test]
    fn options_are_read_by_their_names() {
        let query = "web-width=390&web-device=phone&web-scheme=dark&web-media=print&web-selector=a&web-wait=800&web-hide=b";
        let all = Capture::parse(query).unwrap();
        assert_eq!(Capture::parse("web-from=d").unwrap().from(), Some("d"));
        assert_eq!(
            (all.width(), all.is_phone(), all.scheme(), all.media()),
            (Some(390), true, Some("dark"), Some("print"))
        );
        assert_eq!((all.selector(), all.hide()), (Some("a"), Some("b")));
        assert_eq!(all.wait(), Some(Wait::Time(Duration::from_millis(800))));
        assert_eq!(Capture::parse("web-wait=.c").unwrap().wait(), Some(Wait::Element(".c")));
        let none = Capture::default();
        assert_eq!((none.width(), none.is_phone(), none.scheme(), none.media()), (None, false, None, None));
        assert_eq!((none.selector(), none.from(), none.wait(), none.hide()), (None, None, None, None));
    }

    #[test]
    fn sealed_headers_are_for_any_source() {
        let text = format!("web-sealed={BOX_PREFIX}{}-_9", "A".repeat(4089));
        let capture = Capture::parse(&text).unwrap();
        assert_eq!((capture.to_string().as_str(), capture.sealed()), (text.as_str(), text.split('=').nth(1)));
        assert!(!capture.needs_page() && !capture.is_default());
        assert!(Capture::parse(&format!("{text}&web-width=390")).unwrap().needs_page());
    }

    #[test]
    fn unknown_and_wrong_options_are_refused_with_the_reason() {
        let long = format!("web-hide={}", "a".repeat(201));
        let sealed = |prefix: &str, rest| format!("web-sealed={prefix}{}", "A".repeat(rest));
        for (query, error) in [
            ("web-colour=red", UNKNOWN),
            ("web-=", UNKNOWN),
            ("web-width=319", NO_WIDTH),
            ("web-width=2561", NO_WIDTH),
            ("web-width=-390", NO_WIDTH),
            ("web-width=0390", NO_WIDTH),
            ("web-width=%2b390", NO_WIDTH),
            ("web-width=390px", NO_WIDTH),
            ("web-device=tablet", NO_DEVICE),
            ("web-scheme=Dark", NO_SCHEME),
            ("web-media=screen", NO_MEDIA),
            ("web-wait=0", NO_WAIT),
            ("web-wait=30001", NO_WAIT),
            ("web-wait=99999999999", NO_WAIT),
            ("web-wait=5s", NO_WAIT),
            ("web-selector=a%00b", NO_SELECTOR),
            (&long, NO_SELECTOR),
            ("web-sealed=ez1-", NO_BOX),
            (&sealed("ez2-", 80), NO_BOX),
            (&sealed("ez1-%2b", 80), NO_BOX),
            (&sealed("ez1-", 4093), NO_BOX),
            (&sealed("ez1-%0a", 80), NO_BOX),
            ("web-from=a%00b", NO_SELECTOR),
            ("web-from=a&web-selector=b", TWO_PARTS),
            ("web-selector=b&web-from=a", TWO_PARTS),
            ("web-from=a&web-from=a", TWICE),
            ("web-hide=.a&web-hide=.b", TWICE),
            ("web-hide=.a&web-hide=.a", TWICE),
        ] {
            assert_eq!(Capture::parse(query), Err(error), "{query}");
        }
        assert!(NAMES.iter().all(|name| UNKNOWN.to_string().contains(&name[PREFIX.len() - 1..])));
    }
}
