//! Parses an SVG into a tree. References to other files and URLs are dropped, the octaves of noise are limited, and
//! [`features`] writes what resvg does not know as it knows it, as far as possible.
//!
//! Source: SVG 1.1, appendix I.1 (gzip); XML 1.0 (Fifth Edition), appendix F (encodings); Filter Effects Module Level
//! 1, section 9.24 (feTurbulence).

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::thread;

use super::features::{self, Edit, Findings, edited, is_absolute};
use super::notes::{self, Notes};
use crate::formats::fonts::Fonts;
use crate::formats::metadata::xmp;
use crate::{Metadata, SourceError, SourceFile};
use edgezoom_geometry::DrawingFeatures;
use flate2::read::MultiGzDecoder;
use resvg::usvg::filter::Kind;
use resvg::usvg::roxmltree::Document;
use resvg::usvg::{ImageHrefResolver, ImageKind, Options, Tree, roxmltree};

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

/// A drawing that has been read.
pub struct Parsed {
    pub tree: Tree,
    /// Features that need a browser.
    pub features: DrawingFeatures,
    /// Links and alternative texts.
    pub notes: Notes,
    /// The title and the credits of the whole drawing.
    pub metadata: Metadata,
}

/// Maximum number of characters of a title.
const MAX_TITLE: usize = 500;

/// Reads the SVG, gzipped or not, and its links and alternative texts if they are wanted.
pub fn read(file: SourceFile, max_bytes: u64, fonts: &Fonts, noted: bool) -> Result<Parsed, SourceError> {
    let text = decode(unpack(file, max_bytes)?);
    // A thread of its own provides the stack, and ends if the parser panics on a broken file.
    let parse = || parse(&text, fonts, noted);
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

fn parse(text: &str, fonts: &Fonts, noted: bool) -> Result<Parsed, SourceError> {
    let document = parse_xml(text)?;
    if document.root_element().tag_name().name() != "svg" {
        return Err(SourceError::unsupported(NAME, "its root element is not <svg>"));
    }
    let Findings { features, mut edits } = features::read(&document, text);
    edits.extend(fewer_octaves(&document));
    let (notes, identifiers) = if noted { notes::read(&document, text) } else { Default::default() };
    edits.extend(identifiers);
    let (tree, features) = match edited(text, edits) {
        Some(text) => convert(&text, &parse_xml(&text)?, fonts, features),
        None => convert(text, &document, fonts, features),
    }?;
    let metadata = Metadata { title: title_of(&document), ..xmp::of_tree(&document) };
    Ok(Parsed { tree, features, notes, metadata })
}

/// Returns the title of a drawing: the text of the first `<title>` in the root element (SVG 2, 5.8.2).
fn title_of(document: &Document<'_>) -> Option<String> {
    let title = document.root_element().children().find(|child| child.tag_name().name() == "title")?;
    let text =
        title.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).flat_map(str::chars);
    let text: String = text.take(MAX_TITLE).collect();
    (!text.trim().is_empty()).then_some(text)
}

/// Converts a document to a tree. Returns the features that need a browser, too.
fn convert(
    text: &str,
    document: &Document<'_>,
    fonts: &Fonts,
    mut features: DrawingFeatures,
) -> Result<(Tree, DrawingFeatures), SourceError> {
    let missing = Mutex::new(DrawingFeatures::default());
    let options = Options {
        fontdb: fonts.database(),
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(|media_type, picture, options| {
                if let Ok(mut missing) = missing.lock() {
                    *missing |= embedded_drawing(media_type, &picture);
                }
                let found = embedded_picture(media_type, picture, options);
                if let (None, Ok(mut missing)) = (&found, missing.lock()) {
                    *missing |= DrawingFeatures::PICTURES;
                }
                found
            }),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    let tree = match with_size(text, document.root_element()) {
        Some(sized) => Tree::from_xmltree(&parse_xml(&sized)?, &options),
        None => Tree::from_xmltree(document, &options),
    };
    let tree = tree.map_err(corrupt)?;
    if most_octaves(&tree) > MAX_OCTAVES {
        return Err(SourceError::too_complex(NAME, "its noise has too many octaves"));
    }
    drop(options);
    features |= missing.into_inner().unwrap_or_default();
    Ok((tree, features))
}

/// Returns what an embedded picture needs of a browser if it is a drawing.
fn embedded_drawing(media_type: &str, picture: &[u8]) -> DrawingFeatures {
    let text = Some(picture).filter(|_| media_type == "image/svg+xml").map(|svg| decode(svg.to_vec()));
    let document = text.as_deref().and_then(|text| parse_xml(text).ok());
    let read = document.zip(text.as_deref()).map(|(document, text)| features::read(&document, text).features);
    read.unwrap_or_default()
}

/// Returns an embedded picture in a format that resvg knows. Its bytes decide, as in browsers, not its media type.
fn embedded_picture(media_type: &str, picture: Arc<Vec<u8>>, options: &Options<'_>) -> Option<ImageKind> {
    match picture.as_slice() {
        [0xff, 0xd8, 0xff, ..] => Some(ImageKind::JPEG(picture)),
        [0x89, b'P', b'N', b'G', ..] => Some(ImageKind::PNG(picture)),
        [b'G', b'I', b'F', b'8', ..] => Some(ImageKind::GIF(picture)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageKind::WEBP(picture)),
        _ => ImageHrefResolver::default_data_resolver()(media_type, picture, options),
    }
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

fn is_view_box(numbers: &str) -> bool {
    let numbers = numbers.split([' ', ',', '\t', '\n', '\r']).filter(|number| !number.is_empty());
    let numbers: Vec<Option<f64>> = numbers.map(|number| number.parse().ok()).collect();
    matches!(numbers.as_slice(), [Some(_), Some(_), Some(width), Some(height)] if *width > 0.0 && *height > 0.0)
}

/// Returns the changes that limit the octaves of noise.
fn fewer_octaves(document: &Document<'_>) -> Vec<Edit> {
    let is_too_many =
        |value: &str| value.trim().parse::<f32>().is_ok_and(|octaves| octaves > MAX_OCTAVES as f32);
    document
        .descendants()
        .filter(|node| node.tag_name().name() == "feTurbulence")
        .flat_map(|node| node.attributes())
        .filter(|attribute| attribute.name() == "numOctaves" && is_too_many(attribute.value()))
        .map(|attribute| (attribute.range_value(), MAX_OCTAVES.to_string()))
        .collect()
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
        edited(text, fewer_octaves(&Document::parse(text).unwrap()))
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
