//! Reads the metadata of pictures: XMP, IPTC and EXIF, which JPEG, TIFF (with most raw files), PNG and WebP have in places
//! of their own. In files of other formats, the beginning is searched for XMP and EXIF. XMP counts before IPTC, and IPTC before EXIF,
//! as the Metadata Working Group says.
//!
//! Source: Metadata Working Group, "Guidelines for Handling Image Metadata" 2.0, 4 and 5; XMP Specification Part 3, 1.1.

use std::io::{BufReader, Read};
use std::str;

use edgezoom_jpeg::markers::{Markers, is_alone};
use flate2::read::ZlibDecoder;

use super::ifd::{Directory, Ifds, Kind, exif_directories};
use super::png;
use super::section::ReadAt;
use crate::{Metadata, SourceFile};

pub mod xmp;

/// Maximum number of bytes of a block: that of a JPEG's segment.
const MAX_BYTES: u64 = 64 << 10;
/// Number of bytes of a JPEG that are searched: before its pixels it may have thumbnails and profiles.
const JPEG_BYTES: u64 = 1 << 20;
/// Maximum number of texts of a PNG that are read.
const MAX_TEXTS: usize = 100;
/// Maximum number of chunks of a WebP that are looked at. An animation has one for each frame.
const MAX_CHUNKS: usize = 1 << 16;

/// Maximum number of places in a file of another format where EXIF may begin, and of bytes from its name to there.
const MAX_NAMES: usize = 16;
const MAX_BETWEEN: usize = 16;

/// Beginnings of TIFF.
const TIFF: [[u8; 4]; 2] = [*b"II\x2a\0", *b"MM\0\x2a"];

const ARTIST: u16 = 315;
const XMP: u16 = 700;
const COPYRIGHT: u16 = 33_432;
const IPTC: u16 = 33_723;
const PHOTOSHOP: u16 = 34_377;

/// The metadata of a file by its kind.
#[derive(Default)]
struct Found {
    xmp: Metadata,
    iptc: Metadata,
    exif: Metadata,
}

/// Reads the metadata of a picture's file. What cannot be read is left out.
pub fn read(file: &SourceFile) -> Metadata {
    let head = file.array_at::<12>(0).ok().flatten().unwrap_or_default();
    let Found { xmp, iptc, exif } = match head {
        [0xff, 0xd8, 0xff, ..] => of_jpeg(file),
        [0x89, b'P', b'N', b'G', ..] => of_png(file),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => of_webp(file),
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => of_tiff(file).unwrap_or_default(),
        _ => of_other(file),
    };
    xmp.or(iptc).or(exif)
}

/// Reads the segments up to the first scan.
fn of_jpeg(file: &SourceFile) -> Found {
    let mut markers = Markers::new(BufReader::new(file.apart().take(JPEG_BYTES)));
    let (mut found, mut resources) = (Found::default(), Vec::new());
    while let Ok(code) = markers.find_code() {
        if code == 0xd9 || code == 0xda {
            break;
        }
        if is_alone(code) {
            continue;
        }
        let Ok(segment) = markers.segment() else { break };
        let segment = segment.unwrap_or_default();
        let content = |name: &[u8]| segment.strip_prefix(name);
        if let (0xe1, Some(exif)) = (code, content(b"Exif\0\0")) {
            found.exif = found.exif.or(of_exif(exif));
        } else if let (0xe1, Some(packet)) = (code, content(b"http://ns.adobe.com/xap/1.0/\0")) {
            found.xmp = found.xmp.or(xmp::of_packet(packet));
        } else if let (0xed, Some(more)) = (code, content(b"Photoshop 3.0\0")) {
            // Resources that do not fit go on in the next segment.
            resources.extend_from_slice(more);
        }
    }
    Found { iptc: of_resources(&resources), ..found }
}

/// Reads the first directory.
fn of_tiff(file: &SourceFile) -> Option<Found> {
    let (mut ifds, mut first) = Ifds::of(file)?;
    if file.array_at::<4>(0).ok()??.contains(&43) {
        ifds.kind = Kind::Big;
        first = ifds.number(&file.array_at::<8>(8).ok()??);
    }
    let directory = ifds.directory(file, first).ok()?;
    let value = |tag, most| {
        let entry = directory.entry(tag)?;
        let is_within = entry.count.saturating_mul(entry.bytes_each() as u64) <= most;
        if is_within { ifds.bytes(file, entry).ok() } else { None }
    };
    let iptc = value(IPTC, MAX_BYTES).map(|block| of_iptc(&block)).unwrap_or_default();
    let resources = value(PHOTOSHOP, MAX_BYTES).map(|block| of_resources(&block)).unwrap_or_default();
    Some(Found {
        xmp: value(XMP, xmp::MAX_BYTES).map(|packet| xmp::of_packet(&packet)).unwrap_or_default(),
        iptc: iptc.or(resources),
        exif: of_directory(file, ifds, &directory),
    })
}

