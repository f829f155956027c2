//! In which form a caller wants the answer: with real statuses or wrapped, in JSON or XML.

/// How a content is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, the default.
    Json,
    /// XML, for who asks for it.
    Xml,
}

/// Whether status and headers are real or in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Real statuses and headers.
    Standard(Format),
    /// Always 200; what the standard variant would have sent is in the body.
    Wrapped(Format),
}

/// A `format` that does not exist. Who gives one wants the wrapped variant, and gets it in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFormat;

impl Variant {
    /// Chooses by the query parameter `format`, which overrides the header `Accept`.
    ///
    /// # Errors
    /// The format does not exist.
    pub fn choose(format: Option<&str>, accept: Option<&str>) -> Result<Self, UnknownFormat> {
        match format {
            None => Ok(Self::Standard(accept.map_or(Format::Json, Format::accepted))),
            Some("json") => Ok(Self::Wrapped(Format::Json)),
            Some("xml") => Ok(Self::Wrapped(Format::Xml)),
            Some(_) => Err(UnknownFormat),
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

    /// The format that `Accept` prefers (RFC 9110, 12.5.1): XML where one of its media types is named and weighs more than
    /// JSON does, in all other cases JSON. Between two named with one weight, the first counts.
    fn accepted(accept: &str) -> Self {
        let mut best = (0, Self::Json);
        let mut any = 0; // what a range that includes JSON without naming it weighs
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

/// The weight that a parameter of a media range gives, in thousandths, if it is the one for that; one that is not understood
/// weighs nothing.
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
            assert_eq!(Variant::choose(None, Some(accept)), Ok(Variant::Standard(format)), "{accept}");
        }
        assert_eq!(Variant::choose(None, None), Ok(Variant::Standard(Format::Json)));
    }

    #[test]
    fn format_wraps_and_overrides_accept() {
        assert_eq!(
            Variant::choose(Some("json"), Some("application/xml")),
            Ok(Variant::Wrapped(Format::Json))
        );
        assert_eq!(Variant::choose(Some("xml"), Some("application/json")), Ok(Variant::Wrapped(Format::Xml)));
        for unknown in ["", "JSON", "yaml"] {
            assert_eq!(Variant::choose(Some(unknown), None), Err(UnknownFormat), "{unknown}");
        }
    }
}
