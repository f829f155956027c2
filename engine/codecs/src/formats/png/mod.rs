//! PNG, row by row. Regular pictures are [inflated](inflate) by a thread, and their [filters](unfilter) undone in
//! vectors; the `png` crate reads the others. Interlaced pictures have seven passes: small ones are buffered, and of
//! large ones half is stored while the other half is read.
//!
//! An `eXIf` chunk counts wherever it is. Many programs write it behind the pixels, so the headers of all chunks are
//! read before the first chunk is decoded.
//!
//! Source: PNG Specification (Third Edition), W3C 2025: 5.2 for the signature, 8 for interlacing, 11.2 for the header.

use std::io::{BufRead, Seek};

use ::png::{Decoder, DecodingError, Limits, Transformations, splat_interlaced_row};
use edgezoom_geometry::Size;

use crate::buffered::Buffered;
use crate::format::{Decoded, Input, Open};
use crate::formats::ifd::orientation_of_exif;
use crate::scratch::TemporaryFile;
use crate::tolerant::missing;
use crate::{Bounds, Damage, Format, Orientation, Reading, SourceError, SourceFile};
use exif::LateExif;
pub use exif::{Chunk, chunks};
use interlaced::Interlaced;
use pixels::RowDecoder;

mod exif;
mod inflate;
mod interlaced;
mod pixels;
#[cfg(test)]
mod tests;
mod unfilter;

pub(crate) static FORMAT: Format = Format {
    name: "PNG",
    media_types: &["image/png"],
    endings: &["png"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| head.starts_with(b"\x89PNG\r\n\x1a\n"),
    open: Open::Directly(open),
};

/// Maximum number of bytes that the decoder may allocate: a few rows, and chunks that it does not skip.
const DECODER_BYTES: usize = 64 << 20;

/// The share of [`Bounds::memory`] up to which an interlaced picture is buffered.
const MEMORY_SHARE: u64 = 4;

fn open(Input { file, bounds, options, temporary }: Input<'_>) -> Result<Decoded, SourceError> {
    let source = file.get_ref().clone();
    let is_growing = source.is_growing();
    let exif = exif::find(&source);
    let orientation = exif.as_deref().map_or(Orientation::UPRIGHT, orientation_of_exif);
    let again = Again { file: source.clone(), threads: options.threads.get() };
    let decoded = open_rows(file, Some(again), orientation, bounds, temporary.as_ref())?;
    // Chunks behind the pixels are known only when those have arrived.
    Ok(if is_growing && exif.is_none() {
        Decoded { reader: LateExif::wrap(decoded.reader, source), ..decoded }
    } else {
        decoded
    })
}

/// The error of a file that is cut off.
const ENDS_EARLY: &str = "it ends before its last row";

/// Converts an error of the decoder.
fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::LimitsExceeded => FORMAT.unsupported("its rows or its metadata are too long"),
        DecodingError::IoError(_) => FORMAT.corrupt(ENDS_EARLY),
        other => FORMAT.corrupt(other),
    }
}

/// A file to read once more from its start, on this number of threads.
struct Again {
    file: SourceFile,
    threads: usize,
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
    open_rows(file, None, orientation, bounds, temporary)
}

fn open_rows<R>(
    file: R,
    again: Option<Again>,
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
    let (mut decoder, profile) = RowDecoder::new(decoder.read_info().map_err(error)?);
    let layout = decoder.kind.layout();
    let regular = match again {
        Some(Again { file, threads }) => inflate::Rows::open(&file, decoder.reader.info(), threads)?,
        None => None,
    };
    let plain = if let Some(mut rows) = regular {
        let kind = decoder.kind;
        Decoded::rows(size, layout, move |row| {
            kind.convert(rows.next()?, &mut None, row);
            Ok(())
        })
    } else if !decoder.reader.info().interlaced {
        Decoded::rows(size, layout, move |row| decoder.read_row(row))
    } else if size.pixels() * layout.channels() as u64 > bounds.memory / MEMORY_SHARE {
        Decoded::plain(Interlaced::open(decoder, size, bounds, temporary)?)
    } else {
        Decoded::plain(interlaced(&mut decoder, size, bounds)?.without_opaque_alpha())
    };
    Ok(Decoded { orientation, profile, ..plain })
}

/// Decodes an interlaced picture as a whole. Each pixel of an early pass fills its surroundings until a later pass has
/// theirs, so that a file that is cut off shows a coarse picture.
fn interlaced<R: BufRead + Seek>(
    decoder: &mut RowDecoder<R>,
    size: Size,
    bounds: Bounds,
) -> Result<Buffered, SourceError> {
    let (layout, rows) = (decoder.kind.layout(), size.height);
    let mut picture = Buffered::new(size, layout, bounds)?;
    picture.pixels.fill(missing(layout));
    let row_bytes = layout.row_bytes(size.width);
    let mut row = vec![0; row_bytes];
    for stored_rows in 0.. {
        match decoder.read_interlaced(&mut row) {
            Ok(Some((pass, bytes))) => {
                let bits = 8 * layout.channels() as u8;
                splat_interlaced_row(&mut picture.pixels, row_bytes, &row[..bytes], &pass, bits);
            }
            Ok(None) => break,
            Err(SourceError::Corrupt { .. }) if stored_rows > 0 => {
                picture.damage = Some(match stored_rows {
                    _ if stored_rows < rows.div_ceil(8) => Damage::FromRow { row: stored_rows * 8, rows },
                    _ => Damage::Partial,
                });
                break;
            }
            Err(failed) => return Err(failed),
        }
    }
    Ok(picture)
}