/// Reads all chunks: many programs write texts behind the pixels.
///
/// ```text
/// tEXt  keyword  0  text in Latin-1
/// iTXt  keyword  0  is compressed: u8  method: u8  language  0  translated keyword  0  text, zlib if compressed
/// ```
/// Source: PNG Specification (Third Edition), 11.3.3.
fn of_png(file: &SourceFile) -> Found {
    let mut found = Found::default();
    let of_words = |chunk: &png::Chunk| match &chunk.kind {
        b"eXIf" | b"tEXt" => u64::from(chunk.length) <= MAX_BYTES,
        b"iTXt" => u64::from(chunk.length) <= xmp::MAX_BYTES,
        _ => false,
    };
    for chunk in png::chunks(file).filter(of_words).take(MAX_TEXTS) {
        let mut content = vec![0; chunk.length as usize];
        if file.read_exact_at(&mut content, chunk.start).is_err() {
            break;
        }
        if chunk.kind == *b"eXIf" {
            found.exif = found.exif.or(of_exif(&content));
        } else if let Some((keyword, text)) = png_text(&content, chunk.kind == *b"iTXt") {
            match keyword {
                b"XML:com.adobe.xmp" => found.xmp = found.xmp.or(xmp::of_packet(&text)),
                b"Author" => found.exif.creator = found.exif.creator.or_else(|| decoded(&text)),
                b"Copyright" => found.exif.copyright = found.exif.copyright.or_else(|| decoded(&text)),
                _ => {}
            }
        }
    }
    found
}

/// Returns the keyword and the text of a chunk.
fn png_text(content: &[u8], is_international: bool) -> Option<(&[u8], Vec<u8>)> {
    let mut parts = content.splitn(2, |&byte| byte == 0);
    let (keyword, text) = (parts.next()?, parts.next()?);
    if !is_international {
        return Some((keyword, text.to_owned()));
    }
    let [is_compressed, _, rest @ ..] = text else { return None };
    let stored = rest.splitn(3, |&byte| byte == 0).nth(2)?;
    if *is_compressed == 0 {
        return Some((keyword, stored.to_owned()));
    }
    let mut text = Vec::new();
    ZlibDecoder::new(stored).take(xmp::MAX_BYTES).read_to_end(&mut text).ok()?;
    Some((keyword, text))
}

/// Reads the chunks, of which those with metadata are behind the pixels (RFC 9649, 2.7.1.5).
fn of_webp(file: &SourceFile) -> Found {
    let (mut found, mut at) = (Found::default(), 12);
    for _ in 0..MAX_CHUNKS {
        let Ok(Some([k0, k1, k2, k3, l0, l1, l2, l3])) = file.array_at::<8>(at) else { break };
        let (kind, length) = ([k0, k1, k2, k3], u64::from(u32::from_le_bytes([l0, l1, l2, l3])));
        let content = |most: u64| {
            let mut content = vec![0; if length <= most { length as usize } else { 0 }];
            file.read_exact_at(&mut content, at + 8).map(|()| content).unwrap_or_default()
        };
        match &kind {
            b"XMP " => found.xmp = found.xmp.or(xmp::of_packet(&content(xmp::MAX_BYTES))),
            b"EXIF" => found.exif = found.exif.or(of_exif(&content(MAX_BYTES))),
            _ => {}
        }
        at += 8 + length + length % 2;
    }
    found
}

