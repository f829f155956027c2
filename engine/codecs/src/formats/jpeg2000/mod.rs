//! JPEG 2000, in the container JP2 or as a bare codestream. A picture in tiles is read one row of tiles at a time, on
//! all threads; one that is a single tile is read by rows of code blocks ([`single_tile`]).
//! Small pictures and rare features are left to a library, which decodes the picture as a whole, and those of the
//! high-throughput kind to another.
//!
//! Source: ITU-T T.800 (ISO/IEC 15444-1), annex A for the codestream's markers, annex I for the boxes of JP2.

mod boxes;
mod codestream;
mod high_throughput;
mod picture;
mod single_tile;
mod source;
mod tiles;

use edgezoom_geometry::Size;

use crate::buffered::catch_panics;
use crate::format::{Decoded, Input, Open};
use crate::read_ahead::{BandSender, ReadAhead};
use crate::{Bounds, Damage, DecodeOptions, Format, Reading, RowReader, SourceError};
use codestream::Codestream;
use picture::Kind;
use single_tile::{ROWS, SingleTile};
use source::{NAME, Source};

/// The number of pixels from which a picture inside another format's file is read by rows. Most of them are tiles,
/// which that format decodes in parallel already.
const EMBEDDED_PIXELS: u64 = 1 << 22;

pub(crate) static FORMAT: Format = Format {
    name: NAME,
    media_types: &["image/jp2"],
    endings: &["jp2", "j2k"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| {
        head.starts_with(&[0xff, 0x4f, 0xff, 0x51]) || head.starts_with(b"\0\0\0\x0cjP  \r\n\x87\n")
    },
    open: Open::Directly(open),
};

fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let source = Source::File(file.into_inner());
    catch_panics(&FORMAT, || decode_source(source, bounds, *options, 0))
}

/// Decodes a JPEG 2000 in memory, for formats that contain one.
pub fn decode(bytes: &[u8], bounds: Bounds) -> Result<Decoded, SourceError> {
    let source = Source::Memory(bytes.to_vec());
    decode_source(source, bounds, DecodeOptions::default(), EMBEDDED_PIXELS)
}

/// Checks the number of components of a JPEG 2000 in memory, for formats that contain one and decode it themselves.
pub fn admit_components_of(bytes: &[u8]) -> Result<(), SourceError> {
    Codestream::find(&Source::Memory(bytes.to_vec()))?.admit_components()
}

/// Decodes a picture. If it is a single tile of fewer than `single_tile_pixels`, it is decoded as a whole.
fn decode_source(
    source: Source,
    bounds: Bounds,
    options: DecodeOptions,
    single_tile_pixels: u64,
) -> Result<Decoded, SourceError> {
    let mut codestream = Codestream::find(&source)?;
    codestream.admit_components()?;
    if codestream.is_high_throughput() {
        let size = codestream.tiles.picture();
        let size = bounds.admit(size.width, size.height)?;
        let file = whole(&source, bounds)?;
        let samples = codestream.tiles.components.into();
        return high_throughput::decode(&file, size, samples, bounds).map(Decoded::plain);
    }
    let channels = boxes::take_channels(&mut codestream.boxes, codestream.tiles.components);
    let header = codestream.header();
    let image = picture::parse(&header)?;
    let size = bounds.admit(image.width(), image.height())?;
    let kind = Kind::of(&image, channels)?;
    let profile = kind.profile();
    drop(image);
    let single_tile = codestream.single_tile(&source)?.filter(|tile| {
        size.pixels() >= single_tile_pixels
            && tile.samples() == kind.samples()
            && boxes::have_plain_colours(&codestream.boxes)
    });
    let reader = if let Some(tile) = single_tile {
        open_single_tile(tile, source, &codestream, size, kind, bounds, options)?
    } else if codestream.is_divisible() && codestream.tiles.count != [1, 1] {
        tiles::open(source, codestream, size, kind, bounds, options)?
    } else if !codestream.is_complete {
        return Err(FORMAT.ends_early());
    } else {
        picture::decode(&source, size, kind, bounds)?
    };
    Ok(Decoded { profile, ..Decoded::of(reader) })
}

/// Reads all bytes of a source.
fn whole(source: &Source, bounds: Bounds) -> Result<Vec<u8>, SourceError> {
    let length = source.length()?;
    bounds.admit_memory(length, "reading a JPEG 2000")?;
    let mut bytes = Vec::new();
    source.append(0, length, &mut bytes)?;
    Ok(bytes)
}

/// Returns the samples of the first component of a high-throughput JPEG 2000 in memory, which must have this size. Returns
/// `None` for other kinds.
pub fn high_throughput_samples(
    bytes: &[u8],
    size: Size,
    bounds: Bounds,
) -> Result<Option<Vec<i32>>, SourceError> {
    let codestream = Codestream::find(&Source::Memory(bytes.to_vec()))?;
    if !codestream.is_high_throughput() {
        return Ok(None);
    }
    let (planes, _) = high_throughput::planes(bytes, size, codestream.tiles.components.into(), bounds)?;
    Ok(planes.into_iter().next().map(|plane| plane.samples))
}

/// Opens a picture that is a single tile. A thread decodes it while its rows are read.
fn open_single_tile(
    tile: SingleTile,
    source: Source,
    codestream: &Codestream,
    size: Size,
    kind: Kind,
    bounds: Bounds,
    options: DecodeOptions,
) -> Result<Box<dyn RowReader>, SourceError> {
    // The band that is converted, and those of the reader.
    let band_bytes = kind.layout.row_bytes(size.width) as u64 * ROWS as u64 * 4;
    let memory = tile.memory().saturating_add(band_bytes);
    bounds.admit_memory(memory, "decoding a JPEG 2000")?;
    let precisions: Vec<u8> = tile.precisions().collect();
    let left = bounds.memory - memory;
    let (parts, is_complete) = (codestream.parts(), codestream.is_complete);
    let decoder = tile.read_packets(source, &parts, is_complete, left, options.threads.get())?;
    let damage = decoder.is_damaged.then_some(Damage::Partial);
    let decode = move |bands: &BandSender| {
        bands.begin(size, kind.layout)?;
        if decoder.is_reversible() {
            decoder.rows::<i32>(|planes| bands.send(kind.pixels(planes, &precisions, size.width)).map(drop))
        } else {
            decoder.rows::<f32>(|planes| bands.send(kind.pixels(planes, &precisions, size.width)).map(drop))
        }
    };
    Ok(Box::new(ReadAhead::start(&FORMAT, decode)?.with_damage(damage)))
}
