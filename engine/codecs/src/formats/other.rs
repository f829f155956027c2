//! The second tier: formats that well-kept crates decode as a whole. A format is an entry in [`FORMATS`], and a row of
//! the tests.
//!
//! The size in a file's header is compared with the bounds before its pixels are decoded. The pixels are kept as the
//! crate returns them, and each row is converted when it is read. A panic of a crate is an error, and so is a file that
//! is cut off: nothing of it is shown.

use std::io::{self, BufRead, ErrorKind};

use edgezoom_geometry::Size;
use image::codecs::{farbfeld::FarbfeldDecoder, hdr::HdrDecoder, qoi::QoiDecoder, tga::TgaDecoder};
use image::error::{ImageFormatHint, UnsupportedError, UnsupportedErrorKind};
use image::{ColorType, ImageDecoder, ImageError, ImageResult, Limits};
#[cfg(not(feature = "modern"))]
use image_extras::icns::unsupported_jpeg2000 as jpeg_2000;
use image_extras::{dds::DdsDecoder, icns::IcnsDecoder, pcx::PCXDecoder, sgi::SgiDecoder};
use image_extras::{xbm::XbmDecoder, xpm::XpmDecoder};

#[cfg(feature = "modern")]
use crate::Bounds;
use crate::buffered::catch_panics;
use crate::colour::samples::round_16;
use crate::colour::tone_mapping;
use crate::format::{Decoded, Header, Input, Open};
use crate::{Format, Layout, Reading, RowReader, SourceError, SourceFile};

/// The formats, in the order in which their signatures are compared, after those of all other formats. TGA has no
/// signature, so it comes last.
pub(crate) static FORMATS: &[Format] = &[
    entry("PCX", &["image/vnd.zbrush.pcx", "image/x-pcx"], &["pcx"], is_pcx, |file| {
        Ok(Box::new(PCXDecoder::new(file)?))
    }),
    entry("SGI", &["image/x-rgb", "image/sgi"], &["sgi", "rgb", "rgba", "bw"], is_sgi, |file| {
        Ok(Box::new(SgiDecoder::new(file)?))
    }),
    entry("XBM", &["image/x-xbitmap"], &["xbm"], is_xbm, |mut file| {
        skip_comments(&mut file)?;
        Ok(Box::new(XbmDecoder::new(file)?))
    }),
    entry("XPM", &["image/x-xpixmap"], &["xpm"], is_xpm, |file| Ok(Box::new(XpmDecoder::new(file)?))),
    entry("ICNS", &["image/icns", "image/x-icns"], &["icns"], is_icns, |file| {
        Ok(Box::new(IcnsDecoder::new_with_decode_func(file, Box::new(jpeg_2000))?))
    }),
    entry("DDS", &["image/vnd-ms.dds"], &["dds"], is_dds, |file| {
        refuse_luminance_with_alpha(file.get_ref())?;
        Ok(Box::new(DdsDecoder::new(file)?))
    }),
    entry("HDR", &["image/vnd.radiance"], &["hdr"], is_hdr, |file| {
        Ok(Box::new(HdrDecoder::new_nonstrict(file)?))
    }),
    entry("QOI", &["image/qoi"], &["qoi"], is_qoi, |file| Ok(Box::new(QoiDecoder::new(file)?))),
    entry("Farbfeld", &[], &["ff"], is_farbfeld, |file| Ok(Box::new(FarbfeldDecoder::new(file)?))),
    entry("TGA", &["image/x-tga"], &["tga"], is_tga, |file| Ok(Box::new(TgaDecoder::new(file)?))),
];

const fn entry(
    name: &'static str,
    media_types: &'static [&'static str],
    endings: &'static [&'static str],
    signature: fn(&[u8]) -> bool,
    header: Header,
) -> Format {
    Format {
        name,
        media_types,
        endings,
        reading: Reading::Buffered,
        in_order: false,
        signature,
        open: Open::Crate(header),
    }
}

/// The reason of all errors of crates that are neither of input nor of a limit.
const INVALID: &str = "its structure is invalid";

/// A decoded picture.
struct Picture {
    size: Size,
    layout: Layout,
    /// The form of the pixels as the crate returned them.
    stored: ColorType,
    pixels: Vec<u8>,
    /// The number of the next row.
    next: usize,
}

/// Decodes a picture.
pub(crate) fn open(format: &Format, header: Header, input: Input<'_>) -> Result<Decoded, SourceError> {
    catch_panics(format, || decode(format, header, input)).map(Decoded::plain)
}