/// Searches the beginning of a file for a packet of XMP and a block of EXIF. HEIF, JPEG XL and JPEG 2000 have a name before that:
///
/// ```text
/// HEIF's item      offset: u32  "Exif"  0  0  TIFF
/// JPEG XL's box    length: u32  "Exif"  offset: u32  TIFF
/// JPEG 2000's box  length: u32  "uuid"  "JpgTiffExif->JP2"  TIFF
/// ```
/// Source: ISO/IEC 23008-12, A.2.1; ISO/IEC 18181-2; ExifTool, "Jpeg2000.pm".
fn of_other(file: &SourceFile) -> Found {
    let mut head = Vec::new();
    if file.apart().take(xmp::MAX_BYTES).read_to_end(&mut head).is_err() {
        return Found::default();
    }
    let names = head.windows(4).enumerate().filter(|(_, name)| name == b"Exif").take(MAX_NAMES);
    let blocks = names.filter_map(|(name, _)| {
        let rest = &head[name + 4..];
        let begin =
            rest.windows(4).take(MAX_BETWEEN).position(|mark| TIFF.iter().any(|tiff| mark == tiff))?;
        Some(of_exif(&rest[begin..rest.len().min(begin + MAX_BYTES as usize)]))
    });
    let exif = blocks.fold(Metadata::default(), Metadata::or);
    Found { xmp: xmp::of_packet(&head), exif, ..Found::default() }
}

/// Reads a block of EXIF. Some programs write the name of JPEG's segment before it in other formats, too.
fn of_exif(block: &[u8]) -> Metadata {
    let block = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
    let read =
        |(ifds, first): (Ifds, u64)| Some(of_directory(block, ifds, &ifds.directory(block, first).ok()?));
    exif_directories(block).and_then(read).unwrap_or_default()
}

/// Reads the tags that TIFF and EXIF share (CIPA DC-008, 4.6.5). A copyright notice may have a second part, that of the
/// editor.
fn of_directory(file: &(impl ReadAt + ?Sized), ifds: Ifds, directory: &Directory) -> Metadata {
    let text = |tag| {
        let entry =
            directory.entry(tag).filter(|entry| entry.bytes_each() == 1 && entry.count <= MAX_BYTES)?;
        let bytes = ifds.bytes(file, entry).ok()?;
        let parts: Vec<_> = bytes.split(|&byte| byte == 0).filter_map(decoded).collect();
        Metadata::text(&parts.join("; "))
    };
    Metadata { creator: text(ARTIST), copyright: text(COPYRIGHT), ..Metadata::default() }
}

/// Reads Photoshop's resources, one of which may be of IPTC.
///
/// ```text
/// resource  "8BIM"  id: u16  length: u8  name  padding to an even number  length: u32  content  padding
/// ```
/// Source: Adobe Photoshop File Formats Specification, "Image Resource Blocks".
fn of_resources(mut resources: &[u8]) -> Metadata {
    while let [b'8', b'B', b'I', b'M', i0, i1, name, rest @ ..] = resources {
        let Some((_, rest)) = rest.split_at_checked((usize::from(*name) + 1).next_multiple_of(2) - 1) else {
            break;
        };
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { break };
        let length = u32::from_be_bytes(*length) as usize;
        let content = &rest[..length.min(rest.len())];
        if u16::from_be_bytes([*i0, *i1]) == 0x0404 {
            return of_iptc(content);
        }
        resources = rest.get(length.saturating_add(length % 2)..).unwrap_or_default();
    }
    Metadata::default()
}

/// Reads a block of IPTC. By-lines repeat. A text in UTF-8 should be declared, but often is not, and Latin-1 is hardly ever
/// valid UTF-8.
///
/// ```text
/// dataset  1c  record: u8  number: u8  length: u16, big-endian  content
/// ```
/// Source: IPTC Information Interchange Model 4.2, 1.5 and 6.
fn of_iptc(mut block: &[u8]) -> Metadata {
    let mut found = Metadata::default();
    let mut names = Vec::new();
    while let [0x1c, record, number, l0, l1, rest @ ..] = block {
        let length = usize::from(u16::from_be_bytes([*l0, *l1]));
        // Longer ones have a length of several bytes, and are not of interest.
        let Some((content, rest)) = rest.split_at_checked(length).filter(|_| *l0 < 0x80) else { break };
        match (record, number) {
            (2, 80) => names.extend(decoded(content)),
            (2, 110) => found.credit = found.credit.or_else(|| decoded(content)),
            (2, 116) => found.copyright = found.copyright.or_else(|| decoded(content)),
            _ => {}
        }
        block = rest;
    }
    Metadata { creator: Metadata::text(&names.join(", ")), ..found }
}

/// Returns a text in UTF-8 or else Latin-1.
fn decoded(bytes: &[u8]) -> Option<String> {
    match str::from_utf8(bytes) {
        Ok(text) => Metadata::text(text),
        Err(_) => Metadata::text(&bytes.iter().copied().map(char::from).collect::<String>()),
    }
}

#[cfg(test)]
mod tests;
