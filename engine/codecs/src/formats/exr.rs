//! OpenEXR: each block is tone-mapped into a buffered picture of 8 bits. The first layer with colours or luminance is
//! shown, and the largest level of a pyramid. Not supported are deep data, and channels with fewer samples than pixels.
//!
//! Source: OpenEXR documentation, "OpenEXR File Layout" and "Technical Introduction" (channel names, premultiplied
//! alpha).

use std::io::BufReader;

use ::exr::block::lines::LineIndex;
use ::exr::block::reader::ChunksReader;
use ::exr::block::{self, UncompressedBlock};
use ::exr::meta::attribute::{ChannelList, SampleType};
use ::exr::meta::header::Header;
use edgezoom_geometry::Size;

use crate::buffered::{Buffered, catch_panics};
use crate::colour::samples::half;
use crate::colour::tone_mapping;
use crate::format::{Decoded, Input, Open};
use crate::{Bounds, Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "OpenEXR",
    media_types: &["image/x-exr"],
    endings: &["exr"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| head.starts_with(&[0x76, 0x2f, 0x31, 0x01]),
    open: Open::Directly(open),
};

/// Number of copies of a block that exist at the same time: compressed, decompressed, reordered and as floats. Most
/// blocks have a few rows, but one can be the whole picture.
const BLOCK_COPIES: u64 = 5;

/// The indices of a layer's channels in its channel list.
#[derive(Clone, Copy)]
struct Channels {
    /// Red, green and blue, or three times luminance.
    colours: [usize; 3],
    alpha: Option<usize>,
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    catch_panics(&FORMAT, || decode(file, bounds)).map(Decoded::plain)
}

fn decode(file: BufReader<SourceFile>, bounds: Bounds) -> Result<Buffered, SourceError> {
    let reader = block::read(file, false).map_err(source_error)?;
    let layers = reader.headers();
    let found = layers.iter().enumerate().find_map(|(index, layer)| Some((index, Channels::of(layer)?)));
    let Some((layer, channels)) = found else {
        return Err(FORMAT.unsupported("it has no layer with a sample of each colour for each pixel"));
    };
    let header = layers[layer].clone();
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let size = bounds.admit(side(header.layer_size.width()), side(header.layer_size.height()))?;
    let block = header.max_block_byte_size() as u64;
    bounds.admit_memory(BLOCK_COPIES.saturating_mul(block), "decoding an OpenEXR")?;
    let layout = if channels.alpha.is_some() { Layout::Rgba } else { Layout::Rgb };
    let mut picture = Buffered::new(size, layout, bounds)?;
    let mut chunks = reader
        .filter_chunks(false, |_, tile, block| block.layer == layer && tile.is_largest_resolution_level())
        .map_err(source_error)?;
    let mut blocks = 0;
    while let Some(chunk) = chunks.read_next_chunk() {
        let meta = chunks.meta_data();
        let block = UncompressedBlock::decompress_chunk(chunk.map_err(source_error)?, meta, false)
            .map_err(source_error)?;
        paint(&block, &header.channels, channels, &mut picture)?;
        blocks += block.index.pixel_size.area() as u64;
    }
    if blocks < size.pixels() {
        return Err(FORMAT.corrupt("some of its blocks are missing"));
    }
    Ok(picture.without_opaque_alpha())
}

impl Channels {
    /// Returns the channels of a layer, or `None` if it is deep, subsampled or without colours.
    fn of(layer: &Header) -> Option<Self> {
        let list = &layer.channels.list;
        let find = |name: &str| {
            list.iter().position(|channel| {
                let full = channel.name.to_string();
                full == name || full.rsplit('.').next() == Some(name)
            })
        };
        let is_plain = !layer.deep && list.iter().all(|channel| channel.sampling.area() == 1);
        let colours = match (find("R"), find("G"), find("B"), find("Y")) {
            (Some(red), Some(green), Some(blue), _) => [red, green, blue],
            (_, _, _, Some(luminance)) => [luminance; 3],
            _ => return None,
        };
        is_plain.then_some(Self { colours, alpha: find("A") })
    }
}

/// Paints a block into the picture.
fn paint(
    block: &UncompressedBlock,
    list: &ChannelList,
    channels: Channels,
    picture: &mut Buffered,
) -> Result<(), SourceError> {
    let (left, top) = (block.index.pixel_position.x(), block.index.pixel_position.y());
    let (width, height) = (block.index.pixel_size.width(), block.index.pixel_size.height());
    let mut rows = vec![vec![0f32; width]; list.list.len()];
    let bytes = picture.layout.channels();
    let Size { width: across, .. } = picture.size;
    let mut lines = block.lines(list);
    for y in top..top + height {
        for _ in 0..list.list.len() {
            let line = lines.next().ok_or_else(|| FORMAT.corrupt("a block is too short"))?;
            let LineIndex { channel, .. } = line.location;
            let kind = list.list[channel].sample_type;
            read_line(line.value, kind, &mut rows[channel]);
        }
        let start = (y * across as usize + left) * bytes;
        let out = picture.pixels.get_mut(start..start + width * bytes);
        let out = out.ok_or_else(|| FORMAT.corrupt("a block is outside the picture"))?;
        for (x, out) in out.chunks_exact_mut(bytes).enumerate() {
            let alpha = channels.alpha.map_or(1.0, |alpha| rows[alpha][x].clamp(0.0, 1.0));
            // Colours are premultiplied. A pixel that emits light but has alpha 0 keeps its brightness.
            let linear =
                channels.colours.map(|colour| rows[colour][x] / if alpha > 0.0 { alpha } else { 1.0 });
            out[..3].copy_from_slice(&tone_mapping::map(linear));
            if let Some(out) = out.get_mut(3) {
                *out = (alpha * 255.0).round() as u8;
            }
        }
    }
    Ok(())
}

/// Converts the samples of a line, in native byte order, to floats.
fn read_line(stored: &[u8], kind: SampleType, out: &mut [f32]) {
    match kind {
        SampleType::F16 => {
            for (out, &stored) in out.iter_mut().zip(stored.as_chunks().0) {
                *out = half(u16::from_ne_bytes(stored));
            }
        }
        SampleType::F32 => {
            for (out, &stored) in out.iter_mut().zip(stored.as_chunks().0) {
                *out = f32::from_ne_bytes(stored);
            }
        }
        SampleType::U32 => {
            for (out, &stored) in out.iter_mut().zip(stored.as_chunks().0) {
                *out = u32::from_ne_bytes(stored) as f32;
            }
        }
    }
}

fn source_error(error: ::exr::error::Error) -> SourceError {
    match error {
        ::exr::error::Error::NotSupported(reason) => FORMAT.unsupported(reason),
        ::exr::error::Error::Io(_) => FORMAT.corrupt("it ends before its last row"),
        other => FORMAT.corrupt(other),
    }
}
