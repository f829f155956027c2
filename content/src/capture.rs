//! The options of a web page's capture: the window in which the page is laid out, and the part of it to show. They are
//! parameters of a request, and the flags of `tiler convert` have the same names. All begin with `web-`, so that an
//! unknown one is an error while other parameters are ignored. Selectors are texts here: only the browser parses them.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use url::form_urlencoded;

/// How a web page is captured. As text, it is a query with the options that are given, in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// `web-width`: width of the window, in CSS pixels.
    pub width: Option<u32>,
    /// `web-device`: the device whose window it is, if not a desktop computer.
    pub device: Option<Device>,
    /// `web-scheme`: the colour scheme that the page is asked for.
    pub scheme: Option<Scheme>,
    /// `web-media`: the medium that styles are for, if not a screen.
    pub media: Option<Media>,
    /// `web-selector`: the element to show instead of the whole page.
    pub selector: Option<Selector>,
    /// `web-wait`: what to wait for, in addition to the usual time.
    pub wait: Option<Wait>,
    /// `web-hide`: elements to leave out.
    pub hide: Option<Selector>,
}

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Its screen is dense and reacts to touch, and its browser heeds the page's `<meta name="viewport">`.
    Phone,
}

/// A colour scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Light letters on a dark ground.
    Dark,
    /// Dark letters on a light ground.
    Light,
}

/// A medium of CSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// Paper.
    Print,
}

/// What to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Time on the page's clock.
    Time(Duration),
    /// An element that matches.
    Selector(Selector),
}

/// A text that may be a list of CSS selectors: without control characters and white space around it, and with at most
/// [`Selector::MAX_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(String);

/// An option is unknown, or has a wrong value. Clients see the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CaptureError(&'static str);

/// Beginning of the names of all options.
pub const PREFIX: &str = "web-";
/// Widths of windows, in CSS pixels. The smallest phones have 320.
const WIDTHS: RangeInclusive<u32> = 320..=2560;
/// Milliseconds to wait. The limit of time for loading a page ends a wait earlier.
const WAITS: RangeInclusive<u32> = 1..=30_000;

const UNKNOWN: CaptureError = CaptureError(
    "Unknown option of a web page. The options are web-width, web-device, web-scheme, web-media, web-selector, web-wait and web-hide.",
);
const TWICE: CaptureError =
    CaptureError("Give each web- option once. A selector may be a list, such as .banner, .chat.");
const WIDTH: CaptureError = CaptureError("web-width must be a number of CSS pixels from 320 to 2560.");
const DEVICE: CaptureError = CaptureError("web-device must be phone.");
const SCHEME: CaptureError = CaptureError("web-scheme must be dark or light.");
const MEDIA: CaptureError = CaptureError("web-media must be print.");
const SELECTOR: CaptureError =
    CaptureError("web-selector and web-hide take a CSS selector of at most 200 bytes.");
const WAIT: CaptureError =
    CaptureError("web-wait takes 1 to 30000 milliseconds, or a CSS selector of at most 200 bytes.");

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
    /// The option is unknown, the value is wrong, or the option has one already.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), CaptureError> {
        let value = value.trim();
        match name {
            "web-width" => fill(&mut self.width, value, number(value, WIDTHS), WIDTH),
            "web-device" => {
                fill(&mut self.device, value, (value == "phone").then_some(Device::Phone), DEVICE)
            }
            "web-scheme" => {
                let scheme = [Scheme::Dark, Scheme::Light].into_iter().find(|scheme| scheme.name() == value);
                fill(&mut self.scheme, value, scheme, SCHEME)
            }
            "web-media" => fill(&mut self.media, value, (value == "print").then_some(Media::Print), MEDIA),
            "web-selector" => fill(&mut self.selector, value, Selector::new(value), SELECTOR),
            "web-wait" => fill(&mut self.wait, value, Wait::new(value), WAIT),
            "web-hide" => fill(&mut self.hide, value, Selector::new(value), SELECTOR),
            _ => Err(UNKNOWN),
        }
    }

    /// Returns true if no option is given.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Fills an option that is empty, unless the value is.
