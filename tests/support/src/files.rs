//! Encodes pictures with third-party encoders, in every format that the codecs read.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Cursor, Seek, SeekFrom, Write};
use std::num::NonZeroUsize;

use edgezoom_codecs::{Bounds, Layout, SourceError};
use mozjpeg::{ColorSpace, Compress};

use crate::Picture;

/// Bounds far above the size of any test picture.
pub const BOUNDS: Bounds = Bounds {
    pixels: 1_000_000_000,
    pixels_by_length: u64::MAX,
    drawn_pixels: 1_000_000_000,
    page_pixels: 1_000_000_000,
    scan_pixels: 1_000_000_000,
    side: 1_000_000,
    memory: 1 << 30,
    pdf_pages: NonZeroUsize::MIN.saturating_add(99),
    svg_bytes: 64 << 20,
};

/// Returns an unnamed temporary file with these bytes, positioned at its start.
pub fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

/// Decodes a file with the tiler's decoders.
pub fn decode(bytes: &[u8]) -> Result<Picture, SourceError> {
    decode_within(bytes, BOUNDS)
}

pub fn decode_within(bytes: &[u8], bounds: Bounds) -> Result<Picture, SourceError> {
    Picture::read(&mut *edgezoom_codecs::open(file(bytes), bounds)?)
}

/// Options for a JPEG.
#[derive(Clone, Copy, Default)]
pub struct Jpeg<'a> {
    pub progressive: bool,
    /// EXIF block, without the `Exif\0\0` prefix.
    pub exif: Option<&'a [u8]>,
}

pub fn jpeg(picture: &Picture, kind: Jpeg<'_>) -> Vec<u8> {
    let space = match picture.layout {
        Layout::Grey => ColorSpace::JCS_GRAYSCALE,
        Layout::Rgb => ColorSpace::JCS_RGB,
        // Four channels are stored as CMYK: JPEG has no opacity.
        Layout::Rgba => ColorSpace::JCS_CMYK,
        Layout::YCbCr420 => panic!("no test encodes planes"),
    };
    let mut encoder = Compress::new(space);
    encoder.set_size(picture.width as usize, picture.height as usize);
    encoder.set_fastest_defaults();
    encoder.set_quality(95.0);
    encoder.set_chroma_sampling_pixel_sizes((1, 1), (1, 1));
    if kind.progressive {
        encoder.set_progressive_mode();
    }
    let mut encoder = encoder.start_compress(Vec::new()).unwrap();
    if let Some(exif) = kind.exif {
        encoder.write_marker(mozjpeg::Marker::APP(1), &[b"Exif\0\0", exif].concat());
    }
    encoder.write_scanlines(&picture.pixels).unwrap();
    encoder.finish().unwrap()
}

