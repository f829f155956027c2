//! The form of a response: with its own status, wrapped in a response object, or as a script (JSONP); in JSON or XML.

use crate::response::callback::{Callback, CallbackError};

/// The serialization of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, the default.
    Json,
    /// XML, on request.
    Xml,
}

/// Where status and headers of the response are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variant {
    /// In the status line and the headers, as usual.
    Standard(Format),
    /// In a response object in the body; the status is always 200.
    Wrapped(Format),
    /// In a response object, which a script passes to a function.
    Jsonp(Callback),
}

/// A form that does not exist, and the variant of the error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAcceptable {
    /// The error.
    pub error: NegotiationError,
    /// The variant of the error response.
    pub variant: Variant,
}

/// Why a form does not exist. Clients show the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NegotiationError {
    /// `format` is neither `json` nor `xml`.
    #[error("The format must be json or xml.")]
    UnknownFormat,
    /// A script cannot pass XML to a function.
    #[error("A callback needs JSON: leave format out, or give json.")]
    CallbackWithXml,
    /// `callback` is not the name of a function.
    #[error(transparent)]
    Callback(#[from] CallbackError),
}

impl Variant {
    /// The serialization of this variant.
    #[must_use]
    pub fn format(&self) -> Format {
        match self {
            Self::Standard(format) | Self::Wrapped(format) => *format,
            Self::Jsonp(_) => Format::Json,
        }
    }

    /// Chooses the variant by the query parameters `format` and `callback`, which override the header `Accept`.
    ///
    /// # Errors
    /// The format does not exist, or it cannot go with the callback.
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
    /// The media type, with its charset.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json; charset=utf-8",
            Self::Xml => "application/xml; charset=utf-8",
        }
    }

    /// The format that `Accept` prefers (RFC 9110, 12.5.1): XML where one of its media types is named with a higher
    /// weight than JSON's, otherwise JSON. Of two with the same weight, the first counts.
    fn accepted(accept: &str) -> Self {
        let mut best = (0, Self::Json);
        let mut any = 0; // the weight of a range that includes JSON without naming it
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.find_map(weight).unwrap_or(1000);
            let format = match media_type.as_str() {
                "application/json" => Self::Json,
                "application/xml" | "text/xml" => Self::Xml,
                "*/*" | "application/*" => {
                    any = any.max(weight);
                    continue;
                }
                _ => continue,
            };
            if weight > best.0 {
                best = (weight, format);
            }
        }
        if any > best.0 { Self::Json } else { best.1 }
    }
}

/// The weight in thousandths, if the parameter of a media range is the weight; 0 when it is malformed.
fn weight(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    name.trim_end().eq_ignore_ascii_case("q").then(|| thousandths(value.trim()).unwrap_or(0))
}

/// `0` or `1`, with up to three decimals.
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
    fn accept_chooses_xml_only_when_it_is_named_and_preferred() {
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
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Format::Xml),
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
    fn a_callback_makes_a_script_whatever_accept_says() {
        let called = Variant::Jsonp("cb".parse().unwrap());
        for (format, accept) in [(None, None), (Some("json"), None), (None, Some("application/xml"))] {
            assert_eq!(choose(format, Some("cb"), accept), Ok(called.clone()), "{format:?} {accept:?}");
        }
        let expected = NotAcceptable { error: NegotiationError::UnknownFormat, variant: called };
        assert_eq!(choose(Some("yaml"), Some("cb"), None), Err(expected));
    }

    #[test]
    fn a_callback_that_is_no_name_is_never_written_into_a_script() {
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
}