fn fill<T>(
    option: &mut Option<T>,
    value: &str,
    parsed: Option<T>,
    error: CaptureError,
) -> Result<(), CaptureError> {
    if value.is_empty() {
        return Ok(());
    }
    if option.is_some() {
        return Err(TWICE);
    }
    *option = Some(parsed.ok_or(error)?);
    Ok(())
}

fn number(text: &str, range: RangeInclusive<u32>) -> Option<u32> {
    text.parse().ok().filter(|number| range.contains(number))
}

impl fmt::Display for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, device, scheme, media, selector, wait, hide } = self;
        let text = |selector: &Option<Selector>| selector.as_ref().map(|Selector(text)| text.clone());
        let given = [
            ("web-width", width.map(|width| width.to_string())),
            ("web-device", device.map(|Device::Phone| "phone".to_owned())),
            ("web-scheme", scheme.map(|scheme| scheme.name().to_owned())),
            ("web-media", media.map(|Media::Print| "print".to_owned())),
            ("web-selector", text(selector)),
            ("web-wait", wait.as_ref().map(Wait::text)),
            ("web-hide", text(hide)),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in given {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        }
        f.write_str(&query.finish())
    }
}

impl Scheme {
    /// Returns the name in CSS.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }
}

impl Wait {
    /// No selector begins with a digit.
    fn new(text: &str) -> Option<Self> {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return number(text, WAITS).map(|time| Self::Time(Duration::from_millis(time.into())));
        }
        Selector::new(text).map(Self::Selector)
    }

    fn text(&self) -> String {
        match self {
            Self::Time(time) => time.as_millis().to_string(),
            Self::Selector(Selector(text)) => text.clone(),
        }
    }
}

impl Selector {
    /// Maximum number of bytes. The selectors in browsers' tools have some tens.
    pub const MAX_BYTES: usize = 200;

    fn new(text: &str) -> Option<Self> {
        let is_short = text.len() <= Self::MAX_BYTES && !text.contains(char::is_control);
        is_short.then(|| Self(text.to_owned()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
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
        assert_eq!(canonical("web-width=0390&web-wait=%20.a%0A"), "web-width=390&web-wait=.a");
        assert_eq!(canonical("web-hide=[a%3d%22%26%22]"), "web-hide=%5Ba%3D%22%26%22%5D");
        for nothing in ["", "width=390&scheme=blue", "web-width=&web-scheme=&web-hide=+"] {
            assert!(Capture::parse(nothing).unwrap().is_default(), "{nothing}");
        }
    }

    #[test]
    fn unknown_and_wrong_options_are_refused_with_the_reason() {
        let long = format!("web-hide={}", "a".repeat(201));
        for (query, error) in [
            ("web-colour=red", UNKNOWN),
            ("web-=", UNKNOWN),
            ("web-width=319", WIDTH),
            ("web-width=2561", WIDTH),
            ("web-width=-390", WIDTH),
            ("web-width=390px", WIDTH),
            ("web-device=tablet", DEVICE),
            ("web-scheme=Dark", SCHEME),
            ("web-media=screen", MEDIA),
            ("web-wait=0", WAIT),
            ("web-wait=30001", WAIT),
            ("web-wait=99999999999", WAIT),
            ("web-wait=5s", WAIT),
            ("web-selector=a%00b", SELECTOR),
            (&long, SELECTOR),
            ("web-hide=.a&web-hide=.b", TWICE),
            ("web-hide=.a&web-hide=.a", TWICE),
        ] {
            assert_eq!(Capture::parse(query), Err(error), "{query}");
        }
        assert_eq!(UNKNOWN.to_string().matches("web-").count(), 7);
    }
}
