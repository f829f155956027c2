//! Pictures some of whose channels have fewer samples than pixels. The crate can decompress such files, but not read them.
//!
//! ```text
//! file       magic: u32  version: u32  attribute …  0  offset of each block: u64 …  block …
//! attribute  name 0  type 0  length: i32  value
//! chlist     name 0  0 u32, 1 half, 2 float: i32  pLinear: u8  0 0 0  xSampling ySampling: i32  …  0
//! box2i      xMin yMin xMax yMax: i32 each
//! block      y: i32  length: i32  lines of all channels that have one at this y, in the order of their names
//! ```
//! Source: OpenEXR documentation, "OpenEXR File Layout" and "Technical Introduction" (luminance and chroma);
//! ImfRgbaYca.h; ImfHeader.cpp (`sanityCheck`: sides are multiples of the steps between samples).

use std::io::{BufRead, Read, Seek, SeekFrom};

use edgezoom_geometry::Size;
use exr::compression::Compression;
use exr::math::Vec2;
use exr::meta::attribute::{ChannelDescription, IntegerBounds, SampleType, Text};
use exr::meta::{BlockDescription, header::Header};

use super::{FORMAT, read_line};
use crate::buffered::Buffered;
use crate::colour::tone_mapping;
use crate::{Bounds, Layout, SourceError};

/// The version bits for tiles, deep data and several parts. Tiles are never subsampled.
const OTHER_KINDS: u32 = 0x1a00;
/// The largest attribute that is read, in bytes.
const ATTRIBUTE_BYTES: u32 = 1 << 20;
/// The luminance of red, green and blue, with the primaries of ITU-R BT.709.
const WEIGHTS: [f32; 3] = [0.2126, 0.7152, 0.0722];

/// The meaning of the channels.
#[derive(Clone, Copy)]
enum Colours {
    /// Red, green and blue, or three times luminance.
    Rgb,
    /// Luminance, (red - luminance) / luminance, and the same for blue.
    LumaChroma,
}

/// A channel as floats, which may have fewer samples than pixels.
struct Plane {
    /// Number of columns and rows of pixels for each sample.
    steps: [usize; 2],
    width: usize,
    samples: Vec<f32>,
}

impl Plane {
    /// Returns the plane of a picture whose sides are multiples of `steps`.
    fn new(steps: [usize; 2], [width, height]: [usize; 2]) -> Self {
        let width = width / steps[0];
        Self { steps, width, samples: vec![0.0; width * (height / steps[1])] }
    }

    /// Returns the samples of a row of the picture, or `None` if it has none.
    fn row_mut(&mut self, y: usize) -> Option<&mut [f32]> {
        let row = if y.is_multiple_of(self.steps[1]) { y / self.steps[1] } else { return None };
        self.samples.get_mut(row * self.width..(row + 1) * self.width)
    }

    /// Returns the sample that covers a pixel.
    fn nearest(&self, x: usize, y: usize) -> f32 {
        self.samples[y / self.steps[1] * self.width + x / self.steps[0]]
    }

    /// Returns the value at a pixel, interpolated if there is a sample for each 2×2 pixels.
    fn between(&self, x: usize, y: usize) -> f32 {
        if self.steps != [2, 2] {
            return self.nearest(x, y);
        }
        let rows = self.samples.len() / self.width;
        let places = |place: usize, count: usize| [place / 2, place.div_ceil(2).min(count - 1)];
        let sum: f32 = places(y, rows)
            .iter()
            .flat_map(|row| places(x, self.width).map(|column| self.samples[row * self.width + column]))
            .sum();
        sum / 4.0
    }
}

/// Decodes a file at its start. Returns `None` if no channel is subsampled.
pub fn decode(mut file: impl BufRead + Seek, bounds: Bounds) -> Result<Option<Buffered>, SourceError> {
    let Some((header, origin)) = read_header(&mut file)? else { return Ok(None) };
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let size = bounds.admit(side(header.layer_size.x()), side(header.layer_size.y()))?;
    let list = &header.channels.list;
    let find = |name: &str| {
        list.iter().position(|channel| channel.name.to_string().rsplit('.').next() == Some(name))
    };
    let (colours, channels) = match (find("R"), find("G"), find("B"), find("Y"), find("RY"), find("BY")) {
        (Some(red), Some(green), Some(blue), ..) => (Colours::Rgb, [red, green, blue]),
        (.., Some(luma), Some(red), Some(blue)) => (Colours::LumaChroma, [luma, red, blue]),
        (.., Some(luma), _, _) => (Colours::Rgb, [luma; 3]),
        _ => return Err(FORMAT.unsupported("it has no colours")),
    };
    let alpha = find("A");
    let mut is_shown = vec![false; list.len()];
    channels.into_iter().chain(alpha).for_each(|channel| is_shown[channel] = true);
    let shown = list.iter().zip(&is_shown).filter(|(_, is_shown)| **is_shown);
    let samples: u64 = shown.map(|(channel, _)| size.pixels() / channel.sampling.area().max(1) as u64).sum();
    bounds.admit_memory(4 * (samples + size.pixels()), "decoding an OpenEXR")?;
    let sides = [header.layer_size.x(), header.layer_size.y()];
    let plane =
        |channel: &ChannelDescription| Plane::new([channel.sampling.x(), channel.sampling.y()], sides);
    let planes = list.iter().zip(is_shown).map(|(channel, is_shown)| is_shown.then(|| plane(channel)));
    let mut planes: Vec<Option<Plane>> = planes.collect();
    read_blocks(&mut file, header, origin, &mut planes)?;
    let get = |channel: usize| planes[channel].as_ref().ok_or(SourceError::Empty);
    let alpha = alpha.map(get).transpose()?;
    let [first, second, third] = channels;
    painted(size, colours, [get(first)?, get(second)?, get(third)?], alpha, bounds).map(Some)
}

