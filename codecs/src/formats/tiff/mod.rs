//! TIFF and BigTIFF, chunk by chunk: a chunk is a strip of rows or a tile. Some rows of chunks are held at a time, so
//! the file's layout decides the memory; a compressed file that is a single strip is buffered. Chunks are decoded by
//! several threads.
//!
//! [`directory`] reads the structure, [`choose`] finds the picture, [`picture`] says how it is stored, [`compression`]
//! decodes its chunks, [`pixels`] makes pixels of them, and [`bands`] puts them together. Tiles that overlap are
//! placed by [`bif`] and [`stitched`].
//!
//! ```text
//! TIFF     "II" or "MM" (byte order)  42: u16                        offset of the first directory: u32
//! BigTIFF  "II" or "MM"               43: u16  8: u16  0: u16        offset of the first directory: u64
//! ```
//! Source: TIFF 6.0 (Adobe, 1992), section 2 for the structure, 3 for strips, 15 for tiles; the BigTIFF design
//! (libtiff.gitlab.io/libtiff/specification/bigtiff.html).

mod bands;
mod bif;
mod ccitt;
mod choose;
mod chunk_decoder;
mod colour;
mod compression;
mod deflate;
mod directory;
mod embedded;
mod jpeg;
mod jpeg_header;
mod log_luv;
mod log_luv_codes;
mod lzw;
mod ndpi;
mod old_jpeg;
mod packbits;
mod picture;
mod pixels;
mod predictor;
mod raw;
mod running_sums;
mod samples;
mod shape;
mod spliced;
mod stitched;
mod stretch;
mod subsampled;
mod tag;

use std::io::BufReader;

use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open, READ_BYTES};
use crate::{Bounds, DecodeOptions, Format, Layout, Reading, SourceError, SourceFile};
use bands::BandDecoder;
use bif::Mosaic;
use colour::Colour;
use compression::Codec;
use directory::{Directory, Tiff};
use jpeg::{Grid, JpegChunks};
use picture::Picture;
use pixels::Pixels;
use raw::Raw;
use samples::Sample;
use spliced::Spliced;
use stitched::Part;
use stretch::Stretch;

pub(crate) static FORMAT: Format = Format {
    name: "TIFF",
    media_types: &["image/tiff"],
    endings: &["tif", "tiff", "svs", "ndpi", "bif"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| matches!(head, [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..]),
    open: Open::Directly(open),
};

/// The bytes that a colour profile may have.
const PROFILE_BYTES: usize = 4 << 20;
/// The bytes of pixels from which on a JPEG that is the only strip is decoded as it is read.
const STREAMED_BYTES: u64 = 64 << 20;

/// Returns the error for a file that has fewer bytes than it says.
fn too_early() -> SourceError {
    FORMAT.corrupt("it ends too early")
}

/// Returns the error for a strip or tile that its decoder cannot read.
fn undecodable() -> SourceError {
    FORMAT.corrupt("a strip or tile cannot be decoded")
}

/// Opens a TIFF; a camera raw file without a preview too.
pub fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let source = file.get_ref().clone();
    let mut tiff = Tiff::open(file)?;
    let directory = choose::choose(&mut tiff, options.drawing.page)?;
    let picture = Picture::read(&mut tiff, &directory, bounds)?;
    let xml = picture.is_tiled.then(|| tiff.text(&directory, tag::XML)).flatten();
    let grid = [picture.chunks_across(), picture.chunks_down()];
    match xml.and_then(|xml| bif::mosaic(&xml, picture.chunk, grid)) {
        Some(mosaic) => open_mosaic(&source, &directory, &picture, &mosaic, bounds, options),
        None => open_picture(tiff, &directory, picture, bounds, options),
    }
}

/// Opens each area of tiles that overlap as a picture.
fn open_mosaic(
    source: &SourceFile,
    directory: &Directory,
    picture: &Picture,
    mosaic: &Mosaic,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let size = bounds.admit(mosaic.size.width, mosaic.size.height)?;
    let options = DecodeOptions { ycbcr420: false, ..*options };
    let columns: u64 = mosaic.areas.iter().map(|area| area.columns.len() as u64).sum();
    let (mut parts, mut profile) = (Vec::new(), None);
    for area in &mosaic.areas {
        let tiff = Tiff::open(BufReader::with_capacity(READ_BYTES, source.apart()))?;
        let columns_here = area.columns.len() as u64;
        // The areas share the memory by their widths.
        let bounds = Bounds { memory: bounds.memory / columns.max(1) * columns_here, ..bounds };
        let decoded = open_picture(tiff, directory, picture.part(area.tiles.clone())?, bounds, &options)?;
        profile = decoded.profile;
        parts.push(Part::new(decoded.reader, picture.chunk, area));
    }
    Ok(Decoded { orientation: picture.orientation, profile, ..stitched::open(size, parts)? })
}

