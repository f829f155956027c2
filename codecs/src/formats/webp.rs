//! WebP, lossy or lossless; of an animation the first frame. Buffered: both codecs refer to pixels anywhere above.
//!
//! Source: RFC 9649: section 2.4 for the file header, 2.7 for the chunks, of which EXIF and ICCP are read.

use std::io::{BufRead, Cursor, Seek};

use image_webp::{DecodingError, WebPDecoder};

use crate::buffered::{Buffered, read_all};
use crate::colour::icc::Profile;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
use crate::{Bounds, Format, Layout, Orientation, Reading, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "WebP",
    media_types: &["image/webp"],
    endings: &["webp"],
    reading: Reading::Buffered,
    signature: |head| matches!(head, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..]),
    open: Open::Directly(open),
};

/// The memory that decoding takes at most for each pixel, in bytes: the picture, and either the planes of the lossy
/// codec or a copy of four channels for the lossless one.
const BYTES_A_PIXEL: u64 = 8;
/// The bytes that EXIF and the profile may have.
const METADATA_BYTES: usize = 4 << 20;

/// Where the flags of the extended header are (RFC 9649, 2.7.1), and those for metadata: profile, EXIF and XMP.
const FLAGS_AT: usize = 20;
const METADATA_FLAGS: u8 = 0x2c;

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    // Metadata that is announced and not there is no reason to refuse the picture: browsers show it.
    let lacks_chunk = matches!(WebPDecoder::new(&mut file), Err(DecodingError::ChunkMissing));
    file.rewind()?;
    if !lacks_chunk {
        return decode(file, bounds);
    }
    let mut bytes = read_all(file, bounds)?;
    if let Some(flags) = bytes.get_mut(FLAGS_AT) {
        *flags &= !METADATA_FLAGS;
    }
    decode(Cursor::new(bytes), bounds)
}

fn decode(file: impl BufRead + Seek, bounds: Bounds) -> Result<Decoded, SourceError> {
    let mut decoder = WebPDecoder::new(file).map_err(error)?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    bounds.admit_memory(size.pixels() * BYTES_A_PIXEL, "decoding a WebP")?;
    decoder.set_memory_limit(METADATA_BYTES);
    let exif = decoder.exif_metadata().ok().flatten();
    let profile = decoder.icc_profile().ok().flatten().and_then(|profile| Profile::of_icc(&profile));
    decoder.set_memory_limit(usize::try_from(bounds.memory).unwrap_or(usize::MAX));
    let layout = if decoder.has_alpha() { Layout::Rgba } else { Layout::Rgb };
    let mut picture = Buffered::new(size, layout, bounds)?;
    decoder.read_image(&mut picture.pixels).map_err(error)?;
    let orientation = exif.as_deref().map_or(Orientation::UPRIGHT, Orientation::of_exif);
    Ok(Decoded { reader: Box::new(picture.without_opaque_alpha()), orientation, profile })
}

fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::IoError(_) => FORMAT.corrupt("it ends too early"),
        DecodingError::UnsupportedFeature(feature) => FORMAT.unsupported(feature),
        other => FORMAT.corrupt(other),
    }
}