fn decode(format: &Format, header: Header, input: Input<'_>) -> Result<Picture, SourceError> {
    const REASON: &str = "decoding it as a whole";
    let Input { file, bounds, .. } = input;
    let error = |error| source_error(format, error);
    let mut decoder = header(file).map_err(|problem| match error(problem) {
        SourceError::Corrupt { reason, .. } if reason == INVALID => {
            format.unsupported("its header describes an unknown variant")
        }
        other => other,
    })?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(bounds.memory);
    decoder.set_limits(limits).map_err(error)?;
    let (stored, bytes) = (decoder.color_type(), decoder.total_bytes());
    // Decoders keep up to two bytes for each pixel besides the picture, such as indices into a palette.
    bounds.admit_memory(bytes.saturating_add(size.pixels() * 2), REASON)?;
    let mut pixels = bounds.allocate(bytes, REASON)?;
    decoder.read_image_boxed(&mut pixels).map_err(error)?;
    let mut picture = Picture { size, layout: Layout::Rgb, stored, pixels, next: 0 };
    picture.layout = match (stored.has_color(), stored.has_alpha()) {
        (_, true) if picture.has_opacity() => Layout::Rgba,
        (true, _) => Layout::Rgb,
        (false, _) => Layout::Grey,
    };
    Ok(picture)
}

impl Picture {
    /// Returns true if some pixels are visible, and some are not opaque. Many programs leave alpha zero everywhere
    /// without meaning transparency.
    fn has_opacity(&self) -> bool {
        let pixels = self.pixels.chunks_exact(self.stored.bytes_per_pixel().into());
        let (mut is_visible, mut is_opaque) = (false, true);
        for [.., alpha] in pixels.map(|pixel| shown(self.stored, pixel)) {
            is_visible |= alpha != 0;
            is_opaque &= alpha == 255;
            if is_visible && !is_opaque {
                return true;
            }
        }
        false
    }
}

impl RowReader for Picture {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let pixel_bytes = usize::from(self.stored.bytes_per_pixel());
        let stored = self.pixels.chunks_exact(self.size.width as usize * pixel_bytes).skip(self.next);
        let rows = into.chunks_exact_mut(self.layout.row_bytes(self.size.width));
        self.next += rows.len();
        for (row, stored) in rows.zip(stored) {
            let pixels = stored.chunks_exact(pixel_bytes);
            for (out, pixel) in row.chunks_exact_mut(self.layout.channels()).zip(pixels) {
                let shown = shown(self.stored, pixel);
                out.iter_mut().zip(shown).for_each(|(out, sample)| *out = sample);
            }
        }
        Ok(())
    }

    fn needs_opacity(&self) -> bool {
        self.layout == Layout::Rgba
    }
}

/// Converts a pixel to 8 bits. Floats are linear.
fn shown(stored: ColorType, pixel: &[u8]) -> [u8; 4] {
    let channels = usize::from(stored.channel_count());
    let mut samples = [255; 4];
    match pixel.len() / channels.max(1) {
        1 => samples.iter_mut().zip(pixel).for_each(|(out, &sample)| *out = sample),
        2 => {
            let deep = pixel.as_chunks().0.iter().map(|&sample| round_16(u16::from_ne_bytes(sample)));
            samples.iter_mut().zip(deep).for_each(|(out, sample)| *out = sample);
        }
        _ => {
            let mut linear = [1.0; 4];
            let floats = pixel.as_chunks().0.iter().map(|&sample| f32::from_ne_bytes(sample));
            linear.iter_mut().zip(floats).for_each(|(out, sample)| *out = sample);
            let [red, green, blue, alpha] = linear;
            let [red, green, blue] = tone_mapping::map([red, green, blue]);
            samples = [red, green, blue, (alpha * 255.0).round() as u8];
        }
    }
    match (channels, samples) {
        (1, [grey, ..]) => [grey, grey, grey, 255],
        (2, [grey, alpha, ..]) => [grey, grey, grey, alpha],
        _ => samples,
    }
}

/// Converts an error of a crate, whose messages are for programmers.
fn source_error(format: &Format, error: ImageError) -> SourceError {
    match error {
        ImageError::Unsupported(error) => match error.kind() {
            UnsupportedErrorKind::GenericFeature(feature) => format.unsupported(feature),
            _ => format.unsupported("its pixels are of a rare kind"),
        },
        ImageError::Limits(_) => SourceError::OutOfMemory,
        ImageError::IoError(error) => match error.kind() {
            ErrorKind::UnexpectedEof => format.corrupt("it ends before its last row"),
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => format.corrupt(INVALID),
            _ => error.into(),
        },
        _ => format.corrupt(INVALID),
    }
}

fn is_pcx(head: &[u8]) -> bool {
    matches!(head, [0x0a, 0 | 2..=5, 0 | 1, 1 | 2 | 4 | 8, ..])
}