pub fn png(picture: &Picture, set: impl FnOnce(&mut png::Info<'static>)) -> Vec<u8> {
    let mut info = png::Info::with_size(picture.width, picture.height);
    info.color_type = match picture.layout {
        Layout::Grey => png::ColorType::Grayscale,
        Layout::Rgb => png::ColorType::Rgb,
        Layout::Rgba => png::ColorType::Rgba,
        Layout::YCbCr420 => panic!("no test encodes planes"),
    };
    info.bit_depth = png::BitDepth::Eight;
    set(&mut info);
    let mut out = Vec::new();
    let mut writer = png::Encoder::with_info(&mut out, info).unwrap().write_header().unwrap();
    writer.write_image_data(&picture.pixels).unwrap();
    writer.finish().unwrap();
    out
}

pub fn webp(picture: &Picture, exif: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = image_webp::WebPEncoder::new(&mut out);
    if let Some(exif) = exif {
        encoder.set_exif_metadata(exif.to_vec());
    }
    let color = match picture.layout {
        Layout::Grey => image_webp::ColorType::L8,
        Layout::Rgb => image_webp::ColorType::Rgb8,
        Layout::Rgba => image_webp::ColorType::Rgba8,
        Layout::YCbCr420 => panic!("no test encodes planes"),
    };
    encoder.encode(&picture.pixels, picture.width, picture.height, color).unwrap();
    out
}

pub fn bmp(picture: &Picture) -> Vec<u8> {
    let color = match picture.layout {
        Layout::Grey => image::ExtendedColorType::L8,
        Layout::Rgb => image::ExtendedColorType::Rgb8,
        Layout::Rgba => image::ExtendedColorType::Rgba8,
        Layout::YCbCr420 => panic!("no test encodes planes"),
    };
    let mut out = Vec::new();
    image::codecs::bmp::BmpEncoder::new(&mut out)
        .encode(&picture.pixels, picture.width, picture.height, color)
        .unwrap();
    out
}

/// Returns a GIF with one frame, whose pixels are indices into a grey palette.
pub fn gif(canvas: (u16, u16), frame: &gif::Frame<'_>) -> Vec<u8> {
    let greys: Vec<u8> = (0..=255).flat_map(|grey| [grey; 3]).collect();
    let mut out = Vec::new();
    let mut encoder = gif::Encoder::new(&mut out, canvas.0, canvas.1, &greys).unwrap();
    encoder.write_frame(frame).unwrap();
    drop(encoder);
    out
}

/// Returns a TIFF with `rows_per_strip` rows in each strip.
pub fn tiff(picture: &Picture, rows_per_strip: u32, orientation: Option<u16>) -> Vec<u8> {
    match picture.layout {
        Layout::Grey => {
            tiff_of::<tiff::encoder::colortype::Gray8>(picture, rows_per_strip, orientation, &picture.pixels)
        }
        Layout::Rgb => {
            tiff_of::<tiff::encoder::colortype::RGB8>(picture, rows_per_strip, orientation, &picture.pixels)
        }
        Layout::Rgba => {
            tiff_of::<tiff::encoder::colortype::RGBA8>(picture, rows_per_strip, orientation, &picture.pixels)
        }
        Layout::YCbCr420 => panic!("no test encodes planes"),
    }
}

/// Returns a TIFF of the picture's size, with samples of another type.
pub fn tiff_of<C>(
    picture: &Picture,
    rows_per_strip: u32,
    orientation: Option<u16>,
    samples: &[C::Inner],
) -> Vec<u8>
where
    C: tiff::encoder::colortype::ColorType,
    [C::Inner]: tiff::encoder::TiffValue,
{
    let mut out = Cursor::new(Vec::new());
    let mut encoder =
        tiff::encoder::TiffEncoder::new(&mut out).unwrap().with_compression(tiff::encoder::Compression::Lzw);
    let mut image = encoder.new_image::<C>(picture.width, picture.height).unwrap();
    image.rows_per_strip(rows_per_strip).unwrap();
    if let Some(orientation) = orientation {
        image.encoder().write_tag(tiff::tags::Tag::Orientation, orientation).unwrap();
    }
    image.write_data(samples).unwrap();
    out.into_inner()
}

/// Returns an EXIF block that contains only an orientation.
pub fn exif(orientation: u8) -> Vec<u8> {
    let mut block = b"MM\0\x2a\0\0\0\x08\0\x01".to_vec();
    block.extend([0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0]);
    block
}

/// Writes a large JPEG with 4:2:0 chroma subsampling, row by row to save memory.
pub fn large_jpeg(width: u32, height: u32, to: &mut File) {
    large_jpeg_of(width, height, Jpeg::default(), to);
}

/// Writes a large JPEG with these options. The encoder keeps the coefficients of a progressive JPEG in memory.
pub fn large_jpeg_of(width: u32, height: u32, kind: Jpeg<'_>, to: &mut File) {
    let mut encoder = Compress::new(ColorSpace::JCS_RGB);
    encoder.set_size(width as usize, height as usize);
    encoder.set_fastest_defaults();
    encoder.set_quality(75.0);
    if kind.progressive {
        encoder.set_progressive_mode();
    }
    let mut encoder = encoder.start_compress(BufWriter::new(to)).unwrap();
    if let Some(exif) = kind.exif {
        encoder.write_marker(mozjpeg::Marker::APP(1), &[b"Exif\0\0", exif].concat());
    }
    let block = Picture::photo(width, 64, Layout::Rgb);
    for y in 0..height as usize {
        let row = y % 64 * block.row_bytes();
        encoder.write_scanlines(&block.pixels[row..row + block.row_bytes()]).unwrap();
    }
    encoder.finish().unwrap().flush().unwrap();
}

/// Writes an interlaced PNG (PNG Specification, section 8), repeating the picture's rows up to a height. If
/// `sample_bytes` is 2, both bytes of a sample are the same.
pub fn interlaced_png(picture: &Picture, height: u32, sample_bytes: usize, to: impl Write) {
    let mut info = png::Info::with_size(picture.width, height);
    info.interlaced = true;
    info.bit_depth = if sample_bytes == 2 { png::BitDepth::Sixteen } else { png::BitDepth::Eight };
    info.color_type = match picture.layout {
        Layout::Grey => png::ColorType::Grayscale,
        Layout::Rgb => png::ColorType::Rgb,
        Layout::Rgba => png::ColorType::Rgba,
        Layout::YCbCr420 => panic!("no test encodes planes"),
    };
    let mut writer = png::Encoder::with_info(to, info).unwrap().write_header().unwrap();
    let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let passes =
        [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)];
    for (left, across, top, down) in passes {
        let mut rows = HashMap::new();
        for y in (top..height).step_by(down).take_while(|_| left < picture.width) {
            let y = y % picture.height;
            let row = rows.entry(y).or_insert_with(|| {
                let columns = (left..picture.width).step_by(across);
                let samples = columns.flat_map(|x| picture.at(x, y).iter());
                let bytes = samples.flat_map(|&sample| std::iter::repeat_n(sample, sample_bytes));
                // Filter type 0: none.
                std::iter::once(0).chain(bytes).collect::<Vec<u8>>()
            });
            stream.write_all(row).unwrap();
            if stream.get_ref().len() > 1 << 20 {
                writer.write_chunk(png::chunk::IDAT, &std::mem::take(stream.get_mut())).unwrap();
            }
        }
    }
    writer.write_chunk(png::chunk::IDAT, &stream.finish().unwrap()).unwrap();
    // Dropping the writer writes the last chunk.
}

/// Writes a large PNG row by row to save memory.
pub fn large_png(width: u32, height: u32, layout: Layout, to: &mut File) {
    let mut encoder = png::Encoder::new(BufWriter::new(to), width, height);
    encoder.set_color(if layout == Layout::Rgba { png::ColorType::Rgba } else { png::ColorType::Rgb });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    encoder.set_filter(png::Filter::Up);
    let mut header = encoder.write_header().unwrap();
    let mut writer = header.stream_writer().unwrap();
    let block = Picture::photo(width, 64, layout);
    for y in 0..height as usize {
        let row = y % 64 * block.row_bytes();
        writer.write_all(&block.pixels[row..row + block.row_bytes()]).unwrap();
    }
    writer.finish().unwrap();
}