/// Opens a picture whose chunks lie beside and below each other.
fn open_picture(
    mut tiff: Tiff,
    directory: &Directory,
    mut picture: Picture,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let orientation = picture.orientation;
    let profile = tiff.bytes(directory, tag::ICC_PROFILE).ok().flatten();
    let profile = profile.filter(|bytes| bytes.len() <= PROFILE_BYTES);
    let profile = profile.and_then(|bytes| Profile::of_icc(&bytes));
    if picture.compression == tag::compression::OLD_JPEG {
        let decoded = old_jpeg::open(tiff, directory, &picture, bounds)?;
        return Ok(Decoded { orientation, profile, ..decoded });
    }
    if jpeg::is_ycbcr(&picture) {
        return open_jpeg(tiff, directory, &picture, profile, bounds, options);
    }
    let codec = Codec::new(&mut tiff, directory, &mut picture)?;
    let colour = Colour::new(&mut tiff, directory, picture.photometric, picture.samples, profile.as_ref())?;
    let mut pixels = Pixels {
        sample: picture.sample,
        colour,
        together: picture.together,
        predictor: picture.predictor,
        is_big_endian: picture.is_big_endian,
        subsampling: picture.subsampling,
        stretch: None,
        transform_16: None,
    };
    let may_stretch = pixels.colour.is_linear() && pixels.sample.bits >= 16 && profile.is_none();
    let may_stretch = may_stretch && stretch::is_measured(&mut tiff, directory);
    let no_data = stretch::no_data(&mut tiff, directory);
    let is_16 = Sample::new(16, 1).is_ok_and(|sample| sample == pixels.sample);
    if is_16 && pixels.together == pixels.colour.samples() && pixels.colour.is_final() {
        pixels.transform_16 = profile.as_ref().and_then(|profile| profile.transform_16(pixels.layout()));
    }
    // Pixels that are converted with 16 bits are sRGB after that.
    let profile = profile.filter(|_| pixels.transform_16.is_none());
    if matches!(codec, Codec::Stored) {
        picture.split_strips(&pixels);
    }
    if matches!(codec, Codec::Stored) && pixels.is_final() && !picture.is_tiled && !picture.is_reversed {
        let layout = pixels.layout();
        return Ok(Decoded { reader: Box::new(Raw::new(tiff, picture, layout)), orientation, profile });
    }
    let sample = pixels.sample;
    let mut bands = BandDecoder::new(tiff, picture, codec, pixels, bounds, options)?;
    if may_stretch {
        let values = bands.sample_values(stretch::MOST_VALUES);
        bands.set_stretch(Stretch::of(sample, values, no_data));
    }
    Ok(Decoded { reader: Box::new(bands.read_ahead()?), orientation, profile })
}

/// Opens strips or tiles of JPEG in YCbCr.
fn open_jpeg(
    mut tiff: Tiff,
    directory: &Directory,
    picture: &Picture,
    profile: Option<Profile>,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let orientation = picture.orientation;
    let mut grid = Grid::new(&mut tiff, directory, picture)?;
    if tiff.is_ndpi() {
        grid = ndpi::grid(&mut tiff, directory, grid)?;
    }
    let band = u64::from(grid.chunk.height) * u64::from(grid.size.width) * 3;
    if let (&[(offset, length)], true) = (grid.chunks.as_slice(), band > STREAMED_BYTES) {
        let skipped = if grid.tables.is_empty() { 0 } else { 2 };
        let file =
            Spliced::new(tiff, grid.tables, offset.saturating_add(skipped), length.saturating_sub(skipped));
        let decoded = crate::formats::jpeg::open_reader(file, bounds)?;
        return picture::check_size(decoded, picture).map(|decoded| Decoded {
            orientation,
            profile,
            ..decoded
        });
    }
    // Colour conversion works on pixels, not on planes.
    let is_srgb = !profile.as_ref().is_some_and(|profile| profile.changes(Layout::Rgb));
    let ycbcr420 = options.allow_planes(orientation, picture.size) && is_srgb;
    let reader = Box::new(JpegChunks::new(tiff, grid, bounds, &DecodeOptions { ycbcr420, ..*options })?);
    Ok(Decoded { reader, orientation, profile: profile.filter(|_| !is_srgb) })
}