fn is_sgi(head: &[u8]) -> bool {
    matches!(head, [0x01, 0xda, 0 | 1, 1 | 2, 0, 1..=3, ..])
}

/// Returns true if a file begins like a bitmap, perhaps after comments: with definitions of a width and a height.
fn is_xbm(head: &[u8]) -> bool {
    let mut text = head;
    let has = |text: &[u8], word: &[u8]| text.windows(word.len()).any(|window| window == word);
    if skip_comments(&mut text).is_err() {
        return false;
    }
    let start = text.get(..text.len().min(1024)).unwrap_or_default();
    start.starts_with(b"#define") && has(start, b"_width") && has(start, b"_height")
}

/// Skips white space and comments of C, which some programs write before the first line.
fn skip_comments(file: &mut impl BufRead) -> io::Result<()> {
    loop {
        match file.fill_buf()? {
            [byte, ..] if byte.is_ascii_whitespace() => file.consume(1),
            [b'/', ..] => loop {
                file.skip_until(b'*')?;
                match file.fill_buf()? {
                    [b'/', ..] => break file.consume(1),
                    [] => return Ok(()),
                    _ => {}
                }
            },
            _ => return Ok(()),
        }
    }
}

fn is_xpm(head: &[u8]) -> bool {
    head.starts_with(b"/* XPM */")
}

fn is_icns(head: &[u8]) -> bool {
    head.starts_with(b"icns")
}

fn is_dds(head: &[u8]) -> bool {
    head.starts_with(b"DDS ")
}

/// Refuses pixels whose luminance and alpha the crate takes for red and green: 0x20000 and 1 of the flags of the pixel
/// format (Microsoft, "DDS_PIXELFORMAT").
fn refuse_luminance_with_alpha(file: &SourceFile) -> ImageResult<()> {
    let mut flags = [0; 4];
    file.read_exact_at(&mut flags, 80)?;
    if u32::from_le_bytes(flags) & 0x2_0001 == 0x2_0001 {
        let kind = UnsupportedErrorKind::GenericFeature("it has luminance with opacity".into());
        let error = UnsupportedError::from_format_and_kind(ImageFormatHint::Unknown, kind);
        return Err(ImageError::Unsupported(error));
    }
    Ok(())
}

/// The header has to end within the head: its lines are kept in memory.
fn is_hdr(head: &[u8]) -> bool {
    let is_radiance = head.starts_with(b"#?RADIANCE") || head.starts_with(b"#?RGBE");
    is_radiance && head.windows(2).any(|pair| pair == b"\n\n")
}

fn is_qoi(head: &[u8]) -> bool {
    head.starts_with(b"qoif")
}

fn is_farbfeld(head: &[u8]) -> bool {
    head.starts_with(b"farbfeld")
}

/// Checks every field of the header, because TGA has no signature.
///
/// ```text
/// 0          1           2     3            5              7           8               12     14      16    17
/// id length  has palette type  first index  palette length entry bits  x, y origin     width  height  bits  flags
/// u8         u8          u8    u16          u16            u8          u16, u16        u16    u16     u8    u8
///
/// type   1 palette, 2 colour, 3 grey; + 8 run-length compressed
/// flags  bits 0–3 alpha bits of a pixel, bit 4 from the right, bit 5 from the top, bits 6–7 reserved
/// ```
/// Source: Truevision TGA File Format Specification, version 2.0 (1991), "TGA File Header", fields 1 to 8.
fn is_tga(head: &[u8]) -> bool {
    let &[_, palettes, kind, f0, f1, n0, n1, entry, _, _, _, _, w0, w1, h0, h1, bits, flags, ..] = head
    else {
        return false;
    };
    let has_palette = palettes == 1 && matches!(entry, 15 | 16 | 24 | 32);
    let has_none = (palettes, entry) == (0, 0) && [f0, f1, n0, n1] == [0; 4];
    let pixels_fit = match kind & !8 {
        1 => has_palette && [n0, n1] != [0; 2] && matches!(bits, 8 | 16),
        // A palette is allowed and ignored if pixels are colours.
        2 => (has_palette || has_none) && matches!(bits, 15 | 16 | 24 | 32),
        3 => (has_palette || has_none) && matches!(bits, 8 | 16),
        _ => false,
    };
    // A pixel of 16 bits can have one alpha bit, one of 32 bits eight.
    let flags_fit = flags & 0xc0 == 0 && matches!((flags & 15, bits), (0, _) | (1, 16) | (8, 8 | 16 | 32));
    pixels_fit && flags_fit && [w0, w1] != [0; 2] && [h0, h1] != [0; 2]
}

