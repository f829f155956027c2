//! OpenEXR, block by block into a picture of 8 bits, brought to the screen by [`light`]. Of several layers the first that
//! has colours or lightness; of a pyramid its largest level; nothing of what is deep.

use std::fs::File;
use std::io::BufReader;

use ::exr::block::lines::LineIndex;
use ::exr::block::reader::ChunksReader;
use ::exr::block::{self, UncompressedBlock};
use ::exr::meta::attribute::{ChannelList, SampleType};
use ::exr::meta::header::Header;
use edgezoom_content::Size;

use crate::buffered::guarded;
use crate::colour::tone_mapping;
use crate::{Bounds, Buffered, Decoded, Format, Layout, SourceError};

/// How often a block's bytes are there at once: as stored, as unpacked, in another order, and as numbers. Most formats have
/// blocks of a few rows, but one can be the whole picture.
const TIMES_A_BLOCK: u64 = 5;

/// Where a layer's channels are in its list.
#[derive(Clone, Copy)]
struct Channels {
    /// One for lightness, else red, green and blue.
    colours: [usize; 3],
    alpha: Option<usize>,
}

pub fn open(file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    guarded(Format::Exr, || decode(file, bounds)).map(Decoded::plain)
}

fn decode(file: BufReader<File>, bounds: Bounds) -> Result<Buffered, SourceError> {
    let reader = block::read(file, false).map_err(error)?;
    let layers = reader.headers();
    let found = layers.iter().enumerate().find_map(|(index, layer)| Some((index, Channels::of(layer)?)));
    let Some((layer, channels)) = found else {
        return Err(SourceError::unsupported(Format::Exr, "it has no colours"));
    };
    let header = layers[layer].clone();
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let size = bounds.admit(side(header.layer_size.width()), side(header.layer_size.height()))?;
    let block = header.max_block_byte_size() as u64;
    bounds.admit_memory(TIMES_A_BLOCK.saturating_mul(block), "decoding an OpenEXR")?;
    let layout = if channels.alpha.is_some() { Layout::Rgba } else { Layout::Rgb };
    let mut picture = Buffered::new(size, layout, bounds)?;
    let mut chunks = reader
        .filter_chunks(false, |_, tile, block| block.layer == layer && tile.is_largest_resolution_level())
        .map_err(error)?;
    let mut blocks = 0;
    while let Some(chunk) = chunks.read_next_chunk() {
        let meta = chunks.meta_data();
        let block = UncompressedBlock::decompress_chunk(chunk.map_err(error)?, meta, false).map_err(error)?;
        paint(&block, &header.channels, channels, &mut picture)?;
        blocks += block.index.pixel_size.area() as u64;
    }
    if blocks < size.pixels() {
        return Err(SourceError::corrupt(Format::Exr, "some of its blocks are missing"));
    }
    Ok(picture.without_idle_opacity())
}

impl Channels {
    /// `None` for a layer that has no picture, or one that is deep or subsampled.
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
            (_, _, _, Some(lightness)) => [lightness; 3],
            _ => return None,
        };
        is_plain.then_some(Self { colours, alpha: find("A") })
    }
}

/// Puts a block into the picture.
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
            let line =
                lines.next().ok_or_else(|| SourceError::corrupt(Format::Exr, "a block is too short"))?;
            let LineIndex { channel, .. } = line.location;
            let kind = list.list[channel].sample_type;
            read_line(line.value, kind, &mut rows[channel]);
        }
        let start = (y * across as usize + left) * bytes;
        let out = picture.pixels.get_mut(start..start + width * bytes);
        let out = out.ok_or_else(|| SourceError::corrupt(Format::Exr, "a block lies outside of it"))?;
        for (x, out) in out.chunks_exact_mut(bytes).enumerate() {
            let alpha = channels.alpha.map_or(1.0, |alpha| rows[alpha][x].clamp(0.0, 1.0));
            // Colours are multiplied with the opacity. What glows and covers nothing stays as bright as it is.
            let light =
                channels.colours.map(|colour| rows[colour][x] / if alpha > 0.0 { alpha } else { 1.0 });
            out[..3].copy_from_slice(&tone_mapping::to_screen(light));
            if let Some(out) = out.get_mut(3) {
                *out = (alpha * 255.0).round() as u8;
            }
        }
    }
    Ok(())
}

/// A line's samples, in the machine's byte order, as numbers.
fn read_line(stored: &[u8], kind: SampleType, out: &mut [f32]) {
    match kind {
        SampleType::F16 => {
            for (out, &stored) in out.iter_mut().zip(stored.as_chunks().0) {
                *out = crate::colour::samples::half(u16::from_ne_bytes(stored));
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

fn error(error: ::exr::error::Error) -> SourceError {
    match error {
        ::exr::error::Error::NotSupported(reason) => SourceError::unsupported(Format::Exr, reason),
        ::exr::error::Error::Io(_) => SourceError::corrupt(Format::Exr, "it ends too early"),
        other => SourceError::corrupt(Format::Exr, other),
    }
}