/// Reads the parts of the header that are needed, and the position of the picture. Returns `None` if no channel is
/// subsampled.
fn read_header(file: &mut impl BufRead) -> Result<Option<(Header, [i32; 2])>, SourceError> {
    let [_magic, version] = [read_u32(file)?, read_u32(file)?];
    let (mut channels, mut compression, mut window) = (Vec::new(), None, None);
    loop {
        let name = read_text(file)?;
        if name.is_empty() {
            break;
        }
        let _kind = read_text(file)?;
        let length = read_u32(file)?;
        if length > ATTRIBUTE_BYTES {
            return Err(FORMAT.corrupt("its header is too long"));
        }
        let mut value = vec![0; length as usize];
        read(file, &mut value)?;
        match &*name {
            b"channels" => channels = read_channels(&value)?,
            b"compression" => compression = value.first().copied().and_then(compression_of),
            b"dataWindow" => {
                window = value.as_chunks().0.first_chunk().map(|edges| edges.map(i32::from_le_bytes))
            }
            _ => {}
        }
    }
    if channels.iter().all(|channel| channel.sampling == Vec2(1, 1)) || version & OTHER_KINDS != 0 {
        return Ok(None);
    }
    let (Some(compression), Some([left, top, right, bottom])) = (compression, window) else {
        return Err(FORMAT.unsupported("its compression is unknown"));
    };
    let side = |start: i32, end: i32| usize::try_from(i64::from(end) - i64::from(start) + 1).unwrap_or(0);
    let size = Vec2(side(left, right), side(top, bottom));
    let fits = |start: i32, length: usize, step: usize| {
        i64::from(start) % step as i64 == 0 && length.is_multiple_of(step)
    };
    let fit = |channel: &ChannelDescription| {
        fits(left, size.x(), channel.sampling.x()) && fits(top, size.y(), channel.sampling.y())
    };
    if !channels.iter().all(fit) {
        return Err(FORMAT.corrupt("its size is not a multiple of its channels' sampling"));
    }
    let mut header = Header::new(Text::default(), size, channels.into_iter().collect());
    header.compression = compression;
    header.blocks = BlockDescription::ScanLines;
    Ok(Some((header, [left, top])))
}

fn read_channels(mut value: &[u8]) -> Result<Vec<ChannelDescription>, SourceError> {
    let mut channels = Vec::new();
    loop {
        let name = read_text(&mut value)?;
        if name.is_empty() {
            return Ok(channels);
        }
        let name = Text::new_or_none(String::from_utf8_lossy(&name)).unwrap_or_default();
        let sample_type = match read_u32(&mut value)? {
            0 => SampleType::U32,
            1 => SampleType::F16,
            2 => SampleType::F32,
            _ => return Err(FORMAT.corrupt("its channels are invalid")),
        };
        let quantize_linearly = read_u32(&mut value)?.to_le_bytes()[0] != 0;
        let [across, down] = [read_u32(&mut value)?, read_u32(&mut value)?];
        let step = |step: u32| match step.cast_signed() {
            1.. => Ok(step as usize),
            _ => Err(FORMAT.corrupt("its channels are invalid")),
        };
        let sampling = Vec2(step(across)?, step(down)?);
        channels.push(ChannelDescription { name, sample_type, quantize_linearly, sampling });
    }
}

fn compression_of(number: u8) -> Option<Compression> {
    Some(match number {
        0 => Compression::Uncompressed,
        1 => Compression::RLE,
        2 => Compression::ZIP1,
        3 => Compression::ZIP16,
        4 => Compression::PIZ,
        5 => Compression::PXR24,
        6 => Compression::B44,
        7 => Compression::B44A,
        8 => Compression::DWAA(None),
        9 => Compression::DWAB(None),
        _ => return None,
    })
}

