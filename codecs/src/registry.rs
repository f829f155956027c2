//! Which format a file is of, by its first bytes.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

use crate::SourceError;
use crate::formats::screenshot::MAGIC;
use crate::formats::tga;

/// How far into a file it may begin that it is a PDF: readers have always taken those that mail or a server put something
/// in front of.
const PDF_WITHIN: usize = 1024;

/// How much of a text is looked at for the root element that makes it an SVG. Before that come comments with whole
/// licences, and declarations of entities.
const TEXT_BYTES: u64 = 64 << 10;

/// The formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG.
    Png,
    /// WebP, lossy or lossless; the first frame of an animation.
    WebP,
    /// The first frame of a GIF.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// TIFF or BigTIFF: its first picture, or the largest level of a pyramid.
    Tiff,
    /// AVIF.
    Avif,
    /// HEIC, and HEIF whose codec shows later.
    Heic,
    /// JPEG XL, as a codestream or in its container.
    Jxl,
    /// JPEG 2000, as a codestream or in its container.
    Jp2,
    /// QOI.
    Qoi,
    /// PBM, PGM, PPM or PAM.
    Pnm,
    /// Truevision TGA.
    Tga,
    /// A Windows icon or cursor.
    Ico,
    /// DirectDraw surface.
    Dds,
    /// Radiance HDR.
    Hdr,
    /// OpenEXR.
    Exr,
    /// Farbfeld.
    Farbfeld,
    /// PDF.
    Pdf,
    /// SVG, plain or gzipped.
    Svg,
    /// A captured web page, see [`page_strips`](super::page_strips).
    Screenshot,
}

impl Format {
    /// Tells the format of a file, and leaves it at its start. Bytes are compared, nothing is parsed. A stream cannot be looked
    /// into and put back: only a page that is still being captured comes as one, and it is not looked at here.
    ///
    /// # Errors
    /// When it is none of those that can be read.
    pub fn sniff(file: &mut File) -> Result<Self, SourceError> {
        if file.rewind().is_err_and(|error| error.kind() == ErrorKind::NotSeekable) {
            return Ok(Self::Screenshot);
        }
        let mut head = Vec::new();
        file.by_ref().take(TEXT_BYTES).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(0))?;
        match head.as_slice() {
            [] => Err(SourceError::NoBytes),
            [0xff, 0xd8, 0xff, ..] => Ok(Self::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Ok(Self::Png),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Ok(Self::WebP),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Ok(Self::Gif),
            // "BM" alone also begins a text about BMX: the size of the header that follows is one of a few small numbers.
            [b'B', b'M', _, _, _, _, _, _, _, _, _, _, _, _, 12..=124, 0, ..] => Ok(Self::Bmp),
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Ok(Self::Tiff),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => heif(&head).ok_or(SourceError::Unknown),
            [0xff, 0x0a, ..] => Ok(Self::Jxl),
            [0, 0, 0, 12, b'J', b'X', b'L', b' ', 0x0d, 0x0a, 0x87, 0x0a, ..] => Ok(Self::Jxl),
            [0xff, 0x4f, 0xff, 0x51, ..] => Ok(Self::Jp2),
            [0, 0, 0, 12, b'j', b'P', b' ', b' ', 0x0d, 0x0a, 0x87, 0x0a, ..] => Ok(Self::Jp2),
            [b'q', b'o', b'i', b'f', ..] => Ok(Self::Qoi),
            [b'P', b'1'..=b'6' | b'F' | b'f', b' ' | b'\t' | b'\r' | b'\n' | b'#', ..] => Ok(Self::Pnm),
            [b'P', b'7', b'\n', ..] => Ok(Self::Pnm),
            [b'D', b'D', b'S', b' ', ..] => Ok(Self::Dds),
            [b'#', b'?', b'R', b'A', b'D', b'I', b'A', b'N', b'C', b'E', ..]
            | [b'#', b'?', b'R', b'G', b'B', b'E', ..] => Ok(Self::Hdr),
            [0x76, 0x2f, 0x31, 0x01, ..] => Ok(Self::Exr),
            [b'f', b'a', b'r', b'b', b'f', b'e', b'l', b'd', ..] => Ok(Self::Farbfeld),
            // Reserved, 1 for icons or 2 for cursors, how many, and the first one's reserved byte.
            [0, 0, 1 | 2, 0, 1..=255, 0, _, _, _, 0, ..] => Ok(Self::Ico),
            head if head.starts_with(&MAGIC) => Ok(Self::Screenshot),
            // Nothing else that comes gzipped is a picture. What is in there shows when it is unpacked.
            [0x1f, 0x8b, 8, ..] => Ok(Self::Svg),
            text if is_svg(text) => Ok(Self::Svg),
            _ if head.windows(5).take(PDF_WITHIN).any(|window| window == b"%PDF-") => Ok(Self::Pdf),
            // TGA has no magic number, so it is asked last.
            head if tga::is_header(head) => Ok(Self::Tga),
            _ => Err(SourceError::Unknown),
        }
    }
}

