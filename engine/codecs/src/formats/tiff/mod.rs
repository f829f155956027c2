//! TIFF and BigTIFF, chunk by chunk: a chunk is a strip of rows or a tile. Some rows of chunks are in memory at a time,
//! so the file's layout decides how much that is; a compressed file of a single strip is buffered. Several threads
//! decode chunks.
//!
//! [`directory`] reads the structure, [`choose`] finds the picture, [`picture`] describes its storage, [`compression`]
//! decodes its chunks, [`pixels`] converts them to pixels, and [`bands`] assembles them. [`bif`] places tiles that
//! overlap, [`channels`] merges pages of one colour, [`mask`] hides parts of a map, and [`scale`] finds the physical size
//! of a pixel.
//!
//! ```text
//! TIFF     "II" or "MM" (byte order)  42: u16                        offset of the first directory: u32
//! BigTIFF  "II" or "MM"               43: u16  8: u16  0: u16        offset of the first directory: u64
//! ```
//! Source: TIFF 6.0 (Adobe, 1992), section 2 for the structure, 3 for strips, 15 for tiles; the BigTIFF design
//! (libtiff.gitlab.io/libtiff/specification/bigtiff.html).

mod bands;
mod bif;
mod byte_codecs;
mod ccitt;
mod channels;
mod choose;
mod chunk_decoder;
mod colour;
mod compression;
mod directory;
mod embedded;
mod jpeg;
mod jpeg_parts;
mod mask;
mod ndpi;
mod no_data;
mod old_jpeg;
mod picture;
mod pixels;
mod predictor;
mod sample_format;
mod scale;
mod stretch;
mod tag;

use std::io::BufReader;

use edgezoom_geometry::Size;

use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open, READ_BYTES};
use crate::{AsPlanes, Bounds, DecodeOptions, Format, Layout, Reading, RowReader, SourceError, SourceFile};
use bands::BandDecoder;
use choose::Choice;
use colour::Colour;
use compression::Codec;
use directory::{Directory, Tiff};
use jpeg::{Grid, JpegChunks};
use jpeg_parts::Spliced;
use mask::Masked;
use no_data::NoData;
use picture::Picture;
use pixels::Pixels;
use sample_format::SampleFormat;
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

/// Maximum number of bytes of a colour profile.
const PROFILE_BYTES: usize = 4 << 20;
/// Number of bytes of pixels above which a JPEG that is the only strip is decoded row by row.
const STREAMED_BYTES: u64 = 64 << 20;

/// Returns the error for a file whose parts need too much memory.
fn too_large() -> SourceError {
    FORMAT.unsupported("its strips, tiles or tables are too large")
}

/// Returns the error for a strip or tile that its decoder cannot read.
fn undecodable() -> SourceError {
    FORMAT.corrupt("a strip or tile cannot be decoded")
}

/// Opens a TIFF, or a camera raw file without a preview.
pub fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let source = file.get_ref().clone();
    let mut tiff = Tiff::open(file)?;
    let Choice { directory, others, mask } = choose::choose(&mut tiff, options.drawing.page)?;
    let picture = Picture::read(&mut tiff, &directory, bounds)?;
    let scale = scale::scale(&mut tiff, &directory, picture.size, options.drawing.page.is_some());
    let xml = picture.is_tiled.then(|| tiff.text(&directory, tag::XML)).flatten();
    let grid = [picture.chunks_across(), picture.chunks_down()];
    let mask = mask.filter(|_| directory::is_map(&directory));
    let decoded = match xml.and_then(|xml| bif::mosaic(&xml, picture.chunk, grid)) {
        Some(mosaic) => bif::open(&source, &directory, &picture, mosaic, bounds, options),
        None if !others.is_empty() => {
            open_channels(&source, [&[directory], others.as_slice()].concat(), bounds, options)
        }
        None => match mask {
            Some(mask) => open_masked(&source, [&directory, &mask], bounds, options),
            None => open_picture(tiff, &directory, picture, bounds, options),
        },
    };
    Ok(Decoded { scale, ..decoded? })
}

/// Opens the picture whose directory is at this offset, whether it is the main one of the file or not.
#[cfg(feature = "modern")]
pub fn open_at(
    source: &SourceFile,
    offset: u64,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let tiff = Tiff::open(BufReader::with_capacity(READ_BYTES, source.apart()))?;
    open_directory(source, &tiff.directory(offset)?, bounds, options)
}

/// Opens the picture that a directory describes.
fn open_directory(
    source: &SourceFile,
    directory: &Directory,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let mut tiff = Tiff::open(BufReader::with_capacity(READ_BYTES, source.apart()))?;
    let picture = Picture::read(&mut tiff, directory, bounds)?;
    let options = DecodeOptions { planes: AsPlanes::Never, ..*options };
    open_picture(tiff, directory, picture, bounds, &options)
}

