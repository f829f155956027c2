//! The form of a response: with its own status, wrapped in a response object, or as a script (JSONP); in JSON or XML.

use std::fmt;
use std::str::FromStr;

/// The serialization of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Xml,
}

/// The place of a response's status and headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The status line and the headers.
    Standard(Format),
    /// A response object in the body. The status is always 200.
    Wrapped(Format),
    /// A response object that a script passes to a function.
    Jsonp(Callback),
}

/// A form that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAcceptable {
    pub error: NegotiationError,
    pub variant: Variant,
}

/// Why a form does not exist. Clients see the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NegotiationError {
    #[error("The format must be json or xml.")]
    UnknownFormat,
    #[error("A callback needs JSON. Omit format, or set it to json.")]
    CallbackWithXml,
    #[error(transparent)]
    Callback(#[from] CallbackError),
}

impl Variant {
    pub fn format(&self) -> Format {
        match self {
            Self::Standard(format) | Self::Wrapped(format) => *format,
            Self::Jsonp(_) => Format::Json,
        }
    }

    /// Chooses the variant by the query parameters `format` and `callback`, which override the header `Accept`.
    ///
    /// # Errors
    /// The format does not exist, or cannot be combined with the callback.
    pub fn choose(
        format: Option<&str>,
        callback: Option<&str>,
        accept: Option<&str>,
    ) -> Result<Self, NotAcceptable> {
        let not_acceptable = |error, variant| Err(NotAcceptable { error, variant });
        if format == Some("xml") && callback.is_some() {
            return not_acceptable(NegotiationError::CallbackWithXml, Self::Wrapped(Format::Xml));
        }
        let callback = match callback.map(str::parse::<Callback>).transpose() {
            Ok(callback) => callback,
            Err(error) => return not_acceptable(error.into(), Self::Standard(Format::Json)),
        };
        let in_json = |callback: Option<Callback>| callback.map_or(Self::Wrapped(Format::Json), Self::Jsonp);
        match format {
            Some("json") => Ok(in_json(callback)),
            Some("xml") => Ok(Self::Wrapped(Format::Xml)),
            Some(_) => not_acceptable(NegotiationError::UnknownFormat, in_json(callback)),
            None if callback.is_some() => Ok(in_json(callback)),
            None => Ok(Self::Standard(accept.map_or(Format::Json, Format::accepted))),
        }
    }
}

impl Format {
    /// Returns the media type, with its charset.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json; charset=utf-8",
            Self::Xml => "application/xml; charset=utf-8",
        }
    }

    /// Returns the format that `Accept` prefers: XML if one of its media types has a higher weight than JSON, otherwise
    /// JSON. A browser that opens an address names XML, but after HTML; JSON stands in for that, because people can read
    /// it there.
    fn accepted(accept: &str) -> Self {
        preferred(accept, Self::Json, |media_type| match media_type {
            "application/json" => Some(Self::Json),
            "application/xml" | "text/xml" => Some(Self::Xml),
            _ => None,
        })
    }
}

/// The form of the words in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    Json,
    Plain,
    Html,
}

impl TextForm {
    /// Returns the media type, with its charset.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => Format::Json.media_type(),
            Self::Plain => "text/plain; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }

    /// Returns the form that `Accept` prefers; JSON if it names none.
    pub fn accepted(accept: &str) -> Self {
        preferred(accept, Self::Json, |media_type| match media_type {
            "application/json" => Some(Self::Json),
            "text/plain" | "text/*" => Some(Self::Plain),
            "text/html" => Some(Self::Html),
            _ => None,
        })
    }
}

/// Returns the form whose media type has the highest weight in `Accept` (RFC 9110, 12.5.1), the first of several. All
/// ranges, and HTML if that is no form, stand for the default.
fn preferred<T: Copy>(accept: &str, default: T, form: impl Fn(&str) -> Option<T>) -> T {
    let mut best = (0, default);
    let mut any = 0;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(weight).unwrap_or(1000);
        match form(&media_type) {
            Some(form) if weight > best.0 => best = (weight, form),
            None if matches!(media_type.as_str(), "*/*" | "application/*" | "text/html") => {
                any = any.max(weight)
            }
            _ => {}
        }
    }
    if any > best.0 { default } else { best.1 }
}

