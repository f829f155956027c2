//! An SVG's file, read and made a tree that can be drawn. Whatever it refers to outside of itself is left out: no file is
//! read, no address asked.

use std::fs::File;
use std::io::Read;
use std::thread;

use flate2::read::MultiGzDecoder;
use resvg::usvg::{ImageHrefResolver, Options, Tree, roxmltree};

use super::FORMAT;
use crate::SourceError;
use crate::vector::fonts::Fonts;

/// How many elements, attributes and texts an SVG may have, entities expanded. Real maps have some hundred thousand.
const MOST_NODES: u32 = 8_000_000;

/// The stack for parsing and drawing. Both go into elements by recursion, a thousand deep at most.
pub const STACK_BYTES: usize = 32 << 20;

/// What a gzipped file begins with (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the SVG, gzipped or not.
pub fn read(file: File, most_bytes: u64, fonts: &Fonts) -> Result<Tree, SourceError> {
    let text = decode(unpack(file, most_bytes)?);
    // On a thread of its own for the stack, and because a parser that panics has met a broken file.
    let parse = || parse(&text, fonts);
    let parsed = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, parse)?;
        Ok::<_, SourceError>(thread.join())
    })?;
    parsed.unwrap_or_else(|_| Err(corrupt("the parser gave up on it")))
}

fn unpack(mut file: File, most_bytes: u64) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    file.by_ref().take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.starts_with(&GZIP) {
        let packed = std::mem::take(&mut bytes);
        let mut unpacked = MultiGzDecoder::new(packed.as_slice()).take(most_bytes + 1);
        unpacked.read_to_end(&mut bytes).map_err(|_| corrupt("it does not unpack"))?;
    }
    if bytes.len() as u64 > most_bytes {
        return Err(SourceError::TooManyBytes { format: &FORMAT, bytes: most_bytes });
    }
    Ok(bytes)
}

/// The text of the file: UTF-16 if it begins so, UTF-8 if it is that, else Latin-1, which old drawing programs wrote.
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
    // Drawing programs declare entities for their namespaces.
    let options =
        roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(text, options).map_err(corrupt)?;
    if document.root_element().tag_name().name() != "svg" {
        return Err(SourceError::Unknown);
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
    Tree::from_xmltree(&document, &options).map_err(corrupt)
}

/// Whether the document says how large it is. Without that a browser would show as much of it as the window has room for.
fn has_size(svg: roxmltree::Node<'_, '_>) -> bool {
    let is_absolute = |name| svg.attribute(name).is_some_and(|length| !length.trim_end().ends_with('%'));
    svg.has_attribute("viewBox") || (is_absolute("width") && is_absolute("height"))
}

fn corrupt(reason: impl std::fmt::Display) -> SourceError {
    FORMAT.corrupt(reason)
}