/// Opens red, green and blue, which are pictures of their own.
fn open_channels(
    source: &SourceFile,
    channels: Vec<Directory>,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let bounds = Bounds { memory: bounds.memory / channels.len() as u64, ..bounds };
    let open = |channel| open_directory(source, channel, bounds, options);
    let decoded = channels.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let orientation = decoded.first().map(|decoded| decoded.orientation).unwrap_or_default();
    let readers = decoded.into_iter().map(|decoded| decoded.reader).collect();
    Ok(Decoded { orientation, ..channels::merge(readers)? })
}

/// Opens a picture and its mask. A mask that cannot be opened hides nothing.
fn open_masked(
    source: &SourceFile,
    [directory, mask]: [&Directory; 2],
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let [most, rest] = [bounds.memory - bounds.memory / 4, bounds.memory / 4];
    let decoded = open_directory(source, directory, Bounds { memory: most, ..bounds }, options)?;
    Ok(match open_directory(source, mask, Bounds { memory: rest, ..bounds }, options) {
        Ok(mask) => Decoded { reader: Masked::over(decoded.reader, mask.reader), ..decoded },
        Err(_) => decoded,
    })
}

/// Opens a picture whose chunks are beside and below each other.
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
        if !old_jpeg::are_whole(&mut tiff, &picture)? {
            let decoded = old_jpeg::open(tiff, directory, &picture, bounds)?;
            return Ok(Decoded { orientation, profile, ..decoded });
        }
        (picture.compression, picture.sample) = (tag::compression::JPEG, SampleFormat::BYTE);
    }
    let is_map = directory::is_map(directory);
    if jpeg::is_ycbcr(&picture) && !(is_map && directory.has(tag::NO_DATA)) {
        return open_jpeg(tiff, directory, &picture, profile, bounds, options);
    }
    let codec = Codec::new(&mut tiff, directory, &mut picture)?;
    let colour = Colour::new(&mut tiff, directory, picture.photometric, picture.samples, profile.as_ref())?;
    if matches!(codec, Codec::Stored) {
        picture.split_strip();
    }
    let sample = picture.sample;
    let no_data = NoData::read(&tiff, directory, sample);
    let clear = no_data.filter(|_| is_map);
    let mut pixels = Pixels { picture, colour, stretch: None, transform_16: None, no_data: clear };
    let may_stretch = pixels.colour.is_linear() && sample.bits >= 16 && profile.is_none();
    let may_stretch = may_stretch && stretch::is_measured(&tiff, directory);
    let is_16 = SampleFormat::new(16, 1).is_ok_and(|format| format == sample);
    if is_16 && pixels.picture.together == pixels.colour.samples() && pixels.colour.is_final() {
        pixels.transform_16 =
            profile.as_ref().and_then(|profile| profile.transform_16(pixels.colour.layout()));
    }
    // Pixels that are converted with 16 bits are sRGB afterwards.
    let profile = profile.filter(|_| pixels.transform_16.is_none());
    let Picture { is_tiled, is_reversed, .. } = pixels.picture;
    let is_complete = pixels.picture.chunks.iter().all(|&(offset, _)| offset > 0);
    if matches!(codec, Codec::Stored) && pixels.is_final() && !is_tiled && !is_reversed && is_complete {
        let reader = StoredRows { tiff, layout: pixels.layout(), picture: pixels.picture, next: 0 };
        return Ok(Decoded { orientation, profile, ..Decoded::plain(reader) });
    }
    let mut bands = BandDecoder::new(tiff, codec, pixels, bounds, options)?;
    if may_stretch {
        let values = bands.sample_values(stretch::MOST_VALUES);
        bands.set_stretch(Stretch::of(sample, values, no_data, is_map));
    }
    Ok(Decoded { orientation, profile, ..Decoded::plain(bands.read_ahead()?) })
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
    let as_planes = options.allow_planes(orientation, picture.size) && is_srgb;
    let planes = if as_planes { options.planes } else { AsPlanes::Never };
    let reader = Box::new(JpegChunks::new(tiff, grid, bounds, &DecodeOptions { planes, ..*options })?);
    Ok(Decoded { orientation, profile: profile.filter(|_| !is_srgb), ..Decoded::of(reader) })
}

/// Uncompressed strips whose rows are pixels already. They are read from the file directly into the caller's buffer.
struct StoredRows {
    tiff: Tiff,
    picture: Picture,
    layout: Layout,
    next: u32,
}

impl RowReader for StoredRows {
    fn size(&self) -> Size {
        self.picture.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.layout.row_bytes(self.picture.size.width);
        let strip_rows = self.picture.chunk.height;
        while !into.is_empty() {
            let (strip, above) = (self.next / strip_rows, self.next % strip_rows);
            let wanted = u32::try_from(into.len() / row_bytes).unwrap_or(u32::MAX);
            let rows = wanted.min(strip_rows - above);
            let (now, later) = into.split_at_mut(rows as usize * row_bytes);
            let (begin, _) = self.picture.place(0, strip, 0)?;
            self.tiff.read_at(begin.saturating_add(u64::from(above) * row_bytes as u64), now)?;
            self.next += rows;
            into = later;
        }
        Ok(())
    }
}