/// Returns true if `Accept-Encoding` lists gzip with a weight other than 0 (RFC 9110, 12.5.3).
pub fn accepts_gzip(codings: &str) -> bool {
    codings.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        matches!(name.as_str(), "gzip" | "x-gzip" | "*") && parts.find_map(weight) != Some(0)
    })
}

/// Returns the weight in thousandths if the parameter of a media range or coding is one; 0 if it is malformed.
fn weight(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    name.trim_end().eq_ignore_ascii_case("q").then(|| thousandths(value.trim()).unwrap_or(0))
}

/// Parses `0` or `1` with up to three decimals, in thousandths.
fn thousandths(figure: &str) -> Option<u16> {
    let (whole, decimals) = figure.split_once('.').unwrap_or((figure, ""));
    let digits = decimals.len() <= 3 && decimals.bytes().all(|byte| byte.is_ascii_digit());
    let thousandths: u16 = format!("{decimals:0<3}").parse().ok().filter(|_| digits)?;
    match (whole, thousandths) {
        ("0", _) => Some(thousandths),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

/// The name of the function that a JSONP response calls: identifiers of ASCII letters, digits, `_` and `$`, separated
/// by dots, of which the first is no reserved word. It is the only text of a client that is written into a script as
/// code, so nothing else is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback(String);

/// A text is not the name of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "The callback must be the name of a JavaScript function, such as a.b.c, with at most {} characters.",
    Callback::MAX_LENGTH
)]
pub struct CallbackError;

impl Callback {
    /// Maximum number of characters.
    pub const MAX_LENGTH: usize = 128;
}

impl FromStr for Callback {
    type Err = CallbackError;

    fn from_str(text: &str) -> Result<Self, CallbackError> {
        let named = text.len() <= Self::MAX_LENGTH && text.split('.').all(is_identifier);
        // After a dot, reserved words are names of properties.
        let is_reserved = text.split('.').next().is_some_and(|first| RESERVED_WORDS.contains(&first));
        (named && !is_reserved).then(|| Self(text.to_owned())).ok_or(CallbackError)
    }
}

