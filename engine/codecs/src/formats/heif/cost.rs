//! The memory that a picture takes. It is compared with the bounds before a frame is decoded.

use heifer::heifer_isobmff::HeifFile;
use heifer::heifer_isobmff::boxes::Property;

use super::item::{Codec, Coded, Primary};
use crate::{Bounds, SourceError};

/// Checks that this number of threads may decode a picture.
pub fn admit(
    file: &HeifFile<'_>,
    picture: &Primary,
    threads: usize,
    bounds: Bounds,
) -> Result<(), SourceError> {
    let parts = [Some(&picture.colours), picture.alpha.as_ref()];
    let bytes: u64 = parts.into_iter().flatten().map(|part| bytes(file, part, threads as u64)).sum();
    bounds.admit_memory(bytes, "decoding a HEIF")
}

/// Returns the memory of the frames that threads decode at once, and of the bands: four times a row of cells, while the
/// cells are joined, wait and are read.
fn bytes(file: &HeifFile<'_>, coded: &Coded, threads: u64) -> u64 {
    let frames = threads.min(coded.cells.len() as u64).max(1);
    let frame = coded.cell_size.pixels().saturating_mul(frame_bytes_a_pixel(file, coded));
    let rows = match coded.cells.len() {
        1 => 0,
        _ => {
            let cell_rows = threads.div_ceil(coded.columns as u64);
            u64::from(coded.size.width) * u64::from(coded.cell_size.height) * cell_rows * 3
        }
    };
    frame.saturating_mul(frames).saturating_add(rows.saturating_mul(4))
}

/// Returns the bytes of memory that decoding takes for each pixel of a frame.
fn frame_bytes_a_pixel(file: &HeifFile<'_>, coded: &Coded) -> u64 {
    let Some(mut properties) = coded.cells.first().and_then(|&id| file.item_properties(id).ok()) else {
        return u64::MAX;
    };
    match coded.codec {
        // Two bytes a sample, which are copied while the picture is cropped from a larger one, or luma while it is
        // filtered, and 17 bytes for each 4×4 pixels.
        Codec::Hevc => properties
            .find_map(|property| match property {
                Property::HevcConfig(config) => Some(config.chroma_format),
                _ => None,
            })
            .map_or(14, |chroma_format| match chroma_format {
                0 => 6,
                1 => 8,
                2 => 10,
                _ => 14,
            }),
        // The planes, and the decoder's state of each block.
        Codec::Av1 => properties
            .find_map(|property| match property {
                Property::Unknown(kind, content) if kind.0 == *b"av1C" => content.get(2),
                _ => None,
            })
            .map_or(8, |&flags| {
                // From the top bit: seq_tier_0, high_bitdepth, twelve_bit, monochrome, chroma_subsampling_x and _y (AV1
                // Codec ISO Media File Format Binding, 2.3.3).
                let sample = if flags & 0x40 == 0 { 1 } else { 2 };
                let samples = if flags & 0x10 != 0 {
                    2
                } else if flags & 0x08 == 0 {
                    6
                } else {
                    3 + u64::from(flags & 0x04 == 0)
                };
                // `samples` counts half samples.
                (samples * sample).div_ceil(2) + 1
            }),
    }
}
