//! Parses an SVG into a tree that can be drawn. References to other files and addresses are dropped.
//!
//! Source: SVG 1.1, appendix I.1 (gzip), XML 1.0 (Fifth Edition), appendix F (encodings).

use std::fs::File;
use std::io::Read;
use std::thread;

use flate2::read::MultiGzDecoder;
use resvg::usvg::{ImageHrefResolver, Options, Tree, roxmltree};

use super::octaves;
use crate::SourceError;
use crate::vector::fonts::Fonts;

/// The format's name.
pub const NAME: &str = "SVG";

/// The elements, attributes and texts that an SVG may have, entities expanded. Real maps have some hundred thousand.
const MAX_NODES: u32 = 8_000_000;

/// The stack for parsing and drawing. Both recurse into elements, at most a thousand deep.
pub const STACK_BYTES: usize = 32 << 20;

/// The signature of a gzipped file (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the SVG, gzipped or not.
pub fn read(file: File, max_bytes: u64, fonts: &Fonts) -> Result<Tree, SourceError> {
    let text = decode(unpack(file, max_bytes)?);
    // A thread of its own has the stack, and a panic of the parser on a broken file ends there.
    let parse = || parse(&text, fonts);
    let parsed = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, parse)?;
        Ok::<_, SourceError>(thread.join())
    })?;
    parsed.unwrap_or_else(|_| Err(corrupt("its structure is invalid")))
}

fn unpack(mut file: File, max_bytes: u64) -> Result<Vec<u8>, SourceError> {
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

/// The text of the file: UTF-16 by its first bytes, else UTF-8 if it is valid, else Latin-1, as old drawing programs
/// write.
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
    let limited = octaves::limited(&document, text);
    let document = match &limited {
        Some(text) => parse_xml(text)?,
        None => document,
    };
    if document.root_element().tag_name().name() != "svg" {
        return Err(SourceError::unsupported(NAME, "its root element is not <svg>"));
    }
    if !has_size(document.root_element()) {
        return Err(corrupt("it has no size, neither width and height nor a viewBox"));
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
    if octaves::most(&tree) > octaves::MOST {
        return Err(SourceError::too_complex(NAME, "its noise has too many octaves"));
    }
    Ok(tree)
}

fn parse_xml(text: &str) -> Result<roxmltree::Document<'_>, SourceError> {
    // Drawing programs declare entities for their namespaces.
    let options = roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..Default::default() };
    roxmltree::Document::parse_with_options(text, options).map_err(corrupt)
}

/// Whether the document has a size. Without one, a browser fills its window with the drawing.
fn has_size(svg: roxmltree::Node<'_, '_>) -> bool {
    let is_absolute = |name| svg.attribute(name).is_some_and(|length| !length.trim_end().ends_with('%'));
    svg.has_attribute("viewBox") || (is_absolute("width") && is_absolute("height"))
}

fn corrupt(reason: impl std::fmt::Display) -> SourceError {
    SourceError::corrupt(NAME, reason)
}