/// Decodes a JPEG 2000 inside an icon to RGBA.
#[cfg(feature = "modern")]
fn jpeg_2000(bytes: &[u8], side: u32, into: &mut [u8], memory: u64) -> ImageResult<()> {
    let invalid = |_| ImageError::IoError(ErrorKind::InvalidData.into());
    let bounds = Bounds { side, memory, ..Bounds::default() };
    let mut reader = super::jpeg2000::decode(bytes, bounds).map_err(invalid)?.reader;
    if reader.size() != (Size { width: side, height: side }) {
        return Err(invalid(SourceError::Empty));
    }
    let channels = reader.layout().channels();
    let mut pixels = vec![0; reader.size().pixels() as usize * channels];
    reader.read_rows(&mut pixels).map_err(invalid)?;
    for (out, pixel) in into.as_chunks_mut().0.iter_mut().zip(pixels.chunks_exact(channels)) {
        *out = match *pixel {
            [grey] => [grey, grey, grey, 255],
            [red, green, blue] => [red, green, blue, 255],
            [red, green, blue, alpha, ..] => [red, green, blue, alpha],
            _ => [0; 4],
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::mutated::{check, read};

    #[test]
    fn every_field_of_a_tga_is_checked() {
        let good = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 9, 0, 24, 0x20];
        assert!(is_tga(&good));
        for (field, value) in
            [(1, 2), (2, 4), (2, 0), (12, 0), (16, 23), (17, 0x80), (17, 1), (3, 1), (7, 24)]
        {
            let mut bad = good;
            bad[field] = value;
            assert!(!is_tga(&bad), "{field}: {value}");
        }
        assert!(!is_tga(&good[..17]));
        assert!(!is_tga(&[0; 18]));
    }

    #[test]
    fn alpha_that_would_hide_the_whole_picture_is_ignored() {
        let tga = |pixels: [[u8; 4]; 4]| {
            let header = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 32, 0x28];
            [&header[..], pixels.as_flattened()].concat()
        };
        let hidden = tga([[1, 2, 3, 0]; 4]);
        assert_eq!(read(&hidden).unwrap(), (2, Layout::Rgb, [3, 2, 1].repeat(4)));
        let opaque = tga([[1, 2, 3, 255]; 4]);
        assert_eq!(read(&opaque).unwrap(), (2, Layout::Rgb, [3, 2, 1].repeat(4)));
        // One visible pixel makes the others transparent.
        let mut one = [[1, 2, 3, 0]; 4];
        one[3][3] = 9;
        let shown = [[3, 2, 1, 0].repeat(3), vec![3, 2, 1, 9]].concat();
        assert_eq!(read(&tga(one)).unwrap(), (2, Layout::Rgba, shown));
        check(&tga(one), 18);
    }

    #[test]
    fn comments_before_an_xbm_are_skipped() {
        let bitmap =
            b"#define a_width 9\n#define a_height 1\nstatic unsigned char a_bits[] = {\n 0x05, 0x01 };\n";
        for comment in [&b""[..], b"/* a ** comment **/\n\n", b"/**/ /* * / */ "] {
            let file = [comment, bitmap].concat();
            let (width, layout, pixels) = read(&file).unwrap();
            assert_eq!((width, layout), (9, Layout::Grey));
            assert_eq!(pixels, [0, 255, 0, 255, 255, 255, 255, 255, 0]);
            check(&file, file.len());
        }
        for text in [&b"#define width"[..], b"#include <a_width h> _height", b"/* #define a_width", b"/", b""]
        {
            assert!(!is_xbm(text), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn samples_of_all_kinds_become_bytes() {
        let deep =
            |samples: &[u16]| samples.iter().flat_map(|sample| sample.to_ne_bytes()).collect::<Vec<_>>();
        let light =
            |samples: &[f32]| samples.iter().flat_map(|sample| sample.to_ne_bytes()).collect::<Vec<_>>();
        assert_eq!(shown(ColorType::L8, &[7]), [7, 7, 7, 255]);
        assert_eq!(shown(ColorType::La8, &[7, 8]), [7, 7, 7, 8]);
        assert_eq!(shown(ColorType::Rgb16, &deep(&[0xffff, 257, 128])), [255, 1, 0, 255]);
        assert_eq!(shown(ColorType::La16, &deep(&[514, 0])), [2, 2, 2, 0]);
        assert_eq!(shown(ColorType::Rgba32F, &light(&[0.215_861, 0.0, 0.215_861, 0.5])), [128, 0, 128, 128]);
    }

    #[test]
    fn luminance_with_opacity_in_a_dds_is_refused() {
        let mut file = vec![0; 160];
        file[..8].copy_from_slice(b"DDS \x7c\0\0\0");
        (file[82], file[80]) = (2, 1);
        let error = read(&file).unwrap_err().to_string();
        assert_eq!(error, "This kind of DDS cannot be read: it has luminance with opacity.");
    }
}
