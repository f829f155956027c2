//! PNG, row by row. Interlaced pictures come in seven passes: small ones are buffered, of large ones half is kept while
//! the other half is read.
//!
//! An `eXIf` chunk counts wherever it stands. Many programs write it behind the pixels, so the headers of all chunks
//! are read before the first chunk is decoded.
//!
//! Source: PNG Specification (Third Edition), W3C 2025: 5.2 for the signature, 8 for interlacing, 11.2 for the header.

use std::io::{BufRead, Seek};

use ::png::{
    BitDepth, Decoder, DecodingError, InterlaceInfo, Limits, Reader, Transformations, splat_interlaced_row,
};
use edgezoom_geometry::Size;

use crate::buffered::Buffered;
use crate::colour::icc::Transform16;
use crate::format::{Decoded, Input, Open};
use crate::scratch::TemporaryFile;
use crate::tolerant::missing;
use crate::{Bounds, Damage, Format, Orientation, Reading, SourceError};
use interlaced::Interlaced;
use kind::Kind;
use late_exif::LateExif;

mod colour;
mod exif;
mod interlaced;
mod kind;
mod late_exif;

pub(crate) static FORMAT: Format = Format {
    name: "PNG",
    media_types: &["image/png"],
    endings: &["png"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| head.starts_with(b"\x89PNG\r\n\x1a\n"),
    open: Open::Directly(open),
};

/// The bytes that the decoder may allocate: a few rows, and chunks that it does not skip.
const DECODER_BYTES: usize = 64 << 20;

/// The share of [`Bounds::memory`] up to which an interlaced picture is held as a whole.
const MEMORY_SHARE: u64 = 4;

fn open(Input { file, bounds, temporary, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let source = file.get_ref().clone();
    let is_growing = source.is_growing();
    let exif = exif::find(&source);
    let orientation = exif.as_deref().map_or(Orientation::UPRIGHT, Orientation::of_exif);
    let decoded = open_reader(file, orientation, bounds, temporary.as_ref())?;
    // What stands behind the pixels is known only when they have come.
    Ok(if is_growing && exif.is_none() {
        Decoded { reader: LateExif::wrap(decoded.reader, source), ..decoded }
    } else {
        decoded
    })
}

/// Converts an error of the decoder.
fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::LimitsExceeded => FORMAT.unsupported("its rows or its metadata are too long"),
        DecodingError::IoError(_) => FORMAT.corrupt("it ends before its last row"),
        other => FORMAT.corrupt(other),
    }
}

/// Opens a PNG from a reader that is at its start.
pub(super) fn open_reader<R>(
    file: R,
    orientation: Orientation,
    bounds: Bounds,
    temporary: Option<&TemporaryFile>,
) -> Result<Decoded, SourceError>
where
    R: BufRead + Seek + 'static,
{
    let mut decoder = Decoder::new_with_limits(file, Limits { bytes: DECODER_BYTES });
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    let header = decoder.read_header_info().map_err(error)?;
    let size = bounds.admit(header.width, header.height)?;
    let mut reader = decoder.read_info().map_err(error)?;
    let profile = colour::profile(reader.info());
    let (color, depth) = reader.output_color_type();
    let kind = Kind { color, is_16_bit: depth == BitDepth::Sixteen };
    let mut transform_16 =
        profile.as_ref().filter(|_| kind.is_16_bit).and_then(|profile| profile.transform_16(kind.layout()));
    // Pixels that are converted with 16 bits are sRGB after that.
    let profile = profile.filter(|_| transform_16.is_none());
    if !reader.info().interlaced {
        let mut samples = vec![0; kind.bytes() * size.width as usize];
        let rows = Decoded::rows(size, kind.layout(), move |out| {
            interlaced::read_row(&mut reader, kind, &mut transform_16, &mut samples, size.width, out)
        });
        return Ok(Decoded { orientation, profile, ..rows });
    }
    if size.pixels() * kind.layout().channels() as u64 > bounds.memory / MEMORY_SHARE {
        let reader = Interlaced::open(reader, kind, transform_16, size, bounds, temporary)?;
        return Ok(Decoded { reader: Box::new(reader), orientation, profile });
    }
    let picture = interlaced(&mut reader, kind, &mut transform_16, bounds)?;
    Ok(Decoded { reader: Box::new(picture.without_opaque_alpha()), orientation, profile })
}

/// Reads an interlaced picture as a whole. Each pixel of an early pass fills its surroundings until a later pass has theirs,
/// so that a file that is cut off shows a coarse picture.
fn interlaced<R: BufRead + Seek>(
    reader: &mut Reader<R>,
    kind: Kind,
    transform_16: &mut Option<Transform16>,
    bounds: Bounds,
) -> Result<Buffered, SourceError> {
    let Size { width, height } = bounds.admit(reader.info().width, reader.info().height)?;
    let size = Size { width, height };
    let mut picture = Buffered::new(size, kind.layout(), bounds)?;
    picture.pixels.fill(missing(kind.layout()));
    let (row_bytes, stride) = (kind.layout().row_bytes(width), kind.layout().channels());
    let mut row = vec![0; row_bytes];
    let mut stored_rows = 0;
    loop {
        let stored = match reader.next_interlaced_row() {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(picture),
            Err(failed) => {
                let failed = error(failed);
                picture.damage = match (&failed, stored_rows) {
                    (SourceError::Corrupt { .. }, 1..) if stored_rows < height.div_ceil(8) => {
                        Some(Damage::FromRow { row: stored_rows * 8, rows: height })
                    }
                    (SourceError::Corrupt { .. }, 1..) => Some(Damage::Partial),
                    _ => return Err(failed),
                };
                return Ok(picture);
            }
        };
        let InterlaceInfo::Adam7(pass) = *stored.interlace() else {
            return Err(FORMAT.corrupt("its passes are invalid"));
        };
        stored_rows += 1;
        let pixels = stored.data().len() / kind.bytes();
        let row = row.get_mut(..pixels * stride).unwrap_or_default();
        if kind.is_final() {
            row.copy_from_slice(stored.data());
        } else {
            kind.convert(stored.data(), transform_16, row);
        }
        splat_interlaced_row(&mut picture.pixels, row_bytes, row, &pass, 8 * stride as u8);
    }
}
