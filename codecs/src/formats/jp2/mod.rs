//! JPEG 2000, in its container JP2 or as a bare codestream. A picture in tiles is read row of tiles by row of tiles, on
//! all threads, and one that is a single tile by rows of code blocks. What is small, and what only a few files do, is
//! decoded as a whole.
//!
//! Source: ITU-T T.800 (ISO/IEC 15444-1), annex A for the codestream's markers, annex I for the boxes of JP2.

mod boxes;
mod codestream;
mod error;
mod partial;
mod picture;
mod source;
mod tile_part;
mod tiles;
mod untiled;

use hayro_jpeg2000::Image;

use crate::buffered::catch_panics;
use crate::format::{Decoded, Input, Open};
use crate::{Bounds, DecodeOptions, Format, Orientation, Reading, SourceError};
use codestream::Codestream;
use error::{error, settings};
use picture::{Kind, Means};
use source::Source;

/// The pixels from which on a picture in another format's file is read row by row. Those are mostly tiles, one for each thread.
const EMBEDDED_PIXELS: u64 = 1 << 22;

pub(crate) static FORMAT: Format = Format {
    name: error::NAME.0,
    media_types: &["image/jp2"],
    endings: &["jp2", "j2k"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| {
        head.starts_with(&[0xff, 0x4f, 0xff, 0x51]) || head.starts_with(b"\0\0\0\x0cjP  \r\n\x87\n")
    },
    open: Open::Directly(open),
};

fn open(Input { file, bounds, options, temporary }: Input<'_>) -> Result<Decoded, SourceError> {
    let means = Means { bounds, temporary: temporary.as_ref() };
    catch_panics(&FORMAT, || decode_source(Source::new(file.into_inner())?, means, *options, 0))
}

/// Decodes a JPEG 2000 in memory, for formats that hold one.
pub fn decode(bytes: &[u8], bounds: Bounds) -> Result<Decoded, SourceError> {
    let means = Means { bounds, temporary: None };
    decode_source(Source::in_memory(bytes.to_vec()), means, DecodeOptions::default(), EMBEDDED_PIXELS)
}

/// Decodes a picture. One that is a single tile of so many pixels is read row by row.
fn decode_source(
    source: Source,
    means: Means<'_>,
    options: DecodeOptions,
    untiled_pixels: u64,
) -> Result<Decoded, SourceError> {
    let bounds = means.bounds;
    let codestream = Codestream::find(&source)?;
    let header = codestream.header();
    let image = Image::new(&header, &settings()).map_err(error)?;
    let size = bounds.admit(image.width(), image.height())?;
    let kind = Kind::of(&image)?;
    let profile = kind.profile();
    drop(image);
    let untiled = codestream.untiled().filter(|untiled| {
        size.pixels() >= untiled_pixels
            && untiled.samples() == kind.samples()
            && boxes::have_plain_colours(&codestream.boxes)
    });
    let reader = if let Some(untiled) = untiled {
        let parts = (codestream.parts(), codestream.is_complete);
        untiled.open(source, parts, (size, kind), bounds, options)?
    } else if codestream.is_divisible() && codestream.tiles.count != [1, 1] {
        tiles::open(source, codestream, size, kind, bounds, options)?
    } else if !codestream.is_complete {
        return Err(FORMAT.corrupt("it ends before its last row"));
    } else {
        picture::open(&source, size, kind, means)?
    };
    Ok(Decoded { reader, orientation: Orientation::UPRIGHT, profile })
}