/// Which of HEIF's family a file is, by its brands: the main one, a version, and those that it is compatible with.
fn heif(head: &[u8]) -> Option<Format> {
    let length = u32::from_be_bytes(*head.first_chunk()?);
    let brands = head.get(8..head.len().min(usize::try_from(length).ok()?))?;
    let (brands, _) = brands.as_chunks::<4>();
    let has = |names: &[&[u8; 4]]| brands.iter().any(|brand| names.contains(&brand));
    if has(&[b"avif", b"avis"]) {
        return Some(Format::Avif);
    }
    let heif: &[&[u8; 4]] =
        &[b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"mif2", b"msf1"];
    has(heif).then_some(Format::Heic)
}

/// Whether a text's first element is `svg`, whatever declarations and comments come before it.
fn is_svg(head: &[u8]) -> bool {
    // UTF-16 without its zeros is close enough to ASCII for this.
    let utf_16 = matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..]);
    let narrowed: Vec<u8> = match utf_16 {
        true => head.iter().copied().filter(|&byte| !matches!(byte, 0 | 0xfe | 0xff)).collect(),
        false => head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).to_vec(),
    };
    let mut rest = narrowed.as_slice();
    loop {
        rest = rest.trim_ascii_start();
        let end: &[u8] = match rest {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'!', ..] => match (find(rest, b"["), find(rest, b">")) {
                // Declarations are in brackets, with angle brackets of their own.
                (Some(bracket), Some(angle)) if bracket < angle => b"]>",
                _ => b">",
            },
            [b'<', name @ ..] => return is_svg_name(name),
            _ => return false,
        };
        let Some(at) = find(rest, end) else { return false };
        rest = &rest[at + end.len()..];
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Whether the element's name is `svg`, with or without a namespace's prefix.
fn is_svg_name(text: &[u8]) -> bool {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    let name = text.split(ends).next().unwrap_or_default();
    name.rsplit(|&byte| byte == b':').next() == Some(b"svg")
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
            Self::Avif => "AVIF",
            Self::Heic => "HEIC",
            Self::Jxl => "JPEG XL",
            Self::Jp2 => "JPEG 2000",
            Self::Qoi => "QOI",
            Self::Pnm => "PNM",
            Self::Tga => "TGA",
            Self::Ico => "icon",
            Self::Dds => "DDS",
            Self::Hdr => "HDR",
            Self::Exr => "OpenEXR",
            Self::Farbfeld => "Farbfeld",
            Self::Pdf => "PDF",
            Self::Svg => "SVG",
            Self::Screenshot => "captured page",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn sniff(bytes: &[u8]) -> Option<Format> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        Format::sniff(&mut file).ok()
    }

    #[test]
    fn an_svg_is_known_by_its_root_element_whatever_comes_before() {
        let with_entities = "<?xml version='1.0'?>\n<!-- a <html> in a comment -->\n<!DOCTYPE svg PUBLIC \"a\" \"b\" [\n\
            <!ENTITY ns_svg \"http://www.w3.org/2000/svg\">\n]>\n<svg xmlns='&ns_svg;'>";
        let utf_16: Vec<u8> = "\u{feff}<svg/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for svg in [
            b"<svg>".as_slice(),
            b"\xef\xbb\xbf \n<svg/>",
            b"<svg:svg xmlns:svg='http://www.w3.org/2000/svg'>",
            b"<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"svg11.dtd\">\n<svg\n width='1'>",
            with_entities.as_bytes(),
            &utf_16,
            b"\x1f\x8b\x08\x00",
        ] {
            assert_eq!(sniff(svg), Some(Format::Svg), "{}", svg.escape_ascii());
        }
    }

    #[test]
    fn other_markup_is_no_svg() {
        for text in [
            "<html><svg>",
            "<!DOCTYPE html>\n<svg>".replace("<svg>", "<html><body><svg>").as_str(),
            "<?xml version='1.0'?><feed>",
            "<!-- <svg> without an end",
            "<svgs>",
            "svg",
            "<",
        ] {
            assert_eq!(sniff(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_pdf_may_begin_a_little_later() {
        assert_eq!(sniff(b"%PDF-1.7\n"), Some(Format::Pdf));
        assert_eq!(sniff(&[b"HTTP header\r\n\r\n".as_slice(), b"%PDF-1.4"].concat()), Some(Format::Pdf));
        assert_eq!(sniff(&[vec![b' '; 1024], b"%PDF-1.4".to_vec()].concat()), None);
    }
}
