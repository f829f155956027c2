//! Parses an SVG into a tree. References to other files and URLs are dropped, and the octaves of noise are limited.
//!
//! Source: SVG 1.1, appendix I.1 (gzip); XML 1.0 (Fifth Edition), appendix F (encodings); Filter Effects Module Level
//! 1, section 9.24 (feTurbulence).

use std::io::Read;
use std::thread;

use crate::formats::fonts::Fonts;
use crate::{SourceError, SourceFile};
use flate2::read::MultiGzDecoder;
use resvg::usvg::filter::Kind;
use resvg::usvg::roxmltree::Document;
use resvg::usvg::{ImageHrefResolver, Options, Tree, roxmltree};

/// The name of the format.
pub const NAME: &str = "SVG";

/// The largest number of elements, attributes and texts, with entities expanded. Real maps have some hundred thousand.
const MAX_NODES: u32 = 8_000_000;

/// The stack for parsing and drawing, in bytes. Both recurse into elements, at most a thousand deep.
pub const STACK_BYTES: usize = 32 << 20;

/// The largest number of octaves of noise that are drawn. Each octave has half the amplitude of the one before and
/// takes the same time. After the tenth, nothing is visible in 8 bits, but a document may ask for billions.
const MAX_OCTAVES: u32 = 10;

/// The signature of a gzipped file (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the SVG, gzipped or not.
pub fn read(file: SourceFile, max_bytes: u64, fonts: &Fonts) -> Result<Tree, SourceError> {
    let text = decode(unpack(file, max_bytes)?);
    // A thread of its own provides the stack, and ends if the parser panics on a broken file.
    let parse = || parse(&text, fonts);
    let parsed = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, parse)?;
        Ok::<_, SourceError>(thread.join())
    })?;
    parsed.unwrap_or_else(|_| Err(corrupt("its structure is invalid")))
}

fn unpack(mut file: SourceFile, max_bytes: u64) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    file.by_ref().take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.starts_with(&GZIP) {
        let packed = std::mem::take(&mut bytes);
        let mut unpacked = MultiGzDecoder::new(packed.as_slice()).take(max_bytes + 1);
        unpacked.read_to_end(&mut bytes).map_err(|_| corrupt("it cannot be decompressed"))?;
    }
    if bytes.len() as u64 > max_bytes {
        return Err(SourceError::TooManyBytes { format: NAME, bytes: max_bytes });
    }
    Ok(bytes)
}

/// Decodes the text of a file: UTF-16 by its first bytes, else UTF-8 if it is valid, else Latin-1, which old drawing
/// programs write.
fn decode(bytes: Vec<u8>) -> String {
    let utf_16 = |from: fn([u8; 2]) -> u16| {
        let (units, _) = bytes.as_chunks::<2>();
        char::decode_utf16(units.iter().copied().map(from))
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .skip_while(|&char| char == '\u{feff}')
            .collect()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] | [b'<', 0, ..] => utf_16(u16::from_le_bytes),
        [0xfe, 0xff, ..] | [0, b'<', ..] => utf_16(u16::from_be_bytes),
        _ => String::from_utf8(bytes)
            .unwrap_or_else(|latin_1| latin_1.as_bytes().iter().copied().map(char::from).collect()),
    }
}

fn parse(text: &str, fonts: &Fonts) -> Result<Tree, SourceError> {
    let document = parse_xml(text)?;
    let limited = with_fewer_octaves(&document, text);
    let document = match &limited {
        Some(text) => parse_xml(text)?,
        None => document,
    };
    if document.root_element().tag_name().name() != "svg" {
        return Err(SourceError::unsupported(NAME, "its root element is not <svg>"));
    }
    if let Some(sized) = with_size(text, document.root_element()) {
        return parse(&sized, fonts);
    }
    let options = Options {
        fontdb: fonts.database(),
        image_href_resolver: ImageHrefResolver {
            resolve_data: ImageHrefResolver::default_data_resolver(),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    let tree = Tree::from_xmltree(&document, &options).map_err(corrupt)?;
    if most_octaves(&tree) > MAX_OCTAVES {
        return Err(SourceError::too_complex(NAME, "its noise has too many octaves"));
    }
    Ok(tree)
}

fn parse_xml(text: &str) -> Result<Document<'_>, SourceError> {
    // Drawing programs declare entities for their namespaces.
    let options = roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..Default::default() };
    Document::parse_with_options(text, options).map_err(corrupt)
}

