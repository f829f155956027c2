//! The embed script, `/<id>.js`: the loader of the browser's side (`viewer/loader.js`) called with what the address says. It
//! does not look the content up; the loader asks for it when the reader comes near.

use std::str::FromStr;

use edgezoom_content::ContentId;
use http::StatusCode;
use serde::Serialize;

use super::{Answer, Keep};
use crate::config::Addresses;
use crate::escape;

/// The loader: a function expression that takes one object.
const LOADER: &str = include_str!("../../viewer/loader.js");

/// Where and how large an embedded viewer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its width.
    pub width: Length,
    /// Its height.
    pub height: Length,
    /// The id of the element in the host's page that takes it; none: where the script is.
    pub element: Option<String>,
}

/// A width or a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As much as there is, or as the picture's shape asks for.
    Auto,
    /// CSS pixels.
    Pixels(u32),
    /// A part of what surrounds it.
    Percent(u32),
}

/// A text that is no length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a length is auto, 0, a number, or a number with px or %")]
pub struct LengthError;

/// What the loader is called with.
#[derive(Serialize)]
struct Setting<'a> {
    content: String,
    viewer: String,
    width: String,
    height: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    element: Option<&'a str>,
}

/// The script.
#[must_use]
pub fn script(id: ContentId, frame: &Frame, addresses: &Addresses) -> Answer {
    let setting = Setting {
        content: addresses.content(id),
        viewer: addresses.asset("viewer.js"),
        width: frame.width.css(),
        height: frame.height.css(),
        element: frame.element.as_deref(),
    };
    let setting = escape::script(&serde_json::to_string(&setting).unwrap_or_default());
    let body = format!("{}({setting});\n", LOADER.trim_end());
    Answer::new(StatusCode::OK, "text/javascript; charset=utf-8", Keep::AnHour, body).tagged()
}

impl Length {
    fn css(self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Pixels(count) => format!("{count}px"),
            Self::Percent(part) => format!("{part}%"),
        }
    }
}

impl FromStr for Length {
    type Err = LengthError;

    fn from_str(text: &str) -> Result<Self, LengthError> {
        let number = |digits: &str| {
            let plain = digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten().ok_or(LengthError)
        };
        match text {
            "auto" | "0" => Ok(Self::Auto),
            _ => match text.strip_suffix('%') {
                Some(part) => number(part).map(Self::Percent),
                None => number(text.strip_suffix("px").unwrap_or(text)).map(Self::Pixels),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_understood_or_refused() {
        for (text, length) in [
            ("auto", Ok(Length::Auto)),
            ("0", Ok(Length::Auto)),
            ("640", Ok(Length::Pixels(640))),
            ("640px", Ok(Length::Pixels(640))),
            ("50%", Ok(Length::Percent(50))),
            ("", Err(LengthError)),
            ("px", Err(LengthError)),
            ("-1", Err(LengthError)),
            ("1e3", Err(LengthError)),
            ("9999999", Err(LengthError)),
            ("1px;color:red", Err(LengthError)),
        ] {
            assert_eq!(text.parse(), length, "{text}");
        }
    }

    #[test]
    fn the_script_calls_the_loader_and_cannot_be_left() {
        let addresses = Addresses {
            base: "https://a.example".into(),
            share: "https://s.example".into(),
            cache: String::new(),
        };
        let element = Some("</script>\"'\u{2028}".to_owned());
        let frame = Frame { width: Length::Auto, height: Length::Pixels(400), element };
        let answer = script("6qy4OXfXSid".parse().unwrap(), &frame, &addresses);
        let call = answer.body.strip_prefix(LOADER.trim_end()).unwrap();
        insta::assert_snapshot!(call, @r#"({"content":"https://a.example/v1/content/6qy4OXfXSid","viewer":"https://s.example/assets/viewer.js","width":"auto","height":"400px","element":"\u003c/script\u003e\"'\u2028"});"#);
    }
}