impl fmt::Display for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// JavaScript's reserved words (ECMAScript 2025, section 12.7.2), which cannot be names of functions.
const RESERVED_WORDS: [&str; 38] = [
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "import",
    "in",
    "instanceof",
    "new",
    "null",
    "return",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

fn is_identifier(text: &str) -> bool {
    let begins = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    let mut bytes = text.bytes();
    bytes.next().is_some_and(begins) && bytes.all(|byte| begins(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(
        format: Option<&str>,
        callback: Option<&str>,
        accept: Option<&str>,
    ) -> Result<Variant, NotAcceptable> {
        Variant::choose(format, callback, accept)
    }

    #[test]
    fn gzip_is_accepted_by_name_unless_its_weight_is_zero() {
        for codings in ["gzip", "br, gzip;q=0.5", "x-gzip", "*", "deflate,gzip, br"] {
            assert!(accepts_gzip(codings), "{codings}");
        }
        for codings in ["", "identity", "br", "gzip;q=0", "gzip; q=0.0", "notgzip"] {
            assert!(!accepts_gzip(codings), "{codings}");
        }
    }

    #[test]
    fn accept_selects_xml_only_if_it_names_and_prefers_it() {
        for (accept, format) in [
            ("", Format::Json),
            ("*/*", Format::Json),
            ("application/json", Format::Json),
            ("application/xml", Format::Xml),
            ("TEXT/XML", Format::Xml),
            ("application/xml;q=0.9, application/json;q=0.8", Format::Xml),
            ("application/xml;q=0.8, application/json", Format::Json),
            ("application/xml, application/json", Format::Xml),
            ("application/json, application/xml", Format::Json),
            ("application/xml;q=0", Format::Json),
            ("application/xml;q=nonsense", Format::Json),
            ("application/xml; charset=utf-8; Q=1.0", Format::Xml),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Format::Json), // Firefox, Safari
            ("application/xml,application/xhtml+xml,text/html;q=0.9,*/*;q=0.5", Format::Xml),
            ("application/xml, text/html", Format::Xml),
            ("application/xml;q=0.5, */*", Format::Json),
            ("application/xml;q=0.801, application/json;q=0.8", Format::Xml),
            ("application/xml;q=0.8001, application/json;q=0.8", Format::Json),
            ("application/xml;q=1.001", Format::Json),
            ("application/xml;q=-1", Format::Json),
            ("image/png", Format::Json),
            (",;q=,,/;=", Format::Json),
        ] {
            assert_eq!(choose(None, None, Some(accept)), Ok(Variant::Standard(format)), "{accept}");
        }
        assert_eq!(choose(None, None, None), Ok(Variant::Standard(Format::Json)));
    }

    #[test]
    fn format_wraps_and_overrides_accept() {
        assert_eq!(choose(Some("json"), None, Some("application/xml")), Ok(Variant::Wrapped(Format::Json)));
        assert_eq!(choose(Some("xml"), None, Some("application/json")), Ok(Variant::Wrapped(Format::Xml)));
        let expected =
            NotAcceptable { error: NegotiationError::UnknownFormat, variant: Variant::Wrapped(Format::Json) };
        for unknown in ["", "JSON", "yaml"] {
            assert_eq!(choose(Some(unknown), None, None), Err(expected.clone()), "{unknown}");
        }
    }

    #[test]
    fn a_callback_overrides_accept() {
        let called = Variant::Jsonp("cb".parse().unwrap());
        for (format, accept) in [(None, None), (Some("json"), None), (None, Some("application/xml"))] {
            assert_eq!(choose(format, Some("cb"), accept), Ok(called.clone()), "{format:?} {accept:?}");
        }
        let expected = NotAcceptable { error: NegotiationError::UnknownFormat, variant: called };
        assert_eq!(choose(Some("yaml"), Some("cb"), None), Err(expected));
    }

    #[test]
    fn a_malformed_callback_is_never_written_into_a_script() {
        let xml = NotAcceptable {
            error: NegotiationError::CallbackWithXml,
            variant: Variant::Wrapped(Format::Xml),
        };
        for callback in ["cb", "1;alert(1)"] {
            assert_eq!(choose(Some("xml"), Some(callback), None), Err(xml.clone()), "{callback}");
        }
        let plain = NotAcceptable { error: CallbackError.into(), variant: Variant::Standard(Format::Json) };
        for format in [None, Some("json"), Some("yaml")] {
            assert_eq!(choose(format, Some("1;alert(1)"), None), Err(plain.clone()), "{format:?}");
        }
    }

    #[test]
    fn the_callbacks_of_old_clients_are_accepted() {
        let longest = "a".repeat(128);
        for name in [
            "cb",
            "jQuery123_456",
            "_jsonCallback7",
            "a.b.c",
            "$",
            "$.f",
            "_",
            "A9",
            "a.class",
            "thisOne",
            &longest,
        ] {
            assert_eq!(name.parse::<Callback>().map(|name| name.to_string()).as_deref(), Ok(name));
        }
    }

    #[test]
    fn no_other_callback_is_accepted() {
        let too_long = "a".repeat(129);
        for text in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "1a",
            "a.1",
            "a b",
            "a-b",
            "a[0]",
            "a()",
            "alert(1)//",
            "a;b",
            "a\n",
            "</script>",
            "a\u{2028}b",
            "é",
            "a\\u0041",
            "a\0",
            "class",
            "this",
            "this.a",
            "null.f",
            &too_long,
        ] {
            assert_eq!(text.parse::<Callback>(), Err(CallbackError), "{text:?}");
        }
    }

    #[test]
    fn accept_selects_the_form_of_words() {
        for (accept, expected) in [
            ("", TextForm::Json),
            ("*/*", TextForm::Json),
            ("application/json", TextForm::Json),
            ("text/plain", TextForm::Plain),
            ("text/*, application/json;q=0.9", TextForm::Plain),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", TextForm::Html),
            ("text/plain;q=0.5, */*;q=0.8", TextForm::Json),
            ("text/plain;q=0.5, text/html;q=0.6", TextForm::Html),
            ("image/png", TextForm::Json),
        ] {
            assert_eq!(TextForm::accepted(accept), expected, "{accept}");
        }
    }
}
