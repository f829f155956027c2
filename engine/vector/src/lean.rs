//! Recognises what the writer writes, so that a program can pass on an SVG of a process that it does not trust. Elements,
//! attributes and each value are compared with those of the writer: what is not known is refused. There is no text, comment,
//! declaration or entity, so no parser is needed.

use crate::limits::MAX_BYTES;

/// Maximum depth of elements: the writer's clips and groups, with their paths.
const MAX_OPEN: usize = 16;

const ELEMENTS: [&str; 5] = ["path", "g", "clipPath", "image", "set"];

/// Attributes with a number, or several.
const NUMBERS: [&str; 10] = [
    "width",
    "height",
    "viewBox",
    "opacity",
    "fill-opacity",
    "stroke-opacity",
    "stroke-width",
    "stroke-miterlimit",
    "stroke-dasharray",
    "stroke-dashoffset",
];

/// Attributes with words.
const WORDS: [(&str, &str); 11] = [
    ("xmlns", "http://www.w3.org/2000/svg"),
    ("attributeName", "class"),
    ("begin", "indefinite"),
    ("fill-rule", "evenodd"),
    ("clip-rule", "evenodd"),
    ("stroke-linecap", "round"),
    ("stroke-linecap", "square"),
    ("stroke-linejoin", "round"),
    ("stroke-linejoin", "bevel"),
    ("preserveAspectRatio", "none"),
    ("style", "image-rendering:pixelated"),
];

/// Returns true if an SVG has nothing but what a [`Drawing`](crate::Drawing) writes: it runs nothing, refers to nothing outside
/// of itself, and unfolds nothing.
#[must_use]
pub fn is_lean(svg: &str) -> bool {
    svg.len() <= MAX_BYTES && read(svg).is_some()
}

fn read(mut svg: &str) -> Option<()> {
    let mut open = Vec::new();
    loop {
        let (tag, after) = svg.strip_prefix('<')?.split_once('>')?;
        svg = after;
        if let Some(name) = tag.strip_prefix('/') {
            (open.pop()? == name).then_some(())?;
        } else {
            let start = tag.strip_suffix('/').unwrap_or(tag);
            let (name, attributes) = start.split_once(' ')?;
            let is_known = if open.is_empty() { name == "svg" } else { ELEMENTS.contains(&name) };
            is_known.then_some(())?;
            all_known(attributes)?;
            if start == tag {
                open.push(name);
            }
        }
        if open.is_empty() {
            return svg.is_empty().then_some(());
        }
        (open.len() <= MAX_OPEN).then_some(())?;
    }
}

fn all_known(mut attributes: &str) -> Option<()> {
    loop {
        let (name, after) = attributes.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        is_known(name, value).then_some(())?;
        if after.is_empty() {
            return Some(());
        }
        attributes = after.strip_prefix(' ')?;
    }
}

fn is_known(name: &str, value: &str) -> bool {
    let has_only =
        |value: &str, marks: &[u8]| value.bytes().all(|byte| byte.is_ascii_digit() || marks.contains(&byte));
    let within = |start, end| value.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    match name {
        "d" => has_only(value, b"MmhvlqcCz -"),
        "fill" | "stroke" => {
            value == "none" || within("#", "").is_some_and(|colour| has_only(colour, b"abcdef"))
        }
        "transform" => within("matrix(", ")").is_some_and(|matrix| has_only(matrix, b" .-")),
        "id" => within("c", "").is_some_and(|number| has_only(number, b"")),
        "clip-path" => within("url(#c", ")").is_some_and(|number| has_only(number, b"")),
        "href" => {
            let file = within("data:image/png;base64,", "").or(within("data:image/jpeg;base64,", ""));
            file.is_some_and(|file| {
                file.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
            })
        }
        _ if NUMBERS.contains(&name) => has_only(value, b" .-"),
        _ => WORDS.contains(&(name, value)),
    }
}