/// Wraps a document without a size in one that has a size. Browsers draw it as a replaced element of 300×150 pixels
/// (CSS 2.2, 10.3.2), while usvg would crop it to its content. A given side is kept.
fn with_size(text: &str, svg: roxmltree::Node<'_, '_>) -> Option<String> {
    let side = |name| svg.attribute(name).map(str::trim).filter(|length| is_absolute(length));
    let (width, height) = (side("width"), side("height"));
    if (width.is_some() && height.is_some()) || svg.attribute("viewBox").is_some_and(is_view_box) {
        return None;
    }
    let range = svg.range();
    let (before, inside, behind) =
        (text.get(..range.start)?, text.get(range.clone())?, text.get(range.end..)?);
    let (width, height) = (width.unwrap_or("300"), height.unwrap_or("150"));
    Some(format!(
        r#"{before}<svg xmlns="{NAMESPACE}" width="{width}" height="{height}">{inside}</svg>{behind}"#
    ))
}

const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// Returns true if a length is a number with or without a unit, but not a percentage.
fn is_absolute(length: &str) -> bool {
    length.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '.' | '+'))
        && length.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '+' | '-'))
}

fn is_view_box(numbers: &str) -> bool {
    let numbers = numbers.split([' ', ',', '\t', '\n', '\r']).filter(|number| !number.is_empty());
    let numbers: Vec<Option<f64>> = numbers.map(|number| number.parse().ok()).collect();
    matches!(numbers.as_slice(), [Some(_), Some(_), Some(width), Some(height)] if *width > 0.0 && *height > 0.0)
}

/// Limits the octaves of noise in a document's text. Returns `None` if no filter has too many.
fn with_fewer_octaves(document: &Document<'_>, text: &str) -> Option<String> {
    let is_too_many =
        |value: &str| value.trim().parse::<f32>().is_ok_and(|octaves| octaves > MAX_OCTAVES as f32);
    let mut values: Vec<_> = document
        .descendants()
        .filter(|node| node.tag_name().name() == "feTurbulence")
        .flat_map(|node| node.attributes())
        .filter(|attribute| attribute.name() == "numOctaves" && is_too_many(attribute.value()))
        .map(|attribute| attribute.range_value())
        .collect();
    if values.is_empty() {
        return None;
    }
    // From the end, so that earlier ranges stay valid. A value in an entity may be found several times.
    values.sort_by_key(|range| std::cmp::Reverse(range.start));
    values.dedup();
    let mut limited = text.to_owned();
    for range in values {
        if limited.get(range.clone()).is_some() {
            limited.replace_range(range, &MAX_OCTAVES.to_string());
        }
    }
    Some(limited)
}

/// Returns the largest number of octaves of all filters.
fn most_octaves(tree: &Tree) -> u32 {
    let kinds =
        tree.filters().iter().flat_map(|filter| filter.primitives()).map(|primitive| primitive.kind());
    kinds
        .map(|kind| if let Kind::Turbulence(noise) = kind { noise.num_octaves() } else { 0 })
        .max()
        .unwrap_or(0)
}

fn corrupt(reason: impl std::fmt::Display) -> SourceError {
    SourceError::corrupt(NAME, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Option<String> {
        with_fewer_octaves(&Document::parse(text).unwrap(), text)
    }

    #[test]
    fn invisible_octaves_are_removed() {
        let svg = |first: &str, second: &str| {
            format!("<svg><feTurbulence numOctaves='{first}'/>ä<feTurbulence numOctaves=\"{second}\"/></svg>")
        };
        assert_eq!(limit(&svg("2000000000", " 1e9 ")), Some(svg("10", "10")));
        assert_eq!(limit(&svg("3", "11")), Some(svg("3", "10")));
        assert_eq!(limit(&svg("10", "many")), None);
    }
}
