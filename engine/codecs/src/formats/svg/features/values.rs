//! Values of CSS: which of them resvg knows, which only browsers know, and which nobody knows.

use std::borrow::Cow;

use svgtypes::Paint;

use super::super::css::functions;

pub fn is_paint(name: &str) -> bool {
    matches!(
        name,
        "fill" | "stroke" | "stop-color" | "flood-color" | "lighting-color" | "color" | "background-color"
    )
}

/// Returns a paint as resvg knows it, if it does. Its keywords have one spelling, and one name is missing.
pub fn known_paint(value: &str) -> Option<Cow<'_, str>> {
    if Paint::from_str(value).is_ok() {
        return Some(Cow::Borrowed(value));
    }
    let lower = value.trim().to_ascii_lowercase();
    let known = match lower.as_str() {
        "currentcolor" => "currentColor",
        "rebeccapurple" => "#663399",
        other => other,
    };
    Paint::from_str(known).is_ok().then(|| Cow::Owned(known.to_owned()))
}

/// Returns a value of `font` without the line height, at whose slash simplecss stops.
pub fn without_line_height(font: &str) -> Cow<'_, str> {
    let Some((size, rest)) = font.split_once('/') else { return Cow::Borrowed(font) };
    let family = rest.trim_start().split_once(char::is_whitespace).map_or("", |(_, family)| family);
    Cow::Owned(format!("{} {family}", size.trim_end()))
}

/// Returns true for a paint that neither resvg nor a browser knows.
pub fn is_unknown_paint(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let is_known_function = functions(value).any(|function| {
        matches!(
            function.as_str(),
            "var"
                | "env"
                | "attr"
                | "rgb"
                | "rgba"
                | "hsl"
                | "hsla"
                | "hwb"
                | "color"
                | "lab"
                | "lch"
                | "oklab"
                | "oklch"
                | "color-mix"
                | "contrast-color"
                | "light-dark"
                | "url"
        )
    });
    known_paint(value).is_none() && !is_known_function && !is_system_colour(&lower)
}

/// Returns true for a value that no browser knows, which CSS drops.
pub fn is_invalid(name: &str, value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_number =
        lower.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '.' | '+' | '-'));
    let is_word = matches!(lower.as_str(), "inherit" | "initial" | "unset" | "revert" | "revert-layer");
    let may_be_number = is_number || is_word || functions(value).next().is_some();
    match name {
        "opacity" | "fill-opacity" | "stroke-opacity" | "stop-opacity" | "flood-opacity" | "stroke-width" => {
            !may_be_number && !lower.starts_with("context-")
        }
        "font-size" => {
            let is_size = ["small", "medium", "large", "math"].iter().any(|size| lower.contains(size));
            !may_be_number && !is_size
        }
        "transform" => is_invalid_transform(&lower),
        name => is_paint(name) && is_unknown_paint(value),
    }
}

/// Returns true for a transform in the syntax of attributes: in CSS, lengths and angles have units, and commas are
/// between them.
fn is_invalid_transform(lower: &str) -> bool {
    let is_wrong = |argument: &str| match argument.trim().parse::<f64>() {
        Ok(number) => number != 0.0,
        Err(_) => argument.trim().split(' ').all(|part| part.parse::<f64>().is_ok()),
    };
    lower.split(')').any(|function| {
        let (name, arguments) = function.split_once('(').unwrap_or_default();
        matches!(name.trim(), "translate" | "rotate" | "skewx" | "skewy")
            && arguments.split(',').any(is_wrong)
    })
}

/// Returns true for the colours of the system (CSS Color 4, 6.2), and for keywords that every property has.
pub fn is_system_colour(lower: &str) -> bool {
    matches!(
        lower,
        "canvas"
            | "canvastext"
            | "linktext"
            | "visitedtext"
            | "activetext"
            | "buttonface"
            | "buttontext"
            | "buttonborder"
            | "field"
            | "fieldtext"
            | "highlight"
            | "highlighttext"
            | "selecteditem"
            | "selecteditemtext"
            | "mark"
            | "marktext"
            | "graytext"
            | "accentcolor"
            | "accentcolortext"
            | "initial"
            | "unset"
            | "revert"
            | "revert-layer"
            | "window"
            | "windowtext"
    )
}

/// Returns true for a transform that only CSS has: with units, or a function that attributes do not have.
pub fn is_css_transform(lower: &str) -> bool {
    let has_unit = lower
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [b'0'..=b'9' | b'.', next] if next.is_ascii_alphabetic() && *next != b'e' || *next == b'%'));
    has_unit
        || functions(lower).any(|function| {
            !matches!(function.as_str(), "matrix" | "translate" | "scale" | "rotate" | "skewx" | "skewy")
        })
}