/// Reads all blocks. The file is at their offsets.
fn read_blocks(
    file: &mut (impl BufRead + Seek),
    mut header: Header,
    [left, top]: [i32; 2],
    planes: &mut [Option<Plane>],
) -> Result<(), SourceError> {
    let [width, height] = [header.layer_size.x(), header.layer_size.y()];
    let lines = header.compression.scan_lines_per_block();
    let mut offsets = Vec::new();
    for _ in 0..height.div_ceil(lines) {
        offsets.push(u64::from(read_u32(file)?) | u64::from(read_u32(file)?) << 32);
    }
    let list = header.channels.list.clone();
    for (first, offset) in (0..height).step_by(lines).zip(offsets) {
        let rows = first..(first + lines).min(height);
        let bytes_of = |channel: &ChannelDescription, y: usize| match y.is_multiple_of(channel.sampling.y()) {
            true => width / channel.sampling.x() * channel.sample_type.bytes_per_sample(),
            false => 0,
        };
        let bytes: usize = rows
            .clone()
            .flat_map(|y| list.iter().map(move |channel| (channel, y)))
            .map(|(channel, y)| bytes_of(channel, y))
            .sum();
        file.seek(SeekFrom::Start(offset))?;
        let (y, length) = (read_u32(file)?.cast_signed(), read_u32(file)?);
        let position = Vec2(left, top.wrapping_add(first as i32));
        if y != position.y() || length as usize > bytes {
            return Err(FORMAT.corrupt("its blocks are invalid"));
        }
        let mut stored = vec![0; length as usize];
        read(file, &mut stored)?;
        let block = decompress(&mut header, stored, position, Vec2(width, rows.len()), bytes)?;
        let mut rest = &*block;
        for y in rows {
            for (channel, plane) in list.iter().zip(&mut *planes) {
                let line =
                    rest.get(..bytes_of(channel, y)).ok_or_else(|| FORMAT.corrupt("a block is too short"))?;
                rest = &rest[line.len()..];
                if let Some(row) = plane.as_mut().and_then(|plane| plane.row_mut(y)) {
                    read_line(line, channel.sample_type, row);
                }
            }
        }
    }
    Ok(())
}

/// Decompresses a block to `bytes` bytes.
fn decompress(
    header: &mut Header,
    stored: Vec<u8>,
    position: Vec2<i32>,
    mut size: Vec2<usize>,
    bytes: usize,
) -> Result<Vec<u8>, SourceError> {
    if bytes == 0 {
        return Ok(stored); // lines in which no channel has samples
    }
    // The crate computes the length of a block from that of a pixel. Some compressions only need the length.
    let by_length = matches!(
        header.compression,
        Compression::Uncompressed | Compression::RLE | Compression::ZIP1 | Compression::ZIP16
    );
    header.channels.bytes_per_pixel = match bytes.is_multiple_of(size.area()) {
        true => bytes / size.area(),
        false if by_length => {
            size = Vec2(bytes, 1);
            1
        }
        false => return Err(FORMAT.unsupported("its channels have an unusual sampling")),
    };
    header.layer_size = size;
    let section = IntegerBounds { position, size };
    let block = header.compression.decompress_image_section_from_le(header, stored, section, false);
    block.map_err(|error| FORMAT.corrupt(error))
}

/// Interleaves planes to pixels.
fn painted(
    size: Size,
    kind: Colours,
    colours: [&Plane; 3],
    alpha: Option<&Plane>,
    bounds: Bounds,
) -> Result<Buffered, SourceError> {
    let layout = if alpha.is_some() { Layout::Rgba } else { Layout::Rgb };
    let mut picture = Buffered::new(size, layout, bounds)?;
    let width = size.width as usize;
    for (index, out) in picture.pixels.chunks_exact_mut(layout.channels()).enumerate() {
        let (x, y) = (index % width, index / width);
        let alpha = alpha.map_or(1.0, |alpha| alpha.nearest(x, y).clamp(0.0, 1.0));
        // Colours are premultiplied. A pixel that emits light but has alpha 0 keeps its brightness.
        let cover = if alpha > 0.0 { alpha } else { 1.0 };
        let linear = match kind {
            Colours::Rgb => colours.map(|plane| plane.nearest(x, y) / cover),
            Colours::LumaChroma => {
                let [luma, red, blue] = colours;
                let luminance = luma.nearest(x, y) / cover;
                let [red, blue] = [red, blue].map(|plane| (plane.between(x, y) + 1.0) * luminance);
                [red, (luminance - WEIGHTS[0] * red - WEIGHTS[2] * blue) / WEIGHTS[1], blue]
            }
        };
        out[..3].copy_from_slice(&tone_mapping::map(linear));
        if let Some(out) = out.get_mut(3) {
            *out = (alpha * 255.0).round() as u8;
        }
    }
    Ok(picture.without_opaque_alpha())
}

fn read(file: &mut impl Read, into: &mut [u8]) -> Result<(), SourceError> {
    file.read_exact(into).map_err(|_| FORMAT.corrupt("it ends before its last row"))
}

fn read_u32(file: &mut impl Read) -> Result<u32, SourceError> {
    let mut bytes = [0; 4];
    read(file, &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Reads a name of at most 255 bytes that ends with a zero.
fn read_text(file: &mut impl BufRead) -> Result<Vec<u8>, SourceError> {
    let mut text = Vec::new();
    file.take(256).read_until(0, &mut text)?;
    match text.pop() {
        Some(0) => Ok(text),
        _ => Err(FORMAT.corrupt("its header is invalid")),
    }
}
